// written_layouts.js - the models of tests/golden/written in the layouts of classes that people write: tables of names,
// and what else such a class does to a weight
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { json, readTensors } from './helpers.js';

const folder = fileURLToPath(new URL('../golden/written', import.meta.url));
const all = readTensors(join(folder, 'models.safetensors'));
/** What make_written.py recorded. */
export const recorded = json(join(folder, 'expected.json'));
const { heads, context } = recorded;

/**
 * The weights of a model, in their order.
 * @param {string} model
 * @returns {[string, {shape: number[], data: Float32Array}][]}
 */
export const weightsOf = (model) =>
  Object.entries(all).flatMap(([name, { shape, data }]) =>
    name.startsWith(`${model}/`) ? [[name.slice(model.length + 1), { shape, data: Float32Array.from(data) }]] : [],
  );

/** Matrices transposed. */
export function transposed({ shape: [rows, cols], data }) {
  const out = new Float32Array(data.length);
  for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) out[c * rows + r] = data[r * cols + c];
  return { shape: [cols, rows], data: out };
}
/** Tensors below each other. */
export const stacked = (tensors) => ({
  shape: [tensors.reduce((n, { shape }) => n + shape[0], 0), ...tensors[0].shape.slice(1)],
  data: Float32Array.from(tensors.flatMap(({ data }) => [...data])),
});
/** The rows from one on. */
export const rowsOf = ({ shape: [, ...rest], data }, from, n) => {
  const width = rest.reduce((a, b) => a * b, 1);
  return { shape: [n, ...rest], data: data.slice(from * width, (from + n) * width) };
};

/**
 * A model under other names.
 * @param {string} model
 * @param {Record<string, string>} names  theirs by ours, with N for the layer, with or without the ending; several of
 *   ours with one name are stacked
 * @param {(name: string, tensor: object) => Record<string, object> | object} [change]  of each tensor, by its name here
 * @returns {{name: string, shape: number[], data: Float32Array}[]}
 */
export function written(model, names, change = (_, t) => t) {
  const groups = new Map();
  for (const [name, tensor] of weightsOf(model)) {
    const layer = /^blocks\.(\d+)\./.exec(name)?.[1];
    const any = name.replace(/^blocks\.\d+\./, 'blocks.N.');
    const [, stem, end] = /^(.*)(\.\w+)$/.exec(any);
    const theirs = (names[any] ?? `${names[stem]}${end}`).replace('N', layer);
    groups.set(theirs, [...(groups.get(theirs) ?? []), change(any, tensor)]);
  }
  return [...groups].map(([name, parts]) => ({ name, ...(parts.length > 1 ? stacked(parts) : parts[0]) }));
}

/** A table of names of one block under a prefix. */
const inBlock = (prefix, names) =>
  Object.fromEntries(Object.entries(names).map(([ours, theirs]) => [`blocks.N.${ours}`, `${prefix}${theirs}`]));

const nano = {
  embed: 'transformer.wte',
  position: 'transformer.wpe',
  final_norm: 'transformer.ln_f',
  head: 'lm_head',
  ...inBlock('transformer.h.N.', {
    ...{ norm1: 'ln_1', norm2: 'ln_2', 'attn.q': 'attn.c_attn', 'attn.k': 'attn.c_attn', 'attn.v': 'attn.c_attn' },
    ...{ 'attn.o': 'attn.c_proj', 'ffn.up': 'mlp.c_fc', 'ffn.down': 'mlp.c_proj' },
  }),
};
const lecture = {
  ...{ embed: 'token_embedding_table', position: 'position_embedding_table', final_norm: 'ln_f', head: 'lm_head' },
  ...inBlock('blocks.N.', {
    ...{ norm1: 'ln1', norm2: 'ln2', 'attn.q': 'sa.query', 'attn.k': 'sa.key', 'attn.v': 'sa.value' },
    ...{ 'attn.o': 'sa.proj', 'ffn.up': 'ffwd.net.0', 'ffn.down': 'ffwd.net.2' },
  }),
};
const llama2c = {
  ...{ embed: 'tok_embeddings', final_norm: 'norm', head: 'output' },
  ...inBlock('layers.N.', {
    ...{ norm1: 'attention_norm', norm2: 'ffn_norm', 'attn.q': 'attention.wq', 'attn.k': 'attention.wk' },
    ...{ 'attn.v': 'attention.wv', 'attn.o': 'attention.wo', 'ffn.gate': 'feed_forward.w1' },
    ...{ 'ffn.down': 'feed_forward.w2', 'ffn.up': 'feed_forward.w3' },
  }),
};
/** gpt-fast: q, k and v in one. */
const gptFast = {
  ...llama2c,
  ...inBlock('layers.N.attention.', { 'attn.q': 'wqkv', 'attn.k': 'wqkv', 'attn.v': 'wqkv' }),
};
const outputProj = { 'attn.q': 'attn.q_proj', 'attn.k': 'attn.k_proj', 'attn.v': 'attn.v_proj' };
const cs336 = {
  ...{ embed: 'token_embeddings', final_norm: 'ln_final', head: 'lm_head' },
  ...inBlock('layers.N.', {
    ...{ ...outputProj, 'attn.o': 'attn.output_proj', norm1: 'ln1', norm2: 'ln2' },
    ...{ 'ffn.gate': 'ffn.w1', 'ffn.down': 'ffn.w2', 'ffn.up': 'ffn.w3' },
  }),
};
const nanochat = {
  ...{ embed: 'transformer.wte', head: 'lm_head' },
  ...inBlock('transformer.h.N.', {
    ...{ 'attn.q': 'attn.c_q', 'attn.k': 'attn.c_k', 'attn.v': 'attn.c_v', 'attn.o': 'attn.c_proj' },
    ...{ 'ffn.up': 'mlp.c_fc', 'ffn.down': 'mlp.c_proj' },
  }),
};
/** Norms of the book: scale and shift. */
const scaled = (prefix, ours) => ({ [`${ours}.weight`]: `${prefix}.scale`, [`${ours}.bias`]: `${prefix}.shift` });
const bookAttention = {
  ...{ 'attn.q': 'att.W_query', 'attn.k': 'att.W_key', 'attn.v': 'att.W_value', 'attn.o': 'att.out_proj' },
};
const book = {
  ...{ embed: 'tok_emb', position: 'pos_emb', head: 'out_head', ...scaled('final_norm', 'final_norm') },
  ...scaled('trf_blocks.N.norm1', 'blocks.N.norm1'),
  ...scaled('trf_blocks.N.norm2', 'blocks.N.norm2'),
  ...inBlock('trf_blocks.N.', { ...bookAttention, 'ffn.up': 'ff.layers.0', 'ffn.down': 'ff.layers.2' }),
};
const bookLlama = {
  ...{ embed: 'tok_emb', head: 'out_head', final_norm: 'final_norm' },
  ...inBlock('trf_blocks.N.', {
    ...{ ...bookAttention, norm1: 'norm1', norm2: 'norm2' },
    ...{ 'ffn.gate': 'ff.fc1', 'ffn.up': 'ff.fc2', 'ffn.down': 'ff.fc3' },
  }),
};
const qwen3 = {
  ...bookLlama,
  ...scaled('final_norm', 'final_norm'),
  ...Object.assign({}, ...['norm1', 'norm2'].map((norm) => scaled(`trf_blocks.N.${norm}`, `blocks.N.${norm}`))),
  ...scaled('trf_blocks.N.att.q_norm', 'blocks.N.attn.q_norm'),
  ...scaled('trf_blocks.N.att.k_norm', 'blocks.N.attn.k_norm'),
};
const torchtune = {
  ...{ embed: 'tok_embeddings', head: 'output', ...scaled('norm', 'final_norm') },
  ...{ ...scaled('layers.N.sa_norm', 'blocks.N.norm1'), ...scaled('layers.N.mlp_norm', 'blocks.N.norm2') },
  ...scaled('layers.N.attn.q_norm', 'blocks.N.attn.q_norm'),
  ...scaled('layers.N.attn.k_norm', 'blocks.N.attn.k_norm'),
  ...inBlock('layers.N.', {
    ...{ ...outputProj, 'attn.o': 'attn.output_proj' },
    ...{ 'ffn.gate': 'mlp.w1', 'ffn.down': 'mlp.w2', 'ffn.up': 'mlp.w3' },
  }),
};
const lensNorm = (prefix, ours) => ({ [`${ours}.weight`]: `${prefix}.w`, [`${ours}.bias`]: `${prefix}.b` });
const lens = {
  ...{ 'embed.weight': 'embed.W_E', 'position.weight': 'pos_embed.W_pos', ...lensNorm('ln_final', 'final_norm') },
  ...{ 'head.weight': 'unembed.W_U', 'head.bias': 'unembed.b_U' },
  ...lensNorm('blocks.N.ln1', 'blocks.N.norm1'),
  ...lensNorm('blocks.N.ln2', 'blocks.N.norm2'),
  ...Object.fromEntries(
    ['q', 'k', 'v', 'o'].flatMap((p) => [
      [`blocks.N.attn.${p}.weight`, `blocks.N.attn.W_${p.toUpperCase()}`],
      [`blocks.N.attn.${p}.bias`, `blocks.N.attn.b_${p.toUpperCase()}`],
    ]),
  ),
  ...{ 'blocks.N.ffn.up.weight': 'blocks.N.mlp.W_in', 'blocks.N.ffn.up.bias': 'blocks.N.mlp.b_in' },
  ...{ 'blocks.N.ffn.down.weight': 'blocks.N.mlp.W_out', 'blocks.N.ffn.down.bias': 'blocks.N.mlp.b_out' },
};
const lit = (attention, mlp) => ({
  ...{ embed: 'transformer.wte', final_norm: 'transformer.ln_f', head: 'lm_head' },
  ...inBlock('transformer.h.N.', {
    ...{ norm1: 'norm_1', norm2: 'norm_2', 'attn.q': attention, 'attn.k': attention, 'attn.v': attention },
    ...{ 'attn.o': 'attn.proj', 'ffn.down': 'mlp.proj', ...mlp },
  }),
});

/** TransformerLens' axes: [heads, in, d_head], and matrices [in, out]. */
function lensAxes(name, tensor) {
  const { shape, data } = tensor;
  const width = shape[0] / heads;
  if (/attn\.[qkv]\.bias/.test(name)) return { shape: [heads, width], data };
  if (/attn\.o\.weight/.test(name))
    return { shape: [heads, shape[1] / heads, shape[0]], data: transposed(tensor).data };
  if (/attn\.[qkv]\.weight/.test(name)) {
    const each = Array.from({ length: heads }, (_, i) => transposed(rowsOf(tensor, i * width, width)));
    return { shape: [heads, shape[1], width], data: stacked(each).data };
  }
  return /^(head|blocks.*(up|down))\.weight$/.test(name) ? transposed(tensor) : tensor;
}

/** q, k and v of a fused tensor, group by group. */
function inGroups(tensors, kv) {
  return tensors.map((tensor) => {
    if (!/attn\.attn\.(weight|bias)$/.test(tensor.name)) return tensor;
    const width = tensor.shape[0] / (heads + 2 * kv);
    const rows = [];
    for (let g = 0; g < kv; g++) {
      for (let i = 0; i < heads / kv; i++) rows.push((g * heads) / kv + i);
      rows.push(heads + g, heads + kv + g);
    }
    return { name: tensor.name, ...stacked(rows.map((row) => rowsOf(tensor, row * width, width))) };
  });
}

/** A tensor for each head. */
const perHead = (tensors) =>
  tensors.flatMap((t) => {
    const [, before, part] = /^(.*\.sa)\.((?:query|key|value)\.weight)$/.exec(t.name) ?? [];
    if (!before) return [t];
    const width = t.shape[0] / heads;
    return Array.from({ length: heads }, (_, h) => ({
      name: `${before}.heads.${h}.${part}`,
      ...rowsOf(t, h * width, width),
    }));
  });

/**
 * A layout: the model that is written, its tensors, and what load needs besides.
 * @typedef {{model: string, tensors: () => object[], options?: object, saved?: Record<string, any>}} Layout
 */
/** @type {Record<string, Layout>} */
export const LAYOUTS = {
  'nanoGPT with model_args': {
    model: 'gpt_erf_tied',
    tensors: () => {
      const tensors = written('gpt_erf_tied', nano);
      return [...tensors, { ...tensors[0], name: 'lm_head.weight' }];
    },
    saved: { n_layer: 2, n_head: heads, n_embd: 16, block_size: context, bias: true, vocab_size: 23, dropout: 0.1 },
  },
  'nanoGPT, the state dict alone': {
    model: 'gpt_erf_tied',
    tensors: () => written('gpt_erf_tied', nano),
    options: { config: { n_head: heads } },
  },
  'the GPT of the lecture': {
    model: 'gpt_relu',
    tensors: () => written('gpt_relu', lecture),
    options: { config: { n_head: heads } },
  },
  'the GPT of the lecture, a tensor for each head': {
    model: 'gpt_relu',
    tensors: () => perHead(written('gpt_relu', lecture)),
  },
  "llama2.c's ckpt.pt": {
    model: 'llama_adjacent',
    tensors: () => written('llama_adjacent', llama2c),
    saved: { dim: 16, n_layers: 2, n_heads: heads, n_kv_heads: 2, vocab_size: 23, multiple_of: 8, max_seq_len: 12 },
  },
  "Meta's consolidated.00.pth": {
    model: 'llama_adjacent',
    tensors: () => written('llama_adjacent', llama2c),
    options: { config: { n_heads: heads, norm_eps: 1e-5, rope_theta: 10000, max_seq_len: 12 } },
  },
  'gpt-fast': {
    model: 'llama_adjacent',
    tensors: () => written('llama_adjacent', gptFast),
    options: { config: { n_head: heads, norm_eps: 1e-5, rope_base: 10000, block_size: 12 } },
  },
  "torchtune's Llama": {
    model: 'llama_adjacent',
    tensors: () => written('llama_adjacent', torchtune),
    options: { config: { num_heads: heads, norm_eps: 1e-5, rope_base: 10000, max_seq_len: 12 } },
  },
  "torchtune's Qwen3": {
    model: 'qwen3',
    tensors: () => written('qwen3', torchtune),
    options: { config: { num_heads: heads, norm_eps: 1e-5, rope_base: 10000, max_seq_len: 12 } },
  },
  'the Transformer of CS336': {
    model: 'llama_adjacent',
    tensors: () => written('llama_adjacent', cs336),
    options: { config: { num_heads: heads, rope_theta: 10000, context_length: 12 } },
  },
  nanochat: {
    model: 'nanochat',
    tensors: () => written('nanochat', nanochat),
    options: { config: { rope_theta: 10000 } },
    saved: { sequence_len: 12, vocab_size: 23, n_layer: 2, n_head: heads, n_kv_head: 2, n_embd: 16 },
  },
  'nanochat, the state dict alone': {
    model: 'nanochat',
    tensors: () => written('nanochat', nanochat),
    options: { config: { n_head: heads, rope_theta: 10000 } },
  },
  'the GPT of the book': {
    model: 'gpt_tanh_plain',
    tensors: () => written('gpt_tanh_plain', book),
    options: { config: { n_heads: heads } },
  },
  'the GPT of the book, q, k and v in one': {
    model: 'gpt_tanh_plain',
    tensors: () =>
      written('gpt_tanh_plain', {
        ...book,
        ...inBlock('trf_blocks.N.att.', { 'attn.q': 'qkv', 'attn.k': 'qkv', 'attn.v': 'qkv', 'attn.o': 'proj' }),
      }),
    options: { config: { n_heads: heads } },
  },
  'the Llama of the book': {
    model: 'llama_half',
    tensors: () => written('llama_half', bookLlama),
    options: { config: { n_heads: heads, rope_base: 500000, context_length: context } },
  },
  'the Qwen3 of the book': {
    model: 'qwen3',
    tensors: () => {
      const tensors = written('qwen3', qwen3);
      return [...tensors, { ...tensors[0], name: 'out_head.weight' }];
    },
    options: { config: { norm_eps: 1e-5, rope_base: 10000, context_length: context } },
  },
  TransformerLens: {
    model: 'gpt_tanh',
    tensors: () => written('gpt_tanh', lens, lensAxes),
    options: { config: { act_fn: 'gelu_new', eps: 1e-5 } },
  },
  'lit-gpt, a Llama': {
    model: 'llama_half',
    tensors: () => written('llama_half', lit('attn.qkv', { 'ffn.gate': 'mlp.fc_1', 'ffn.up': 'mlp.fc_2' })),
    options: { config: { n_head: heads, norm_eps: 1e-5, rope_base: 500000, block_size: context } },
  },
  'lit-gpt, a Llama, q, k and v group by group': {
    model: 'llama_half',
    tensors: () =>
      inGroups(written('llama_half', lit('attn.attn', { 'ffn.gate': 'mlp.fc_1', 'ffn.up': 'mlp.fc_2' })), 2),
    options: { config: { n_head: heads, norm_eps: 1e-5, rope_base: 500000, block_size: context } },
  },
  'lit-gpt, a Pythia, q, k and v head by head': {
    model: 'neox',
    tensors: () => inGroups(written('neox', lit('attn.attn', { 'ffn.up': 'mlp.fc' })), heads),
    options: {
      config: {
        ...{ n_head: heads, norm_eps: 1e-5, rope_base: 10000, block_size: context },
        ...{ rotary_percentage: 0.5, parallel_residual: true },
      },
    },
  },
};

/**
 * The .bin of llm.c, its embedding padded.
 * @param {3 | 5} version
 */
export function llmcFile(version) {
  const tokens = 23;
  const padded = 32;
  const [d, layers] = [16, 2];
  const weights = new Map(weightsOf('gpt_tanh_tied'));
  const of = (name) => [...weights.get(name).data];
  const each = (...names) =>
    Array.from({ length: layers }, (_, l) => names.flatMap((name) => of(`blocks.${l}.${name}`))).flat();
  const qkv = (end) => each(...['q', 'k', 'v'].map((p) => `attn.${p}.${end}`));
  const values = [
    ...[...of('embed.weight'), ...new Array((padded - tokens) * d).fill(9), ...of('position.weight')],
    ...[each('norm1.weight'), each('norm1.bias'), qkv('weight'), qkv('bias')].flat(),
    ...['attn.o.weight', 'attn.o.bias', 'norm2.weight', 'norm2.bias'].flatMap((name) => each(name)),
    ...['ffn.up.weight', 'ffn.up.bias', 'ffn.down.weight', 'ffn.down.bias'].flatMap((name) => each(name)),
    ...[...of('final_norm.weight'), ...of('final_norm.bias')],
  ];
  const header = new Int32Array(256);
  header.set([20240326, version, context, tokens, layers, heads, d, padded]);
  const f32 = Float32Array.from(values);
  const data = version === 3 ? f32 : Uint16Array.from(new Uint32Array(f32.buffer), (bits) => bits >>> 16);
  return new Uint8Array(Buffer.concat([new Uint8Array(header.buffer), new Uint8Array(data.buffer)]));
}

/** Names of torch.nn's layers of an encoder or a decoder. */
export const torchBlock = (ours, theirs) => ({
  [`${ours}.N.norm1`]: `${theirs}.layers.N.norm1`,
  [`${ours}.N.norm2`]: `${theirs}.layers.N.norm2`,
  [`${ours}.N.attn.o`]: `${theirs}.layers.N.self_attn.out_proj`,
  [`${ours}.N.ffn.up`]: `${theirs}.layers.N.linear1`,
  [`${ours}.N.ffn.down`]: `${theirs}.layers.N.linear2`,
  ...Object.fromEntries(
    ['q', 'k', 'v'].flatMap((p) =>
      ['weight', 'bias'].map((end) => [`${ours}.N.attn.${p}.${end}`, `${theirs}.layers.N.self_attn.in_proj_${end}`]),
    ),
  ),
});
