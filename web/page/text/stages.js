// stages.js - the stages of one forward pass, as the loaded architecture has them: what each is called, the shape of
// what it makes, its weights, its operations, and where its values can be read.

import { blockPoint } from '../state/points.js';

const NORM = {
  rmsnorm: ['RMSNorm', 'y = x / √(mean(x²) + ε) · gain'],
  layernorm: ['LayerNorm', 'y = (x − mean) / √(var + ε) · gain + bias'],
};
const FFN = {
  swiglu: ['SwiGLU', 'y = W_down (silu(W_gate x) ⊙ W_up x)'],
  relu: ['ReLU FFN', 'y = W_down relu(W_up x)'],
  gelu_erf: ['GELU-erf FFN', 'y = W_down gelu_erf(W_up x)'],
  gelu_tanh: ['GELU-tanh FFN', 'y = W_down gelu_tanh(W_up x)'],
};
const POSITION = {
  none: 'no positions',
  sinusoidal: 'plus sines and cosines',
  learned: 'plus a learned row per position',
  rope: 'positions enter later, by rotating q and k',
};

const BLOCK = ['norm1', 'qkv', 'heads', 'out', 'cross', 'norm2', 'ffn', 'resid'];

/**
 * @typedef {object} Stage
 * @property {string} id
 * @property {string} title
 * @property {string} shape       of its output, with this text's numbers
 * @property {string} formula
 * @property {string} words       one sentence about what it does
 * @property {number} params      in this layer
 * @property {number} flops       for one more token, this layer
 * @property {[string, string][]} points  capture point and name, in order of computation
 */

/** @param {any} c config @param {any[]} rows parameter rows @param {number} layer @param {number} n tokens @param {number} m tokens of a source
 * @returns {Stage[]} */
export function stagesOf(c, rows, layer, n, m) {
  const d = c.dModel;
  const qd = c.nHeads * c.dHead;
  const kd = c.nKvHeads * c.dHead;
  const block = blockPoint(c, layer);
  const params = (/** @type {string} */ id) =>
    rows.reduce((sum, r) => sum + (!r.tiedTo && stageOfWeight(c, r, layer) === id ? r.count : 0), 0);
  const cross = c.kind === 'encoder_decoder';
  const whole = cross ? 'decoder.' : '';
  const [normName, normFormula] = NORM[c.norm];
  const [ffnName, ffnFormula] = FFN[c.ffn];
  const wide = c.ffn === 'swiglu' ? 3 : 2;
  const post = c.normPlacement === 'post';
  const rope = c.position === 'rope';
  const grouped = c.nKvHeads !== c.nHeads;
  const kinds = new Set(rows.map((r) => r.component));
  const keys = c.slidingWindow ? Math.min(c.slidingWindow, n) : n;
  const sees = c.causal ? 'every key before it' : 'every key';

  const stages = [
    {
      id: 'embed',
      title: c.position === 'learned' || c.position === 'sinusoidal' ? 'Embedding + position' : 'Embedding',
      shape: `[${n}, ${d}]`,
      formula: 'x₀ = E[token]',
      words: `Each token picks its row of the table of ${c.vocabSize} rows; ${POSITION[c.position]}.`,
      params: params('embed'),
      flops: 0,
      points: [
        [`${whole}hook_embed`, 'embedding'],
        ...(c.position === 'learned' || c.position === 'sinusoidal' ? [[`${whole}hook_pos_embed`, 'position']] : []),
      ],
    },
    {
      id: 'norm1',
      title: normName,
      shape: `[${n}, ${d}]`,
      formula: normFormula,
      words: post
        ? 'After the sum, the stream itself is brought to one scale.'
        : 'What the heads read is brought to one scale; the stream itself stays as it is.',
      params: params('norm1'),
      flops: 4 * d,
      points: [[`${block}.ln1.hook_normalized`, 'before the gain']],
    },
    {
      id: 'qkv',
      title: 'q  k  v',
      shape: grouped ? `q [${n}, ${qd}], k v [${n}, ${kd}]` : `3 × [${n}, ${qd}]`,
      formula: `q = W_q x, k = W_k x, v = W_v x${rope ? '; q, k rotated by position' : ''}`,
      words: grouped
        ? `Every head asks (q); ${c.nKvHeads} groups of heads share what can be asked for (k) and what is handed over (v).`
        : 'Every head asks (q), offers (k) and hands over (v).',
      params: params('qkv'),
      flops: 2 * d * (qd + 2 * kd),
      points: [
        [`${block}.attn.hook_q`, 'q'],
        [`${block}.attn.hook_k`, 'k'],
        [`${block}.attn.hook_v`, 'v'],
        ...(rope
          ? [
              [`${block}.attn.hook_rot_q`, 'q, rotated'],
              [`${block}.attn.hook_rot_k`, 'k, rotated'],
            ]
          : []),
      ],
    },
    {
      id: 'heads',
      title: `${c.nHeads} heads`,
      shape: `pattern [${c.nHeads}, ${n}, ${n}]`,
      formula: `A = softmax(q kᵀ / √${c.dHead}${c.causal ? ' + mask' : ''}), z = A v`,
      words: `Each query is compared with ${sees}; the softmax of the scores says how much of each value to take.`,
      params: 0,
      flops: 4 * qd * keys,
      points: [[`${block}.attn.hook_z`, 'z, the mixed values']],
    },
    {
      id: 'out',
      title: 'Out + residual',
      shape: `[${n}, ${d}]`,
      formula: post ? 'x = norm(x + W_o z)' : 'x = x + W_o z',
      words: 'What the heads found is added to the stream.',
      params: params('out'),
      flops: 2 * qd * d,
      points: [
        [`${block}.hook_attn_out`, 'what is added'],
        [`${block}.hook_resid_mid`, 'the stream after it'],
      ],
    },
    ...(cross
      ? [
          {
            id: 'cross',
            title: `${c.nHeads} heads across`,
            shape: `pattern [${c.nHeads}, ${n}, ${m}]`,
            formula: `A = softmax(q kᵀ / √${c.dHead}), z = A v, ${post ? 'x = norm(x + W_o z)' : 'x = x + W_o z'}; k, v from the encoder`,
            words:
              'The text being written asks; what the encoder has read answers. There is no mask: all of the source is there from the start.',
            params: params('cross'),
            flops: 4 * qd * m + 2 * d * qd * 2,
            points: [
              [`${block}.cross_attn.hook_q`, 'q'],
              [`${block}.cross_attn.hook_z`, 'z, the mixed values'],
              [`${block}.hook_cross_attn_out`, 'what is added'],
              [`${block}.hook_resid_mid_cross`, 'the stream after it'],
            ],
          },
          {
            id: 'encoder',
            title: `Encoder, ${c.nEncoderLayers} block${c.nEncoderLayers === 1 ? '' : 's'}`,
            shape: `[${m}, ${d}]`,
            formula: 'k = W_k e, v = W_v e',
            words:
              'The source passes through blocks of its own, in which every token sees every other; the result is kept for all that is written.',
            params: params('encoder'),
            flops: 0,
            points: [[`encoder.${c.nEncoderLayers - 1}.hook_resid_post`, 'what the encoder hands on']],
          },
        ]
      : []),
    {
      id: 'norm2',
      title: normName,
      shape: `[${n}, ${d}]`,
      formula: normFormula,
      words: post
        ? 'After the sum, the stream itself is brought to one scale.'
        : 'What the FFN reads is brought to one scale.',
      params: params('norm2'),
      flops: 4 * d,
      points: [[`${block}.ln2.hook_normalized`, 'before the gain']],
    },
    {
      id: 'ffn',
      title: ffnName,
      shape: `[${n}, ${c.dFf}]`,
      formula: ffnFormula,
      words: `Each position by itself is widened from ${d} to ${c.dFf}, bent, and brought back.`,
      params: params('ffn'),
      flops: 2 * wide * d * c.dFf,
      points: [
        [`${block}.mlp.hook_pre`, 'before the bend'],
        [`${block}.mlp.hook_post`, 'after it'],
        [`${block}.hook_mlp_out`, 'what is added'],
      ],
    },
    {
      id: 'resid',
      title: 'Residual',
      shape: `[${n}, ${d}]`,
      formula: post ? 'x = norm(x + y)' : 'x = x + y',
      words: 'The stream that the next block reads.',
      params: 0,
      flops: d,
      points: [[`${block}.hook_resid_post`, 'the stream after the block']],
    },
    {
      id: 'more',
      title: `${c.nLayers - 1} more block${c.nLayers === 2 ? '' : 's'}`,
      shape: 'same shape',
      formula: '',
      words: 'Each with weights of its own. Choose another layer above the picture to open it.',
      params: params('more'),
      flops: 0,
      points: [[`${blockPoint(c, c.nLayers - 1)}.hook_resid_post`, 'the stream after the last block']],
    },
    {
      id: 'final',
      title: `Final ${normName}`,
      shape: `[${n}, ${d}]`,
      formula: normFormula,
      words: 'The stream is brought to one scale for the last time.',
      params: params('final'),
      flops: 4 * d,
      points: [[`${whole}ln_final.hook_normalized`, 'before the gain']],
    },
    {
      id: 'head',
      title: c.tieWordEmbeddings ? 'Head, tied' : 'Head',
      shape: `[${n}, ${c.vocabSize}]`,
      formula: c.tieWordEmbeddings ? 'logits = E x' : 'logits = W x',
      words: c.tieWordEmbeddings
        ? 'The embedding table again, used the other way round: one score per token, no new parameter.'
        : 'One score for each token of the vocabulary.',
      params: params('head'),
      flops: 2 * d * c.vocabSize,
      points: [],
    },
  ];
  const more = stages.find((s) => s.id === 'more');
  if (more) more.flops = (c.nLayers - 1) * stages.reduce((sum, s) => sum + (BLOCK.includes(s.id) ? s.flops : 0), 0);
  return /** @type {Stage[]} */ (
    stages.filter(
      (s) =>
        (s.id !== 'more' || c.nLayers > 1) &&
        (s.id !== 'final' || kinds.has('final_norm')) &&
        (s.id !== 'head' || kinds.has('head')),
    )
  );
}

const OF_COMPONENT = {
  embedding: 'embed',
  position: 'embed',
  cross_attention: 'cross',
  ffn: 'ffn',
  final_norm: 'final',
  head: 'head',
};

/**
 * The stage that a weight belongs to while this layer is open.
 * @param {any} c config
 * @param {any} row of the table of parameters
 * @param {number} layer
 */
function stageOfWeight(c, row, layer) {
  // what reads for an encoder-decoder, tables of its own included
  if (row.name.startsWith('encoder.')) return 'encoder';
  if (row.layer !== null && row.layer !== layer) return 'more';
  const part = row.name.split('.').at(-2); // blocks.0.attn.o.weight
  if (row.component === 'attention') return part === 'o' ? 'out' : 'qkv';
  if (row.component === 'norm')
    return part === 'norm1' ? 'norm1' : part === 'norm2' && c.kind === 'encoder_decoder' ? 'cross' : 'norm2';
  return OF_COMPONENT[row.component];
}

/** The operations of the engine's trace that make up a stage. @type {Record<string, string[]>} */
export const OPERATIONS = {
  embed: ['embed'],
  norm1: ['norm1'],
  qkv: ['attn.qkv', 'attn.rope'],
  heads: ['attn.attend'],
  out: ['attn.o', 'attn.residual'],
  cross: ['cross_attn.q', 'cross_attn.kv', 'cross_attn.attend', 'cross_attn.o', 'cross_attn.residual', 'norm_cross'],
  norm2: ['norm2'],
  ffn: ['ffn.up', 'ffn.act', 'ffn.down'],
  resid: ['ffn.residual'],
  final: ['final_norm'],
  head: ['head'],
};

/**
 * What a stage took of a measured pass while this layer is open, in ms.
 * @param {any} c config
 * @param {any[]} rows of the trace
 * @param {string} id
 * @param {number} layer
 */
export function timeOf(c, rows, id, layer) {
  const reads = (/** @type {any} */ r) => c.kind === 'encoder_decoder' && r.stack === 'encoder';
  const stage = (/** @type {any} */ r) =>
    reads(r)
      ? 'encoder'
      : r.layer !== null && r.layer !== layer
        ? 'more'
        : Object.keys(OPERATIONS).find((s) => OPERATIONS[s].includes(r.op));
  return rows.reduce((sum, r) => sum + (stage(r) === id ? r.ms : 0), 0);
}
