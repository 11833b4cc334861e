// formulas_ffn.js - the formulas of the feed-forward layer
import { term } from './terms.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./terms.js').Derivation} Derivation */

/** Activation functions by their name in the configuration. */
export const ACTIVATIONS = {
  relu: (/** @type {number} */ x) => Math.max(0, x),
  gelu_erf: (/** @type {number} */ x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (/** @type {number} */ x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (/** @type {number} */ x) => x / (1 + Math.exp(-x)),
};
/**
 * The activation of the gate in feed-forward layers that have one.
 * @type {Record<string, keyof typeof ACTIVATIONS>}
 */
export const GATES = { swiglu: 'silu', reglu: 'relu', geglu_erf: 'gelu_erf', geglu_tanh: 'gelu_tanh' };

/**
 * The error function: Abramowitz & Stegun 7.1.26, absolute error below 1.5e-7.
 * @param {number} x
 */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - p * Math.exp(-x * x));
}

/**
 * A neuron after the activation function.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function activation(pass, position, index) {
  const { config: c } = pass;
  const pre = term(
    pass,
    position,
    index,
    pass.inBlock('mlp.hook_pre'),
    pass.row(pass.inBlock('mlp.hook_pre'), position)[index],
  );
  const gate = GATES[c.ffn];
  if (!gate) return { how: 'activation', formula: c.ffn, terms: [pre] };
  const up = term(
    pass,
    position,
    index,
    pass.inBlock('mlp.hook_pre_linear'),
    pass.row(pass.inBlock('mlp.hook_pre_linear'), position)[index],
  );
  return {
    how: 'product',
    formula: `${gate}(gate) × up`,
    terms: [{ ...pre, name: `${gate}(gate)`, input: pre.value, value: ACTIVATIONS[gate](pre.value) }, up],
  };
}
