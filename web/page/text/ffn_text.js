// ffn_text.js - names of the kinds of norms and feed-forward layers, and what activations do

import { int } from './format.js';
import { say } from '../state/base/language.js';

/** GELU by tanh, which differs from that by erf by less than a line is wide. @param {number} x */
const geluOf = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

export const NORM_NAMES = { rmsnorm: 'RMSNorm', layernorm: 'LayerNorm' };
/**
 * Activation functions by their names in the configuration. effect: what it does to a number, as a predicate; lens: its
 * name in TransformerLens.
 * @type {Record<string, { title: string, f: (x: number) => number, effect: string, lens: string }>}
 */
export const ACTIVATIONS = {
  relu: { title: 'ReLU', f: (x) => Math.max(0, x), effect: say`replaces numbers below zero by zero`, lens: 'relu' },
  relu2: {
    title: 'ReLU²',
    f: (x) => Math.max(0, x) ** 2,
    effect: say`replaces numbers below zero by zero and squares the others`,
    lens: 'relu2',
  },
  gelu_erf: { title: 'GELU-erf', f: geluOf, effect: say`pushes numbers below zero towards zero`, lens: 'gelu' },
  gelu_tanh: { title: 'GELU-tanh', f: geluOf, effect: say`pushes numbers below zero towards zero`, lens: 'gelu_new' },
  silu: {
    title: 'SiLU',
    f: (x) => x / (1 + Math.exp(-x)),
    effect: say`pushes numbers below zero towards zero`,
    lens: 'silu',
  },
  quick_gelu: {
    title: 'QuickGELU',
    f: (x) => x / (1 + Math.exp(-1.702 * x)),
    effect: say`pushes numbers below zero towards zero`,
    lens: 'quick_gelu',
  },
  mish: {
    title: 'Mish',
    f: (x) => x * Math.tanh(Math.log1p(Math.exp(x))),
    effect: say`pushes numbers below zero towards zero`,
    lens: 'mish',
  },
  tanh: { title: 'tanh', f: Math.tanh, effect: say`maps every number to one between −1 and 1`, lens: 'tanh' },
};

/** The feed-forward layers with a gate, and its activation. @type {Record<string, { title: string, of: string }>} */
const GATES = {
  swiglu: { title: 'SwiGLU', of: 'silu' },
  reglu: { title: 'ReGLU', of: 'relu' },
  geglu_erf: { title: 'GEGLU-erf', of: 'gelu_erf' },
  geglu_tanh: { title: 'GEGLU-tanh', of: 'gelu_tanh' },
};

/** @type {Record<string, string>} */
export const FFN_NAMES = Object.fromEntries(
  Object.entries({ ...ACTIVATIONS, ...GATES }).map(([name, { title }]) => [name, title]),
);

/** The activation function by itself. @param {string} ffn */
export const activationOf = (ffn) => GATES[ffn]?.of ?? ffn;

/** GELU of GELU-erf and GELU-tanh, whose curves look the same. @param {string} title */
export const shortTitle = (title) => title.split('-')[0];

/** How wide the inner layer of a block is, in a sentence. */
export const widened = (c, experts) =>
  experts
    ? say`${int(c.dExpert)} in each of the ${c.nExpertsUsed} experts that a router chooses out of ${c.nExperts}`
    : int(c.dFf);

/** The width in a whole model, whose layers may differ. */
export const widenedAnywhere = (c) =>
  c.nExperts > 0 && c.expertLayers?.includes(false)
    ? say`${int(c.dFf)} in some layers and ${widened(c, true)} in the others`
    : widened(c, c.nExperts > 0);
