// formulas_norm.js - the formulas of norms
import { weight } from './weight.js';
import { embeddingTerms, residualTerms, term } from './terms.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./explain.js').Term} Term */
/** @typedef {import('./terms.js').Derivation} Derivation */

/**
 * The denominator of a norm.
 * @param {PassValues} pass
 * @param {number} position
 * @returns {Derivation}
 */
export function normScale(pass, position) {
  const { config: c, point } = pass;
  const ln = point.split('.')[0];
  const { at, x } = pass.normInput(ln, position);
  const isFinal = ln.startsWith('ln_final');
  const isLayerNorm = (isFinal ? c.final_norm_kind : c.norm) === 'layernorm';
  const mean = isLayerNorm ? x.reduce((a, b) => a + b, 0) / x.length : 0;
  const terms = Array.from(x, (v, j) => ({
    name: `dimension ${j}, squared`,
    value: (v - mean) ** 2,
    input: v,
    ...(at && { from: { at, position, index: j } }),
  }));
  return {
    how: 'root',
    formula: isLayerNorm
      ? 'the root of the variance, plus epsilon'
      : 'the root of the mean of the squares, plus epsilon',
    divisor: x.length,
    terms: [...terms, { name: 'epsilon', value: ((isFinal && c.final_norm_eps) || c.norm_eps) * x.length }],
  };
}

/**
 * A value after a norm, before its gain.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function normalized(pass, position, index) {
  const { config: c, point } = pass;
  const ln = point.split('.')[0];
  const { at, x } = pass.normInput(ln, position);
  const scale = pass.at.replace('normalized', 'scale');
  /** @returns {Term[]} */
  const summands = () => {
    if (ln === 'embed') return embeddingTerms(pass, position, index);
    const [stream, out] = pass.streamAndOutput(ln);
    return residualTerms(pass, stream, out, position, index);
  };
  const terms = at ? [term(pass, position, index, at, x[index])] : summands();
  if ((ln.startsWith('ln_final') ? c.final_norm_kind : c.norm) === 'layernorm')
    terms.push({ name: 'minus the mean', value: -x.reduce((a, b) => a + b, 0) / x.length });
  return { how: 'sum', formula: `divided by ${scale}`, divisor: pass.row(scale, position)[0], terms };
}

/**
 * The output of a norm: normalised, times the gain, plus the bias.
 * @param {PassValues} pass
 * @param {string} norm  name of the norm in weights
 * @param {string} at    point of the normalised values
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function normOutput(pass, norm, at, position, index) {
  const x = pass.row(at, position)[index];
  const gain = weight(pass.model, `${norm}.weight`)[index];
  /** @type {Term[]} */
  const terms = [
    {
      name: 'normalised, times the gain',
      value: x * gain,
      input: x,
      from: { at, position, index },
      weight: { name: `${norm}.weight`, row: index, value: gain },
    },
  ];
  const bias = pass.weights(`${norm}.bias`, index + 1)[index];
  if (pass.config.norm === 'layernorm' && pass.config.bias_norm)
    terms.push({ name: 'bias', value: bias, weight: { name: `${norm}.bias`, row: index, value: bias } });
  return { how: 'sum', formula: "the norm of the stream and the sublayer's output together", terms };
}
