// compare.js - names and sentences of “Compare and build”: fields of a configuration, and a model as the list of what a
// token passes

import { embedWidth, hasAlibi, hasDistanceBias, isGated, rotaryDim, rotatesAnywhere } from '../state/architecture.js';
import { FFN_NAMES } from './ffn.js';
import { int, si } from './format.js';
import { NORM_NAMES } from './stage_words.js';

/** Fields of a configuration by their keys. @type {Record<string, string>} */
export const FIELD_NAMES = {
  kind: 'kind',
  vocabSize: 'vocabulary',
  dModel: 'd_model',
  nLayers: 'layers',
  nEncoderLayers: 'encoder layers',
  nHeads: 'heads',
  nKvHeads: 'kv heads',
  dHead: 'd_head',
  dFf: 'd_ff',
  nExperts: 'experts',
  nExpertsUsed: 'experts used',
  dExpert: 'd_ff of an expert',
  dSharedExpert: 'd_ff of the shared expert',
  expertLayers: 'layers with experts',
  normExpertWeights: 'their weights add to 1',
  contextLength: 'context',
  slidingWindow: 'window, 0: all',
  windowLayers: 'layers with it',
  norm: 'norm',
  normPlacement: 'norm is',
  parallelResidual: 'parallel blocks',
  sharedNorm: 'one norm for both',
  ffn: 'FFN',
  position: 'positions',
  ropeTheta: 'rope theta',
  rotaryDim: 'rotated, 0: all',
  ropeLayers: 'layers that rotate',
  finalNorm: 'final norm',
  finalNormKind: 'final norm is',
  qkNorm: 'q, k norms',
  qkNormKind: 'q, k norm',
  qkNormSpan: 'it spans',
  pooler: 'pooler',
  mlmHead: 'head for [MASK]',
  tieWordEmbeddings: 'head tied',
  sharedEmbedding: 'one embedding',
  biasQkv: 'biases, q k v',
  biasAttnOut: 'biases, o',
  biasFfn: 'biases, FFN',
  biasNorm: 'biases, norms',
  biasQkNorm: 'biases, q k norms',
  biasHead: 'biases, head',
  normEps: 'norm ε',
  finalNormEps: 'final ε, 0: same',
  normGain: 'gains, norms',
  embedNorm: 'norm of embedding',
  dEmbed: 'embedding, 0: d_model',
  embeddingScale: 'embedding ×',
  residualScale: 'outputs ×',
  scoreScale: 'scores ×, 0: 1/√d_head',
  logitScale: 'logits ×',
  scoreSoftcap: 'cap of scores, 0: none',
  logitSoftcap: 'cap of logits, 0: none',
  clipQkv: 'limit of q k v, 0: none',
  positionOffset: 'first position row',
  positionPadId: 'padding token, −1: none',
  nTokenTypes: 'token types, 0: none',
  sinusoidPairs: 'sinusoids',
  relativeBuckets: 'distance biases, 0: none',
  relativeMaxDistance: 'distances up to',
  ropeLocalTheta: 'theta in windows, 0: same',
  ropePairs: 'rope pairs',
  ropeScaling: 'rope scaling',
  ropeFactor: 'its factor',
  ropeLowFreqFactor: 'low frequency',
  ropeHighFreqFactor: 'high frequency',
  ropeOriginalContext: 'first context',
  ropeBetaFast: 'fast turns',
  ropeBetaSlow: 'slow turns',
  ropeTruncate: 'whole pairs',
  ropeAttentionFactor: 'cos and sin ×',
  ropeShortFactors: 'divisors, short',
  ropeLongFactors: 'divisors, long',
};
/** Values of fields that are words. @type {Record<string, Record<string, string>>} */
export const OPTIONS = {
  kind: { decoder: 'decoder', encoder_decoder: 'encoder-decoder', encoder: 'encoder' },
  norm: NORM_NAMES,
  normPlacement: {
    pre: 'before (pre)',
    post: 'after the sum (post)',
    sandwich: 'before and on outputs',
    output: 'on outputs',
  },
  ffn: FFN_NAMES,
  position: { rope: 'rotary', learned: 'learned', sinusoidal: 'sinusoidal', alibi: 'ALiBi', none: 'none' },
  qkNormKind: NORM_NAMES,
  finalNormKind: NORM_NAMES,
  qkNormSpan: { head: 'each head', each_head: 'each head, own gains', projection: 'all heads' },
  sinusoidPairs: { adjacent: 'sine and cosine in turn', half: 'all sines first' },
  ropePairs: { half: 'i, i + d/2', adjacent: 'neighbours' },
  ropeScaling: {
    none: 'none',
    linear: 'linear',
    llama3: 'Llama 3',
    yarn: 'YaRN',
    dynamic: 'dynamic',
    longrope: 'LongRoPE',
  },
};
/** A list that repeats over the layers, or one of numbers. */
export const LISTS = {
  every: 'every layer',
  /** @param {boolean[]} flags */
  flags: (flags) => (flags.length ? flags.map(Number).join(' ') : LISTS.every),
  /** @param {number[]} list */
  numbers: (list) => (list.length > 3 ? `${list.slice(0, 3).join(' ')} … (${list.length})` : list.join(' ')) || 'none',
};

export const COMPARE = {
  title: 'Compare and build',
  about: 'the loaded model beside another: counted from its configuration, no weights needed',
  begin: 'Begin with',
  loaded: 'the loaded model, changed',
  shipped: 'On this page',
  presets: 'Known sizes',
  more: 'More',
  make: 'Make it with random weights',
  custom: 'custom',
  fetching: '…',
  same: 'Both have the same settings.',
  differ: 'What differs',
  /** @param {number} most parameters */
  tooLarge: (most) => `Up to ${si(most)} parameters can be made here.`,
  /** @param {number} tokens */
  cache: (tokens) => `kv cache of ${tokens} tokens, f16`,
};
/** What positions add to the embedding. @type {Record<string, string>} */
const ADDED = { learned: ' + learned positions', sinusoidal: ' + sinusoids' };

/** Boxes and lines of a model as a list of what a token passes. `c` is a configuration. */
export const FLOW = {
  /** @param {any} c */
  embedding: (c) =>
    `Embedding ${int(c.vocabSize)} × ${embedWidth(c)}${c.dEmbed ? ` → ${c.dModel}` : ''}${ADDED[c.position] ?? ''}`,
  /** @param {any} c */
  attention: (c) =>
    [
      `Attention, ${c.nHeads} head${c.nHeads === 1 ? '' : 's'}`,
      c.nKvHeads === c.nHeads ? '' : `${c.nKvHeads} kv`,
      rotatesAnywhere(c) ? `${rotaryDim(c) < c.dHead ? 'partly ' : ''}rotary` : '',
      hasAlibi(c) ? 'ALiBi' : '',
      hasDistanceBias(c) ? 'bias of distances' : '',
      c.slidingWindow ? `window ${int(c.slidingWindow)}${c.windowLayers?.length ? ' in some layers' : ''}` : '',
    ]
      .filter(Boolean)
      .join(', '),
  cross: 'Cross-attention in the decoder',
  /** @param {any} c */
  ffn: (c) =>
    `${FFN_NAMES[c.ffn]}${isGated(c) ? '' : ' FFN'}, ${c.nExperts ? `${c.nExpertsUsed} of ${c.nExperts} experts, ${c.dExpert}` : c.dFf}`,
  /** @param {any} c */
  head: (c) => (c.tieWordEmbeddings ? 'Head, shared with the embedding' : 'Head'),
  stream: '+ stream',
  beside: 'beside it, from the same stream',
  both: '+ both + stream',
};
