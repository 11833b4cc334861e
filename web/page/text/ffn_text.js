// ffn_text.js - names of the kinds of norms and feed-forward layers, and what activations do

import { int } from './format.js';
import { say } from '../state/base/language.js';

export const NORM_NAMES = { rmsnorm: 'RMSNorm', layernorm: 'LayerNorm' };
/** By the name in the configuration. */
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

/** The activation function by itself. */
export const ACTIVATION = {
  swiglu: 'silu',
  reglu: 'relu',
  geglu_erf: 'gelu_erf',
  geglu_tanh: 'gelu_tanh',
};
export const activationOf = (ffn) => ACTIVATION[ffn] ?? ffn;

/** What an activation does to a number, as a predicate. */
export const EFFECT = {
  relu: say`replaces numbers below zero by zero`,
  gelu_erf: say`pushes numbers below zero towards zero`,
  gelu_tanh: say`pushes numbers below zero towards zero`,
  silu: say`pushes numbers below zero towards zero`,
};

/** How wide the inner layer of a block is, in a sentence. */
export const widened = (c, experts) =>
  experts
    ? say`${int(c.dExpert)} in each of the ${c.nExpertsUsed} experts that a router chooses out of ${c.nExperts}`
    : int(c.dFf);

/** The same of a whole model, whose layers may differ. */
export const widenedAnywhere = (c) =>
  c.nExperts > 0 && c.expertLayers?.includes(false)
    ? say`${int(c.dFf)} in some layers and ${widened(c, true)} in the others`
    : widened(c, c.nExperts > 0);
