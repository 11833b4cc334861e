// formulas_norm.js - the formulas of norms
import { attentionRow, sumOfHeads } from './formulas_attention.js';
import { activationOf, feedForward, feedForwardRow, transformed } from './formulas_ffn.js';
import { embeddingTerms, residualTerms, term } from './terms.js';
import { weight } from './weight.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./explain.js').Term} Term */
/** @typedef {import('./terms.js').Derivation} Derivation */

/**
 * What a sublayer computes, before the norm of its output and before residual_scale.
 * @param {PassValues} pass
 * @param {'attn'|'cross_attn'|'ffn'} sublayer
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export const written = (pass, sublayer, position, index) =>
  (sublayer === 'ffn' ? feedForward : sumOfHeads)(pass, position, index);

/**
 * Whether a norm is that of a sublayer's output.
 * @param {PassValues} pass
 * @param {string} ln  name of the norm
 */
const isOfOutput = ({ normed, config: c }, ln) =>
  normed.output && /^ln[12]/.test(ln) && (c.norm_placement === 'output' || ln.endsWith('_post'));

/**
 * The input of a norm.
 * @param {PassValues} pass
 * @param {string} ln  name of the norm
 * @param {number} position
 * @returns {{at: string | null, x: Float64Array}} at: null where it is no point; x: [d_model]
 */
function inputOf(pass, ln, position) {
  if (ln === 'mlm_head') return { at: null, x: transformed(pass, position) };
  if (!isOfOutput(pass, ln)) return pass.normInput(ln, position);
  return { at: null, x: (pass.sublayerOf(ln) === 'ffn' ? feedForwardRow : attentionRow)(pass, position) };
}

/**
 * Whether a norm subtracts the mean.
 * @param {PassValues} pass
 * @param {string} ln  name of the norm
 */
const isCentred = ({ config: c }, ln) => (ln === 'ln_final' ? c.final_norm_kind : c.norm) === 'layernorm';

/**
 * The denominator of a norm.
 * @param {PassValues} pass
 * @param {number} position
 * @returns {Derivation}
 */
export function normScale(pass, position) {
  const { config: c, point } = pass;
  const ln = point.split('.')[0];
  const { at, x } = inputOf(pass, ln, position);
  const centred = isCentred(pass, ln);
  const mean = centred ? x.reduce((a, b) => a + b, 0) / x.length : 0;
  const terms = Array.from(x, (v, j) => ({
    name: `dimension ${j}, squared`,
    value: (v - mean) ** 2,
    input: v,
    ...(at && { from: { at, position, index: j } }),
  }));
  const epsilon = (ln === 'ln_final' && c.final_norm_eps) || c.norm_eps;
  return {
    how: 'root',
    formula: centred ? 'the root of the variance, plus epsilon' : 'the root of the mean of the squares, plus epsilon',
    divisor: x.length,
    terms: [...terms, { name: 'epsilon', value: epsilon * x.length }],
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
  const ln = pass.point.split('.')[0];
  const { at, x } = inputOf(pass, ln, position);
  const scale = pass.at.replace('normalized', 'scale');
  /** @returns {Term[]} */
  const summands = () => {
    if (at) return [term(pass, position, index, at, x[index])];
    if (ln === 'embed') return embeddingTerms(pass, position, index);
    if (ln === 'mlm_head') return [{ name: `${activationOf(pass.config)} of dimension ${index}`, value: x[index] }];
    const of = pass.sublayerOf(ln);
    if (isOfOutput(pass, ln)) return written(pass, of, position, index).terms;
    const [, , stream, out] = pass.norms[of];
    return residualTerms(pass, [stream], [out], position, index);
  };
  const terms = summands();
  if (isCentred(pass, ln)) terms.push({ name: 'minus the mean', value: -x.reduce((a, b) => a + b, 0) / x.length });
  return { how: 'sum', formula: `divided by ${scale}`, divisor: pass.row(scale, position)[0], terms };
}

/**
 * The output of a norm: normalised, times the gain, plus the bias.
 * @param {PassValues} pass
 * @param {string} norm  name of the norm in weights
 * @param {string} at    point of the normalised values
 * @param {number} position
 * @param {number} index
 * @param {string} of    what is normalised
 * @returns {Derivation}
 */
export function normOutput(pass, norm, at, position, index, of) {
  const { config: c } = pass;
  const x = pass.row(at, position)[index];
  const gain = c.norm_gain ? weight(pass.model, `${norm}.weight`)[index] : null;
  /** @type {Term[]} */
  const terms = [
    {
      name: gain === null ? 'normalised' : 'normalised, times the gain',
      value: x * (gain ?? 1),
      input: x,
      from: { at, position, index },
      ...(gain !== null && { weight: { name: `${norm}.weight`, row: index, value: gain } }),
    },
  ];
  const bias = pass.weights(`${norm}.bias`, index + 1)[index];
  if (c.norm === 'layernorm' && c.bias_norm)
    terms.push({ name: 'bias', value: bias, weight: { name: `${norm}.bias`, row: index, value: bias } });
  return { how: 'sum', formula: `the norm of ${of}`, terms };
}
