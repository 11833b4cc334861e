// compare.js - names and sentences of “Compare and build”: fields of a configuration, and a model as the list of what a
// token passes

import { si } from './format.js';

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
  contextLength: 'context',
  slidingWindow: 'window, 0: all',
  norm: 'norm',
  normPlacement: 'norm is',
  ffn: 'FFN',
  position: 'positions',
  ropeTheta: 'rope theta',
  finalNorm: 'final norm',
  qkNorm: 'q, k norms',
  tieWordEmbeddings: 'head tied',
  sharedEmbedding: 'one embedding',
  biasQkv: 'biases, q k v',
  biasAttnOut: 'biases, o',
  biasFfn: 'biases, FFN',
  biasNorm: 'biases, norms',
  biasHead: 'biases, head',
  normEps: 'norm ε',
  embeddingScale: 'embedding ×',
  ropePairs: 'rope pairs',
  ropeScaling: 'rope scaling',
  ropeFactor: 'its factor',
  ropeLowFreqFactor: 'low frequency',
  ropeHighFreqFactor: 'high frequency',
  ropeOriginalContext: 'first context',
};
/** Values of fields that are words. @type {Record<string, Record<string, string>>} */
export const OPTIONS = {
  kind: { decoder: 'decoder', encoder_decoder: 'encoder-decoder', encoder: 'encoder' },
  norm: { rmsnorm: 'RMSNorm', layernorm: 'LayerNorm' },
  normPlacement: { pre: 'before (pre)', post: 'after (post)' },
  ffn: { swiglu: 'SwiGLU', gelu_tanh: 'GELU-tanh', gelu_erf: 'GELU-erf', relu: 'ReLU' },
  position: { rope: 'rotary', learned: 'learned', sinusoidal: 'sinusoidal', none: 'none' },
  ropePairs: { half: 'i, i + d/2', adjacent: 'neighbours' },
  ropeScaling: { none: 'none', linear: 'linear', llama3: 'Llama 3' },
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
/** @type {Record<string, string>} */
export const FFN_BOX = { swiglu: 'SwiGLU', relu: 'ReLU FFN', gelu_erf: 'GELU-erf FFN', gelu_tanh: 'GELU-tanh FFN' };
/** What positions add to the embedding. @type {Record<string, string>} */
export const ADDED = { learned: ' + learned positions', sinusoidal: ' + sinusoids', none: '', rope: '' };
