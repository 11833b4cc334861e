// compare.js - names and sentences of “Compare and build”: fields of a configuration, and a model as the list of what a
// token passes

import {
  embedWidth,
  hasAlibi,
  hasDistanceBias,
  hasFfn,
  hasNorms,
  isGated,
  rotaryDim,
  rotatesAnywhere,
} from '../state/architecture.js';
import { FFN_NAMES } from './ffn.js';
import { int, si } from './format.js';
import { NORM_NAMES } from './stage_words.js';

/**
 * @typedef {object} Control  of a field, see FIELDS in views/experiment/build_fields.js
 * @property {string} name
 * @property {'flags' | 'numbers'} [list]  of values, written one after the other
 * @property {boolean} [real]  not only whole numbers
 * @property {number} [least]
 * @property {boolean} [more]  shown under “More”
 * @property {(config: any) => boolean} [when]  whether a model like this has it: any where this is absent
 */

const two = (c) => c.kind === 'encoder_decoder';
const encodes = (c) => c.kind === 'encoder';
const hasHead = (c) => c.kind !== 'encoder' || c.mlmHead;
const rotary = (c) => c.position === 'rope';
const only = (c) => c.kind === 'decoder';
/** @param {...string} scalings  of rotary positions */
const scaledBy =
  (...scalings) =>
  (c) =>
    rotary(c) && scalings.includes(c.ropeScaling);
const normed = (c) => c.qkNorm;
const mixed = (c) => c.nExperts > 0;

/** Fields of a configuration by their keys. @type {Record<string, Control>} */
export const CONTROLS = {
  kind: { name: 'kind' },
  vocabSize: { name: 'vocabulary' },
  dModel: { name: 'd_model' },
  nLayers: { name: 'layers' },
  nEncoderLayers: { name: 'encoder layers', when: two },
  nHeads: { name: 'heads' },
  nKvHeads: { name: 'kv heads' },
  dHead: { name: 'd_head' },
  dFf: { name: 'd_ff', when: hasFfn },
  nExperts: { name: 'experts', least: 0, when: (c) => only(c) && hasFfn(c) },
  nExpertsUsed: { name: 'experts used', when: mixed },
  dExpert: { name: 'd_ff of an expert', when: mixed },
  dSharedExpert: { name: 'd_ff of the shared expert', least: 0, when: mixed },
  expertLayers: { name: 'layers with experts', list: 'flags', more: true, when: mixed },
  normExpertWeights: { name: 'their weights add to 1', more: true, when: mixed },
  contextLength: { name: 'context' },
  slidingWindow: { name: 'window, 0: all', least: 0 },
  windowLayers: { name: 'layers with it', list: 'flags', more: true, when: (c) => c.slidingWindow > 0 },
  norm: { name: 'norm' },
  normPlacement: { name: 'norm is', when: hasNorms },
  parallelResidual: { name: 'parallel blocks', when: (c) => only(c) && hasFfn(c) },
  sharedNorm: { name: 'one norm for both', when: (c) => c.parallelResidual },
  ffn: { name: 'FFN' },
  position: { name: 'positions' },
  ropeTheta: { name: 'rope theta', real: true, when: rotary },
  rotaryDim: { name: 'rotated, 0: all', least: 0, more: true, when: rotary },
  ropeLayers: { name: 'layers that rotate', list: 'flags', more: true, when: rotary },
  finalNorm: { name: 'final norm', when: hasNorms },
  finalNormKind: { name: 'final norm is', more: true, when: (c) => c.finalNorm },
  qkNorm: { name: 'q, k norms' },
  qkNormKind: { name: 'q, k norm', more: true, when: normed },
  qkNormSpan: { name: 'it spans', more: true, when: normed },
  pooler: { name: 'pooler', more: true, when: encodes },
  mlmHead: { name: 'head for [MASK]', more: true, when: (c) => encodes(c) && hasFfn(c) },
  tieWordEmbeddings: { name: 'head tied', when: hasHead },
  sharedEmbedding: { name: 'one embedding', when: two },
  biasQkv: { name: 'biases, q k v' },
  biasAttnOut: { name: 'biases, o' },
  biasFfn: { name: 'biases, FFN', when: hasFfn },
  biasNorm: {
    name: 'biases, norms',
    more: true,
    when: (c) => [c.norm, c.finalNormKind].includes('layernorm') && c.normGain,
  },
  biasQkNorm: { name: 'biases, q k norms', more: true, when: (c) => c.qkNorm && c.qkNormKind === 'layernorm' },
  biasHead: { name: 'biases, head', more: true, when: hasHead },
  normEps: { name: 'norm ε', real: true, more: true },
  finalNormEps: { name: 'final ε, 0: same', real: true, more: true, when: (c) => c.finalNorm },
  normGain: { name: 'gains, norms', more: true, when: hasNorms },
  embedNorm: { name: 'norm of embedding', more: true, when: hasNorms },
  dEmbed: { name: 'embedding, 0: d_model', least: 0, more: true, when: only },
  embeddingScale: { name: 'embedding ×', real: true, more: true },
  residualScale: { name: 'outputs ×', real: true, more: true },
  scoreScale: { name: 'scores ×, 0: 1/√d_head', real: true, more: true },
  logitScale: { name: 'logits ×', real: true, more: true, when: hasHead },
  scoreSoftcap: { name: 'cap of scores, 0: none', real: true, more: true },
  logitSoftcap: { name: 'cap of logits, 0: none', real: true, more: true, when: hasHead },
  clipQkv: { name: 'limit of q k v, 0: none', real: true, more: true },
  positionOffset: { name: 'first position row', least: 0, more: true, when: (c) => c.position === 'learned' },
  positionPadId: { name: 'padding token, −1: none', least: -1, more: true, when: encodes },
  nTokenTypes: { name: 'token types, 0: none', least: 0, more: true, when: encodes },
  sinusoidPairs: { name: 'sinusoids', more: true, when: (c) => c.position === 'sinusoidal' },
  relativeBuckets: { name: 'distance biases, 0: none', least: 0, more: true },
  relativeMaxDistance: { name: 'distances up to', more: true, when: (c) => c.relativeBuckets > 0 },
  ropeLocalTheta: {
    name: 'theta in windows, 0: same',
    real: true,
    more: true,
    when: (c) => rotary(c) && c.slidingWindow > 0,
  },
  ropePairs: { name: 'rope pairs', more: true, when: rotary },
  ropeScaling: { name: 'rope scaling', more: true, when: rotary },
  ropeFactor: { name: 'its factor', real: true, more: true, when: scaledBy('linear', 'llama3', 'yarn', 'dynamic') },
  ropeLowFreqFactor: { name: 'low frequency', real: true, more: true, when: scaledBy('llama3') },
  ropeHighFreqFactor: { name: 'high frequency', real: true, more: true, when: scaledBy('llama3') },
  ropeOriginalContext: {
    name: 'first context',
    real: true,
    more: true,
    when: scaledBy('llama3', 'yarn', 'dynamic', 'longrope'),
  },
  ropeBetaFast: { name: 'fast turns', real: true, more: true, when: scaledBy('yarn') },
  ropeBetaSlow: { name: 'slow turns', real: true, more: true, when: scaledBy('yarn') },
  ropeTruncate: { name: 'whole pairs', more: true, when: scaledBy('yarn') },
  ropeAttentionFactor: { name: 'cos and sin ×', real: true, more: true, when: scaledBy('yarn', 'longrope') },
  ropeShortFactors: { name: 'divisors, short', list: 'numbers', more: true, when: scaledBy('longrope') },
  ropeLongFactors: { name: 'divisors, long', list: 'numbers', more: true, when: scaledBy('longrope') },
};
/** Values of fields that are words. @type {Record<string, Record<string, string>>} */
export const OPTIONS = {
  kind: { decoder: 'decoder', encoder_decoder: 'encoder-decoder', encoder: 'encoder' },
  norm: { ...NORM_NAMES, none: 'none' },
  normPlacement: {
    pre: 'before (pre)',
    post: 'after the sum (post)',
    sandwich: 'before and on outputs',
    output: 'on outputs',
  },
  ffn: { ...FFN_NAMES, none: 'none' },
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
  cache: (tokens) => `kv cache of ${tokens} tokens, f16`,
};
/** What positions add to the embedding. */
const ADDED = { learned: ' + learned positions', sinusoidal: ' + sinusoids' };

/** Boxes and lines of a model as a list of what a token passes. `c` is a configuration. */
export const FLOW = {
  embedding: (c) =>
    `Embedding ${int(c.vocabSize)} × ${embedWidth(c)}${c.dEmbed ? ` → ${c.dModel}` : ''}${ADDED[c.position] ?? ''}`,
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
  ffn: (c) =>
    `${FFN_NAMES[c.ffn]}${isGated(c) ? '' : ' FFN'}, ${c.nExperts ? `${c.nExpertsUsed} of ${c.nExperts} experts, ${c.dExpert}` : c.dFf}`,
  head: (c) => (c.tieWordEmbeddings ? 'Head, shared with the embedding' : 'Head'),
  stream: '+ stream',
  beside: 'beside it, from the same stream',
  both: '+ both + stream',
};
