// ffn.js - names of the kinds of feed-forward layers, and what their activations do

import { int } from './format.js';

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
  relu: 'replaces numbers below zero by zero',
  gelu_erf: 'pushes numbers below zero towards zero',
  gelu_tanh: 'pushes numbers below zero towards zero',
  silu: 'pushes numbers below zero towards zero',
};

/** How wide the inner layer of a block is, in a sentence. */
export const widened = (c, experts) =>
  experts
    ? `${int(c.dExpert)} in each of the ${c.nExpertsUsed} experts that a router chooses out of ${c.nExperts}`
    : int(c.dFf);

/** The same of a whole model, whose layers may differ. */
export const widenedAnywhere = (c) =>
  c.nExperts > 0 && c.expertLayers?.includes(false)
    ? `${int(c.dFf)} in some layers and ${widened(c, true)} in the others`
    : widened(c, c.nExperts > 0);

/** The stage of the FFN in a block with experts. */
export const expertsStage = (c) => ({
  title: `Experts, ${c.nExpertsUsed} of ${c.nExperts}`,
  formula: 'p = softmax(W_router x), y = Σ w_e FFN_e(x) over the experts e with the largest p',
  words: `A router gives each of ${c.nExperts} small FFNs (experts) a probability for each token. The ${c.nExpertsUsed} most probable work on it: ${c.dModel} numbers become ${c.dExpert} in each, and ${c.dModel} again. Their results are added, weighted by these probabilities${c.normExpertWeights ? ' divided by their sum' : ''}.${c.dSharedExpert ? ` One more, ${c.dSharedExpert} wide, works on every token; a gate weights its result.` : ''}`,
});
