// count.js - sentences of the view Count: parameters, memory, cost, one measured pass

import { FFN_NAMES } from './ffn.js';
import { bytes, int, si, time } from './format.js';

/** Components of a model by the library's names, in the order in which a token passes them. */
export const COMPONENTS = /** @type {Record<string, string>} */ ({
  embedding: 'Token embedding',
  position: 'Position embedding',
  attention: 'Attention',
  cross_attention: 'Cross-attention',
  ffn: 'FFN',
  norm: 'Norms',
  final_norm: 'Final norm',
  head: 'Head',
});

/**
 * @param {{ component: string, layers: number, stack: string | null, ffn: string }} of  layers: 0 for what is in no block
 */
export function componentName({ component, layers, stack, ffn }) {
  if (component === 'norm' && !layers) return 'Norm of the embedding';
  if (component === 'relative') return 'Bias of distances';
  if (component === 'types') return 'Token types';
  if (component === 'pooler') return 'Pooler';
  if (component === 'mlm') return 'Transform before the head';
  const kind = FFN_NAMES[ffn];
  const name =
    (component === 'ffn' && kind && `${kind} FFN`) ||
    (component === 'experts' && `${kind} experts`) ||
    COMPONENTS[component] ||
    component;
  return layers ? `${name}, ${layers} ${stack ? `${stack} ` : ''}block${layers === 1 ? '' : 's'}` : name;
}

/**
 * @param {number} layer  from 0
 * @param {string | null} stack  of two
 */
export const blockName = (layer, stack) => `Block ${layer + 1}${stack ? ` of the ${stack}` : ''}`;

/** What is added to a product: parameters of attention that are no matrix, or a bias. */
export const BIASES = (component, config) =>
  component === 'attention' && config.qkNorm
    ? config.biasQkv || config.biasAttnOut || config.biasQkNorm
      ? 'biases and q, k gains'
      : 'q, k gains'
    : 'biases';

/** @param {number} counted  by the configuration alone */
export const countCheck = (inFile, counted) =>
  inFile === counted
    ? `${int(inFile)} in the file, ${int(counted)} counted from its config ✓`
    : `${int(inFile)} in the file, ${int(counted)} counted from its config: they differ`;

/** Of a model with experts. */
export const usedByToken = (active) => `used by one token ${int(active)} · `;

/**
 * Where a tensor is in linear memory.
 * @param {{ address: number, memoryBytes: number }} row
 * @param {string[]} others  tensors of the same matrix
 */
export const tensorPlace = (row, others) =>
  `at ${int(row.address)} in linear memory, ${int(row.memoryBytes)} bytes there${others.length ? `, one matrix with ${others.join(' and ')}` : ''}`;

/** Instead of a time, before the first token is written. */
export const UNMEASURED = 'not measured yet';

/** What was read of the parameters for the newest token. */
export const READ = {
  title: 'Parameters',
  all: (total) => `by component, ${int(total)} in all`,
  column: 'Read for this token',
  /** @param {number} read  bytes @param {number} ms  0: not measured */
  said: (read, ms) => (ms ? `${bytes(read)} in ${time(ms)}: ${si((read * 1000) / ms, 'B/s')}.` : `${bytes(read)}.`),
  more: 'Every tensor',
};

export const COST = {
  title: 'Cost of one token',
  at: (position) => `at position ${int(position)}`,
  later: 'As the text grows',
  columns: ['Position', 'FLOPs', 'attention’s share', 'kv cache'],
};

/** What the page says of the builds that simd_builds.js measures, by their keys. */
export const SIMD = {
  title: 'What SIMD does',
  about:
    'One C source, compiled several times. A vector instruction (SIMD: single instruction, multiple data) multiplies 8 or 16 numbers at once; without one, each number takes an instruction of its own.',
  run: 'Measure',
  stop: 'Stop',
  columns: ['Build', 'tokens/s', 'times', 'Inner loop for 8-bit weights, in C'],
  names: {
    scalar: 'without SIMD',
    simd: 'SIMD128',
    relaxed: 'relaxed SIMD',
    threads: (n) => `${n} threads`,
  },
  same: (n) => `All wrote the same ${n} tokens.`,
  different: 'The texts differ: this is a fault of the engine.',
  none: 'Only a decoder that came from a file is measured.',
};

const SMALL = 'Norms and sums';
/** Operations of the engine; those of one name make one row. */
export const OPERATION_NAMES = {
  embed: 'Embedding',
  norm1: SMALL,
  norm1_post: SMALL,
  'attn.qkv': 'q, k, v',
  'attn.rope': 'Rotation (RoPE)',
  'attn.attend': 'Scores, softmax, weighted values',
  'attn.o': 'Attention output',
  'attn.residual': SMALL,
  norm_cross: SMALL,
  'cross_attn.q': 'Cross-attention: q',
  'cross_attn.kv': 'Cross-attention: k, v',
  'cross_attn.attend': 'Cross-attention: scores, softmax, weighted values',
  'cross_attn.o': 'Cross-attention output',
  'cross_attn.residual': SMALL,
  norm2: SMALL,
  norm2_post: SMALL,
  'ffn.up': 'FFN, up',
  'ffn.act': 'FFN, activation',
  'ffn.down': 'FFN, down',
  'ffn.router': 'Experts, router',
  'ffn.experts': 'Experts',
  'ffn.residual': SMALL,
  final_norm: 'Final norm',
  pooler: 'Pooler',
  head_transform: 'Layer before the head',
  head: 'Head',
};

export const TRACE = {
  title: 'One pass, measured',
  about: (tokens) => `${int(tokens)} tokens in one pass, timed by the engine`,
  columns: ['Operation, all layers', 'FLOPs', 'Time', 'Share of the time'],
  total: 'The whole pass',
};

export const MEMORY = {
  /** Why weights take more bytes in memory than in the file. @param {{ scales: number, panels: number }} of */
  more: ({ scales, panels }) =>
    `Weights in memory: ${[
      scales ? `${int(scales)} bytes more because the scales of quantised blocks are f32 there` : '',
      panels ? `${int(panels)} bytes more because rows are padded to panels of 16` : '',
    ]
      .filter(Boolean)
      .join(', ')}.`,
};
