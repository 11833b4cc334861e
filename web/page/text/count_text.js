// count_text.js - sentences of the view Count: parameters, memory, cost, one measured pass

import { FFN_NAMES } from './ffn_text.js';
import { int, tokensSaid } from './format.js';
import { say } from '../state/base/language.js';

/** Components of a model by the library's names, in the order in which a token passes them. */
export const COMPONENTS = /** @type {Record<string, string>} */ ({
  embedding: say`Token embedding`,
  position: say`Position embedding`,
  attention: say`Attention`,
  cross_attention: say`Cross-attention`,
  ffn: say`FFN`,
  norm: say`Norms`,
  final_norm: say`Final norm`,
  head: say`Head`,
});

const UNLAYERED = {
  relative: say`Relative position bias`,
  types: say`Token types`,
  pooler: say`Pooler`,
  mlm: say`Transform before the head`,
};

/**
 * @param {{ component: string, layers: number, stack: string | null, ffn: string }} of  layers: 0 for what is in no block
 */
export function componentName({ component, layers, stack, ffn }) {
  if (component === 'norm' && !layers) return say`Norm of the embedding`;
  if (component in UNLAYERED) return UNLAYERED[component];
  const kind = FFN_NAMES[ffn];
  const name =
    (component === 'ffn' && kind && say`${kind} FFN`) ||
    (component === 'experts' && say`${kind} experts`) ||
    COMPONENTS[component] ||
    component;
  if (!layers) return name;
  if (stack) return layers === 1 ? say`${name}, 1 ${stack} block` : say`${name}, ${layers} ${stack} blocks`;
  return layers === 1 ? say`${name}, 1 block` : say`${name}, ${layers} blocks`;
}

/** @param {number} layer  from 0 @param {string | null} stack  of two */
export const blockName = (layer, stack) => (stack ? say`Block ${layer + 1} of the ${stack}` : say`Block ${layer + 1}`);

/** What is added to a product: parameters of attention that are no matrix, or a bias. */
export const BIASES = (component, config) =>
  component === 'attention' && config.qkNorm
    ? config.biasQkv || config.biasAttnOut || config.biasQkNorm
      ? say`biases and q, k gains`
      : say`q, k gains`
    : say`biases`;

/** @param {number} counted  by the configuration alone */
export const countCheck = (inFile, counted) =>
  inFile === counted
    ? say`${int(inFile)} in the file, ${int(counted)} counted from its config ✓`
    : say`${int(inFile)} in the file, ${int(counted)} counted from its config: they differ`;

/** Weights that one token uses in a model with experts. */
export const usedByToken = (active) => say`${int(active)} active per token · `;

/** Why a type takes more bits in memory than in a file; other types only for rows that are padded. */
const WIDER = /** @type {Record<string, string>} */ ({
  q8_0: say`each scale has 32 bits there`,
  q4_0: say`each scale has 32 bits there`,
  q4_1: say`each scale and each minimum has 32 bits there`,
  q4_k: say`each 32 columns have a scale and a minimum of 32 bits there`,
  q5_0: say`each integer has 8 bits there, and each scale 32`,
  q5_1: say`each integer has 8 bits there, and each scale and minimum 32`,
  q6_k: say`each integer has 8 bits there`,
});

/**
 * How many bits a weight of a tensor has in memory and in a file, and why; '' where they are equal.
 * @param {{ dtype: string, count: number, bytes: number, memoryBytes: number }} row
 */
export function memoryReason({ dtype, count, bytes: inFile, memoryBytes }) {
  if (!count || memoryBytes <= inFile) return '';
  const bits = (/** @type {number} */ n) => ((8 * n) / count).toFixed(1);
  const why = WIDER[dtype] ?? say`the rows are padded to a multiple of 16`;
  return say`: ${bits(memoryBytes)} bits per weight, ${bits(inFile)} as ${dtype} in a file, because ${why}`;
}

/**
 * Where a tensor is in linear memory, and why it takes more there than in a file.
 * @param {{ address: number, dtype: string, count: number, bytes: number, memoryBytes: number }} row
 * @param {string[]} others  tensors of the same matrix
 */
export const tensorPlace = (row, others) =>
  say`at ${int(row.address)} in linear memory, ${int(row.memoryBytes)} bytes there${others.length ? say`, one matrix with ${others.join(' and ')}` : ''}${memoryReason(row)}`;

/** Instead of a time, before the first token is written. */
export const UNMEASURED = say`not measured yet`;

/** What was read of the parameters for the newest token. */
export const READ = {
  title: say`Parameters`,
  column: say`Read for this token`,
  how: say`Read from memory for one token: one row of the embedding, all of every other matrix, and of attention the kv cache too. A head that is shared with the embedding reads all of it.`,
};

/** The table at the foot of the machine. */
export const FOOT = {
  title: say`Parameters`,
  more: say`Every tensor, with its formula, in Count`,
  count: say`count`,
  memory: say`bytes in memory`,
  read: say`read per token`,
  tied: say`the embedding`,
  total: say`Total`,
};

const PART_NAMES = {
  embedding: say`Embedding`,
  attention: COMPONENTS.attention,
  ffn: 'FFN',
  norm: COMPONENTS.norm,
  head: COMPONENTS.head,
};

/**
 * A part of the machine, with the number of its blocks.
 * @param {string} part
 * @param {{ layer: number | null, stack: string | null }[]} rows
 * @param {any} config
 */
export function partName(part, rows, config) {
  const name = (part === 'ffn' && FFN_NAMES[config.ffn]) || PART_NAMES[part];
  const blocks = new Set(rows.filter(({ layer }) => layer !== null).map(({ layer, stack }) => `${stack} ${layer}`))
    .size;
  return blocks > 1 && part !== 'norm' ? `${name} × ${blocks}` : name;
}

export const COST = {
  title: say`Cost of one token`,
  at: (position) => say`at position ${int(position)}`,
  later: say`As the text grows`,
  columns: [say`Position`, say`FLOPs`, say`attention’s share`, say`kv cache`],
};

/** What the page says of the builds that simd_builds.js measures, by their keys. */
export const SIMD = {
  title: say`What SIMD does`,
  about: say`One C source, compiled several times. A vector instruction (SIMD: single instruction, multiple data) multiplies 8 or 16 numbers at once; without one, each number takes an instruction of its own.`,
  run: say`Measure`,
  stop: say`Stop`,
  columns: [say`Build`, say`tokens/s`, say`times`, say`Inner loop for 8-bit weights, in C`],
  names: {
    scalar: say`without SIMD`,
    simd: say`SIMD128`,
    relaxed: say`relaxed SIMD`,
    threads: (n) => say`${n} threads`,
  },
  same: (n) => say`All wrote the same ${n} tokens.`,
  different: say`The builds produced different text. This is a bug in the engine; please report it.`,
  none: say`Only decoders loaded from a file can be measured.`,
};

const SMALL = say`Norms and sums`;
/** Operations of the engine; those of one name make one row. */
export const OPERATION_NAMES = {
  embed: say`Embedding`,
  norm1: SMALL,
  norm1_post: SMALL,
  'attn.qkv': 'q, k, v',
  'attn.rope': say`Rotation (RoPE)`,
  'attn.attend': say`Scores, softmax, weighted values`,
  'attn.o': say`Attention output`,
  'attn.residual': SMALL,
  norm_cross: SMALL,
  'cross_attn.q': say`Cross-attention: q`,
  'cross_attn.kv': say`Cross-attention: k, v`,
  'cross_attn.attend': say`Cross-attention: scores, softmax, weighted values`,
  'cross_attn.o': say`Cross-attention output`,
  'cross_attn.residual': SMALL,
  norm2: SMALL,
  norm2_post: SMALL,
  'ffn.up': say`FFN, up`,
  'ffn.act': say`FFN, activation`,
  'ffn.down': say`FFN, down`,
  'ffn.router': say`Experts, router`,
  'ffn.experts': say`Experts`,
  'ffn.residual': SMALL,
  final_norm: say`Final norm`,
  pooler: say`Pooler`,
  head_transform: say`Layer before the head`,
  head: say`Head`,
};

export const TRACE = {
  title: say`One pass, measured`,
  waits: say`measured as soon as writing pauses`,
  about: (tokens) => say`${tokensSaid(tokens)} in one pass, timed by the engine; the mean of several`,
  columns: [say`Operation, all layers`, say`FLOPs`, say`Time`, say`Share of the time`],
  total: say`The whole pass`,
};

export const MEMORY = {
  /** @param {number} bytes @param {number} positions  that they hold */
  room: (bytes, positions) => say`${int(bytes)}, room for ${tokensSaid(positions)}`,
  /** Why weights take more bytes in memory than in the file. @param {{ scales: number, panels: number }} of */
  more: ({ scales, panels }) =>
    say`Weights in memory: ${[
      scales ? say`${int(scales)} bytes more because the scales of quantised blocks are f32 there` : '',
      panels ? say`${int(panels)} bytes more because rows are padded to panels of 16` : '',
    ]
      .filter(Boolean)
      .join(', ')}.`,
};
