// stages.js - the stages of one forward pass, as the loaded architecture has them: the shape of what each makes, its
// weights, its operations, and where its values can be read
import { blockPoint } from '../../../state/points.js';
import { STAGES, VALUES } from '../../../text/stages.js';

const BLOCK = ['norm1', 'qkv', 'heads', 'out', 'cross', 'norm2', 'ffn', 'resid'];

/**
 * @typedef {object} Stage
 * @property {string} id
 * @property {string} title
 * @property {string} shape       of its output, with this text's numbers
 * @property {string} formula
 * @property {string} words       what it does
 * @property {number} params      in this layer
 * @property {number} flops       for one more token, this layer
 * @property {[string, string][]} points  capture point and name, in order of computation
 */
/** @typedef {Pick<Stage, 'id' | 'shape' | 'flops' | 'points'>} Part */

/**
 * Every weight and every operation belongs to exactly one stage, whatever layer is open.
 * @param {any} c config
 * @param {any[]} rows parameter rows
 * @param {number} layer
 * @param {number} n  tokens
 * @param {number} m  tokens of a source
 * @returns {Stage[]}
 */
export function stagesOf(c, rows, layer, n, m) {
  const kinds = new Set(rows.map((row) => row.component));
  const inBlock = [...attentionParts(c, layer, n), ...crossParts(c, layer, n, m), ...ffnParts(c, layer, n)];
  const perBlock = inBlock.reduce((sum, part) => sum + (BLOCK.includes(part.id) ? part.flops : 0), 0);
  return [...firstParts(c, layer, n, perBlock), ...inBlock, ...lastParts(c, layer, n, perBlock)]
    .filter(
      ({ id }) =>
        (id !== 'before' || layer > 0) &&
        (id !== 'more' || layer + 1 < c.nLayers) &&
        (id !== 'final' || kinds.has('final_norm')) &&
        (id !== 'head' || kinds.has('head')),
    )
    .map((part) => ({
      ...part,
      ...STAGES[part.id](c, layer),
      params: rows.reduce((sum, r) => sum + (!r.tiedTo && stageOfWeight(c, r, layer) === part.id ? r.count : 0), 0),
    }));
}

/** Prefix of points outside the blocks. @param {any} c */
const whole = (c) => (c.kind === 'encoder_decoder' ? 'decoder.' : '');

/** @param {any} c @param {number} layer @param {number} n @param {number} perBlock @returns {Part[]} */
function firstParts(c, layer, n, perBlock) {
  const position = ['learned', 'sinusoidal'].includes(c.position);
  return [
    {
      id: 'embed',
      shape: `[${n}, ${c.dModel}]`,
      flops: 0,
      points: [
        [`${whole(c)}hook_embed`, VALUES.embedding],
        .../** @type {[string, string][]} */ (position ? [[`${whole(c)}hook_pos_embed`, VALUES.position]] : []),
      ],
    },
    {
      id: 'before',
      shape: `[${n}, ${c.dModel}]`,
      flops: layer * perBlock,
      points: [[`${blockPoint(c, layer)}.hook_resid_pre`, VALUES.into]],
    },
  ];
}

/** @param {any} c @param {number} layer @param {number} n @returns {Part[]} */
function attentionParts(c, layer, n) {
  const block = blockPoint(c, layer);
  const [d, qd, kd] = [c.dModel, c.nHeads * c.dHead, c.nKvHeads * c.dHead];
  const keys = c.slidingWindow ? Math.min(c.slidingWindow, n) : n;
  /** @type {[string, string][]} */
  const rotated = [
    [`${block}.attn.hook_rot_q`, VALUES.rotatedQ],
    [`${block}.attn.hook_rot_k`, VALUES.rotatedK],
  ];
  return [
    {
      id: 'norm1',
      shape: `[${n}, ${d}]`,
      flops: 4 * d,
      points: [[`${block}.ln1.hook_normalized`, VALUES.normalised]],
    },
    {
      id: 'qkv',
      shape: c.nKvHeads === c.nHeads ? `3 × [${n}, ${qd}]` : `q [${n}, ${qd}], k v [${n}, ${kd}]`,
      flops: 2 * d * (qd + 2 * kd),
      points: [
        [`${block}.attn.hook_q`, VALUES.q],
        [`${block}.attn.hook_k`, VALUES.k],
        [`${block}.attn.hook_v`, VALUES.v],
        ...(c.position === 'rope' ? rotated : []),
      ],
    },
    {
      id: 'heads',
      shape: `pattern [${c.nHeads}, ${n}, ${n}]`,
      flops: 4 * qd * keys,
      points: [[`${block}.attn.hook_z`, VALUES.z]],
    },
    {
      id: 'out',
      shape: `[${n}, ${d}]`,
      flops: 2 * qd * d,
      points: [
        [`${block}.hook_attn_out`, VALUES.added],
        [`${block}.hook_resid_mid`, VALUES.after],
      ],
    },
  ];
}

/** @param {any} c @param {number} layer @param {number} n @param {number} m @returns {Part[]} */
function crossParts(c, layer, n, m) {
  if (c.kind !== 'encoder_decoder') return [];
  const block = blockPoint(c, layer);
  const [d, qd] = [c.dModel, c.nHeads * c.dHead];
  return [
    {
      id: 'cross',
      shape: `pattern [${c.nHeads}, ${n}, ${m}]`,
      flops: 4 * qd * m + 2 * d * qd * 2,
      points: [
        [`${block}.cross_attn.hook_q`, VALUES.q],
        [`${block}.cross_attn.hook_z`, VALUES.z],
        [`${block}.hook_cross_attn_out`, VALUES.added],
        [`${block}.hook_resid_mid_cross`, VALUES.after],
      ],
    },
    {
      id: 'encoder',
      shape: `[${m}, ${d}]`,
      flops: 0,
      points: [[`encoder.${c.nEncoderLayers - 1}.hook_resid_post`, VALUES.encoded]],
    },
  ];
}

/** @param {any} c @param {number} layer @param {number} n @returns {Part[]} */
function ffnParts(c, layer, n) {
  const block = blockPoint(c, layer);
  const d = c.dModel;
  return [
    {
      id: 'norm2',
      shape: `[${n}, ${d}]`,
      flops: 4 * d,
      points: [[`${block}.ln2.hook_normalized`, VALUES.normalised]],
    },
    {
      id: 'ffn',
      shape: `[${n}, ${c.dFf}]`,
      flops: 2 * (c.ffn === 'swiglu' ? 3 : 2) * d * c.dFf,
      points: [
        [`${block}.mlp.hook_pre`, VALUES.pre],
        [`${block}.mlp.hook_post`, VALUES.post],
        [`${block}.hook_mlp_out`, VALUES.added],
      ],
    },
    { id: 'resid', shape: `[${n}, ${d}]`, flops: d, points: [[`${block}.hook_resid_post`, VALUES.stream]] },
  ];
}

/** @param {any} c @param {number} layer @param {number} n @param {number} perBlock @returns {Part[]} */
function lastParts(c, layer, n, perBlock) {
  return [
    {
      id: 'more',
      shape: `[${n}, ${c.dModel}]`,
      flops: (c.nLayers - 1 - layer) * perBlock,
      points: [[`${blockPoint(c, c.nLayers - 1)}.hook_resid_post`, VALUES.last]],
    },
    {
      id: 'final',
      shape: `[${n}, ${c.dModel}]`,
      flops: 4 * c.dModel,
      points: [[`${whole(c)}ln_final.hook_normalized`, VALUES.normalised]],
    },
    { id: 'head', shape: `[${n}, ${c.vocabSize}]`, flops: 2 * c.dModel * c.vocabSize, points: [] },
  ];
}

const OF_COMPONENT = /** @type {Record<string, string>} */ ({
  embedding: 'embed',
  position: 'embed',
  cross_attention: 'cross',
  ffn: 'ffn',
  final_norm: 'final',
  head: 'head',
});

/**
 * The stage that a weight belongs to while this layer is open.
 * @param {any} c config
 * @param {any} row of the table of parameters
 * @param {number} layer
 */
function stageOfWeight(c, row, layer) {
  if (row.name.startsWith('encoder.')) return 'encoder'; // tables of its own included
  if (row.layer !== null && row.layer !== layer) return row.layer < layer ? 'before' : 'more';
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
  out: ['attn.o', 'norm1_post', 'attn.residual'],
  cross: ['cross_attn.q', 'cross_attn.kv', 'cross_attn.attend', 'cross_attn.o', 'cross_attn.residual', 'norm_cross'],
  norm2: ['norm2'],
  ffn: ['ffn.up', 'ffn.act', 'ffn.down'],
  resid: ['norm2_post', 'ffn.residual'],
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
  const stage = (/** @type {any} */ row) => {
    if (c.kind === 'encoder_decoder' && row.stack === 'encoder') return 'encoder';
    if (row.layer !== null && row.layer !== layer) return row.layer < layer ? 'before' : 'more';
    return Object.keys(OPERATIONS).find((name) => OPERATIONS[name].includes(row.op));
  };
  return rows.reduce((sum, row) => sum + (stage(row) === id ? row.ms : 0), 0);
}
