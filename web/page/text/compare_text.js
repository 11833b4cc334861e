// compare_text.js - names and sentences of “Compare and build”: fields of a configuration, and a model as the list of
// what a token passes

import {
  embedWidth,
  hasAlibi,
  hasDistanceBias,
  hasFfn,
  hasNorms,
  isGated,
  normsBefore,
  rotaryDim,
  rotaryHeads,
  rotatesAnywhere,
} from '../state/facts/architecture.js';
import { FFN_NAMES, NORM_NAMES } from './ffn_text.js';
import { int, si, tokensSaid } from './format.js';
import { say } from '../state/base/language.js';

/**
 * @typedef {object} Control  of a field, see FIELDS in views/experiment/build_fields.js
 * @property {string} name
 * @property {'flags' | 'numbers'} [list]  of values, written one after the other
 * @property {number} [least]  0 where it is absent
 * @property {(config: any) => boolean} [when]  whether a model like this has it: any where this is absent
 */

const two = (c) => c.kind === 'encoder_decoder';
const encodes = (c) => c.kind === 'encoder';
const hasHead = (c) => c.kind !== 'encoder' || c.mlmHead || labels(c);
const labels = (c) => c.nLabels > 0;
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
  vocabSize: { name: say`vocabulary` },
  dModel: { name: say`d_model` },
  nLayers: { name: say`layers` },
  nEncoderLayers: { name: say`encoder layers`, when: two },
  nHeads: { name: say`heads` },
  nEncoderHeads: { name: say`encoder heads`, when: two },
  nKvHeads: { name: say`kv heads` },
  dHead: { name: say`d_head` },
  dFf: { name: say`d_ff`, when: hasFfn },
  nExperts: { name: say`experts`, when: (c) => only(c) && hasFfn(c) },
  nExpertsUsed: { name: say`experts used`, when: mixed },
  dExpert: { name: say`d_ff of an expert`, when: mixed },
  dSharedExpert: { name: say`d_ff of the shared expert`, when: mixed },
  contextLength: { name: say`context` },
  slidingWindow: { name: say`window, 0: all` },
  norm: { name: say`norm` },
  normPlacement: { name: say`norm placement`, when: hasNorms },
  parallelResidual: { name: say`parallel blocks`, when: (c) => only(c) && hasFfn(c) },
  sharedNorm: { name: say`one norm for both`, when: (c) => c.parallelResidual },
  ffn: { name: say`FFN` },
  position: { name: say`positions` },
  ropeTheta: { name: say`rope theta`, when: rotary },
  finalNorm: { name: say`final norm`, when: hasNorms },
  qkNorm: { name: say`q, k norms` },
  tieWordEmbeddings: { name: say`head tied`, when: hasHead },
  sharedEmbedding: { name: say`one embedding`, when: two },
  biasQkv: { name: say`biases, q k v` },
  biasAttnOut: { name: say`biases, o` },
  biasFfn: { name: say`biases, FFN`, when: hasFfn },
};
/** The controls under “More”. @type {Record<string, Control>} */
export const FURTHER = {
  encoderVocabSize: { name: say`encoder vocabulary, 0: same`, when: two },
  dEncoderFf: { name: say`encoder d_ff, 0: same`, when: (c) => two(c) && hasFfn(c) },
  nLayerGroups: { name: say`groups of equal layers, 0: none`, when: (c) => !two(c) },
  firstNorm: { name: say`norm before the first attention`, when: (c) => normsBefore(c) && !two(c) },
  residualNormed: { name: say`outputs added to the norm`, when: normsBefore },
  expertLayers: { name: say`layers with experts`, list: 'flags', when: mixed },
  normExpertWeights: { name: say`expert weights sum to 1`, when: mixed },
  windowLayers: { name: say`layers with a window`, list: 'flags', when: (c) => c.slidingWindow > 0 },
  rotaryDim: { name: say`rotated, 0: all`, when: rotary },
  rotaryKvHeads: { name: say`rotated kv heads, 0: all`, when: rotary },
  ropeLayers: { name: say`layers that rotate`, list: 'flags', when: rotary },
  finalNormKind: { name: say`final norm is`, when: (c) => c.finalNorm },
  qkNormKind: { name: say`q, k norm`, when: normed },
  qkNormSpan: { name: say`q, k norm spans`, when: normed },
  qkNormRotated: { name: say`q, k norm follows the rotation`, when: (c) => normed(c) && rotary(c) },
  pooler: { name: say`pooler`, when: encodes },
  mlmHead: { name: say`layer before the head`, when: (c) => !two(c) && hasFfn(c) },
  headActivation: { name: say`its activation`, when: (c) => c.mlmHead },
  biasHeadTransform: { name: say`its bias`, when: (c) => c.mlmHead },
  nLabels: { name: say`labels, 0: none` },
  labelPooling: { name: say`classifier reads`, when: labels },
  labelTransform: { name: say`layer before it`, when: labels },
  labelNorm: { name: say`norm before it`, when: (c) => labels(c) && c.labelTransform !== 'none' },
  biasNorm: { name: say`biases, norms`, when: (c) => [c.norm, c.finalNormKind].includes('layernorm') && c.normGain },
  biasQkNorm: { name: say`biases, q k norms`, when: (c) => c.qkNorm && c.qkNormKind === 'layernorm' },
  biasHead: { name: say`biases, head`, when: hasHead },
  normEps: { name: say`norm ε` },
  finalNormEps: { name: say`final ε, 0: same`, when: (c) => c.finalNorm },
  normGain: { name: say`gains, norms`, when: hasNorms },
  embedNorm: { name: say`norm of embedding`, when: hasNorms },
  dEmbed: { name: say`embedding, 0: d_model`, when: (c) => !two(c) },
  embeddingScale: { name: say`embedding ×` },
  residualScale: { name: say`outputs ×` },
  scoreScale: { name: say`scores ×, 0: 1/√d_head` },
  scoresByLayer: { name: say`scores ÷ layer`, when: only },
  alibiMax: { name: say`ALiBi, last exponent`, when: hasAlibi },
  alibiScaled: { name: say`ALiBi × as scores`, when: hasAlibi },
  logitScale: { name: say`logits ×`, when: hasHead },
  scoreSoftcap: { name: say`score soft cap (0 = off)` },
  logitSoftcap: { name: say`cap of logits, 0: none`, when: hasHead },
  clipQkv: { name: say`limit of q k v, 0: none` },
  positionOffset: { name: say`first position row`, when: (c) => c.position === 'learned' },
  positionPadId: { name: say`padding token, −1: none`, least: -1, when: encodes },
  nTokenTypes: { name: say`token types, 0: none`, when: encodes },
  sinusoidPairs: { name: say`sinusoids`, when: (c) => c.position === 'sinusoidal' },
  relativeBuckets: { name: say`distance biases, 0: none` },
  relativeMaxDistance: { name: say`distances up to`, when: (c) => c.relativeBuckets > 0 },
  ropeLocalTheta: { name: say`theta in windows, 0: same`, when: (c) => rotary(c) && c.slidingWindow > 0 },
  ropePairs: { name: say`rope pairs`, when: rotary },
  ropeScaling: { name: say`rope scaling`, when: rotary },
  ropeFactor: { name: say`RoPE scaling factor`, when: scaledBy('linear', 'llama3', 'yarn', 'dynamic') },
  ropeLowFreqFactor: { name: say`low frequency`, when: scaledBy('llama3') },
  ropeHighFreqFactor: { name: say`high frequency`, when: scaledBy('llama3') },
  ropeOriginalContext: { name: say`original context length`, when: scaledBy('llama3', 'yarn', 'dynamic', 'longrope') },
  ropeBetaFast: { name: say`fast turns`, when: scaledBy('yarn') },
  ropeBetaSlow: { name: say`slow turns`, when: scaledBy('yarn') },
  ropeTruncate: { name: say`whole pairs`, when: scaledBy('yarn') },
  ropeAttentionFactor: { name: say`cos and sin ×`, when: scaledBy('yarn', 'longrope') },
  ropeShortFactors: { name: say`divisors, short`, list: 'numbers', when: scaledBy('longrope') },
  ropeLongFactors: { name: say`divisors, long`, list: 'numbers', when: scaledBy('longrope') },
};
/** Values of fields that are words. @type {Record<string, Record<string, string>>} */
export const OPTIONS = {
  kind: { decoder: 'decoder', encoder_decoder: 'encoder-decoder', encoder: 'encoder' },
  norm: { ...NORM_NAMES, none: say`none` },
  normPlacement: {
    pre: say`before (pre)`,
    post: say`after the sum (post)`,
    sandwich: say`before and on outputs`,
    output: say`on outputs`,
  },
  ffn: { ...FFN_NAMES, none: say`none` },
  headActivation: { ...FFN_NAMES, none: say`as in the FFN` },
  position: {
    rope: say`rotary`,
    learned: say`learned`,
    sinusoidal: say`sinusoidal`,
    alibi: say`ALiBi`,
    none: say`none`,
  },
  qkNormKind: NORM_NAMES,
  finalNormKind: NORM_NAMES,
  qkNormSpan: { head: say`each head`, each_head: say`each head, own gains`, projection: say`all heads` },
  sinusoidPairs: {
    adjacent: say`sine and cosine in turn`,
    half: say`all sines first`,
    half_inclusive: say`all sines first, to the longest wavelength`,
  },
  ropePairs: { half: 'i, i + d/2', adjacent: say`neighbours` },
  ropeScaling: {
    none: say`none`,
    linear: say`linear`,
    llama3: say`Llama 3`,
    yarn: say`YaRN`,
    dynamic: say`dynamic`,
    longrope: say`LongRoPE`,
  },
  labelPooling: {
    none: say`each token`,
    last: say`the last token`,
    first: say`the first token`,
    mean: say`the mean of all`,
    pooler: say`pooler`,
  },
  labelTransform: {
    none: say`none`,
    tanh: 'tanh',
    relu: FFN_NAMES.relu,
    gelu_erf: FFN_NAMES.gelu_erf,
    gelu_tanh: FFN_NAMES.gelu_tanh,
    silu: FFN_NAMES.silu,
  },
};
/** A list that repeats over the layers, or one of numbers. */
export const LISTS = {
  every: say`every layer`,
  /** @param {boolean[]} flags */
  flags: (flags) => (flags.length ? flags.map(Number).join(' ') : LISTS.every),
  numbers: (list) =>
    (list.length > 3 ? `${list.slice(0, 3).join(' ')} … (${list.length})` : list.join(' ')) || say`none`,
};

export const COMPARE = {
  title: say`Compare and build`,
  about: say`the loaded model beside another: counted from its configuration, no weights needed`,
  begin: say`Begin with`,
  loaded: say`the loaded model, changed`,
  shipped: say`On this page`,
  presets: say`Known sizes`,
  more: say`More`,
  make: say`Make it with random weights`,
  custom: say`custom`,
  fetching: '…',
  same: say`Both have the same settings.`,
  differ: say`What differs`,
  /** @param {number} most parameters */
  tooLarge: (most) => say`Up to ${si(most)} parameters can be made here.`,
  cache: (tokens) => say`kv cache of ${tokensSaid(tokens)}, f16`,
};
/** What positions add to the embedding. */
const ADDED = { learned: say` + learned positions`, sinusoidal: say` + sinusoids` };

/** Boxes and lines of a model as a list of what a token passes. `c` is a configuration. */
export const FLOW = {
  embedding: (c) =>
    say`Embedding ${int(c.vocabSize)} × ${embedWidth(c)}${c.dEmbed ? ` → ${c.dModel}` : ''}${ADDED[c.position] ?? ''}`,
  attention: (c) =>
    [
      c.nHeads === 1 ? say`Attention, 1 head` : say`Attention, ${c.nHeads} heads`,
      c.nKvHeads === c.nHeads ? '' : say`${c.nKvHeads} kv`,
      rotatesAnywhere(c) ? say`${rotaryDim(c) < c.dHead || rotaryHeads(c) < c.nHeads ? say`partly ` : ''}rotary` : '',
      hasAlibi(c) ? say`ALiBi` : '',
      hasDistanceBias(c) ? say`relative position bias` : '',
      c.slidingWindow ? say`window ${int(c.slidingWindow)}${c.windowLayers?.length ? say` in some layers` : ''}` : '',
    ]
      .filter(Boolean)
      .join(', '),
  cross: say`Cross-attention in the decoder`,
  ffn: (c) =>
    `${FFN_NAMES[c.ffn]}${isGated(c) ? '' : say` FFN`}, ${c.nExperts ? say`${c.nExpertsUsed} of ${c.nExperts} experts, ${c.dExpert}` : c.dFf}`,
  head: (c) => (c.tieWordEmbeddings ? say`Head, shared with the embedding` : say`Head`),
  stream: say`+ stream`,
  beside: say`beside it, from the same stream`,
  both: say`+ both + stream`,
};
