// ffn.js - names of the kinds of feed-forward layers, and what their activations do

/** By the name in the configuration. @type {Record<string, string>} */
export const FFN_NAMES = {
  relu: 'ReLU',
  gelu_erf: 'GELU-erf',
  gelu_tanh: 'GELU-tanh',
  silu: 'SiLU',
  swiglu: 'SwiGLU',
  reglu: 'ReGLU',
  geglu_erf: 'GEGLU-erf',
  geglu_tanh: 'GEGLU-tanh',
};

/** The activation function by itself. @type {Record<string, string>} */
export const ACTIVATION = {
  swiglu: 'silu',
  reglu: 'relu',
  geglu_erf: 'gelu_erf',
  geglu_tanh: 'gelu_tanh',
};
/** @param {string} ffn */
export const activationOf = (ffn) => ACTIVATION[ffn] ?? ffn;

/** What an activation does to a number, as a predicate. @type {Record<string, string>} */
export const EFFECT = {
  relu: 'replaces numbers below zero by zero',
  gelu_erf: 'pushes numbers below zero towards zero',
  gelu_tanh: 'pushes numbers below zero towards zero',
  silu: 'pushes numbers below zero towards zero',
};
