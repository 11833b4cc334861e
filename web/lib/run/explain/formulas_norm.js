// formulas_norm.js - the formulas of norms
import { attentionRow, sumOfHeads } from './formulas_attention.js';
import { headActivation } from '../../engine/config/config.js';
import { feedForward, feedForwardRow, transformed } from './formulas_ffn.js';
import { biasTerms, embeddingTerms, residualTerms, term } from './terms.js';
import { weight } from '../inspect/weight.js';

/** @import { PassValues } from './pass_values.js' */
/** @import { Term } from './explain.js' */
/** @import { Derivation, Formula } from './terms.js' */

/**
 * What a sublayer computes, before the norm of its output and before residual_scale.
 * @param {PassValues} pass
 * @param {import('./pass_values.js').Sublayer} sublayer
 * @returns {Derivation}
 */
export const written = (pass, sublayer) => (sublayer === 'ffn' ? feedForward : sumOfHeads)(pass);

/**
 * The norm of the point.
 * @param {PassValues} pass
 * @returns {{ln: string, isOfOutput: boolean, isCentred: boolean, at: string | null, x: Float64Array}} ln: its name;
 *   isOfOutput: whether it is that of a sublayer's output; isCentred: whether it subtracts the mean; at: the point of
 *   its input; null where that is no point; x: the input, [d_model]
 */
function normOf(pass) {
  const { config: c } = pass;
  const ln = pass.point.split('.')[0];
  const isOfOutput =
    pass.normed.output && /^ln[12]/.test(ln) && (c.norm_placement === 'output' || ln.endsWith('_post'));
  const isCentred = (ln === 'ln_final' ? c.final_norm_kind : c.norm) === 'layernorm';
  if (ln === 'mlm_head') return { ln, isOfOutput, isCentred, at: null, x: transformed(pass) };
  if (!isOfOutput) return { ln, isOfOutput, isCentred, ...pass.normInput(ln) };
  const x = (pass.sublayerOf(ln) === 'ffn' ? feedForwardRow : attentionRow)(pass);
  return { ln, isOfOutput, isCentred, at: null, x };
}

/** @param {Float64Array} x */
const mean = (x) => x.reduce((a, b) => a + b, 0) / x.length;

/**
 * A row after a norm of the blocks' kind, before its gain.
 * @param {PassValues} pass
 * @param {Float64Array} x
 */
export function normalisedRow({ config: c }, x) {
  const centre = c.norm === 'layernorm' ? mean(x) : 0;
  const scale = Math.sqrt(mean(x.map((v) => (v - centre) ** 2)) + c.norm_eps);
  return x.map((v) => (v - centre) / scale);
}

/**
 * The denominator of a norm.
 * @type {Formula}
 */
export function normScale(pass) {
  const { config: c, position } = pass;
  const { ln, isCentred, at, x } = normOf(pass);
  const centre = isCentred ? mean(x) : 0;
  const terms = Array.from(x, (v, j) => ({
    name: `dimension ${j}, squared`,
    value: (v - centre) ** 2,
    input: v,
    ...(at && { from: { at, position, index: j } }),
  }));
  const epsilon = (ln === 'ln_final' && c.final_norm_eps) || c.norm_eps;
  return {
    how: 'root',
    formula: isCentred ? 'the root of the variance, plus epsilon' : 'the root of the mean of the squares, plus epsilon',
    divisor: x.length,
    terms: [...terms, { name: 'epsilon', value: epsilon * x.length }],
  };
}

/**
 * A value after a norm, before its gain.
 * @type {Formula}
 */
export function normalized(pass) {
  const { ln, isOfOutput, isCentred, at, x } = normOf(pass);
  const scale = pass.at.replace('normalized', 'scale');
  /** @returns {Term[]} */
  const summands = () => {
    const value = x[pass.index];
    if (at) return [term(pass, at, { value })];
    if (ln === 'embed') return embeddingTerms(pass);
    if (ln === 'mlm_head') return [{ name: `${headActivation(pass.config)} of dimension ${pass.index}`, value }];
    const of = pass.sublayerOf(ln);
    if (isOfOutput) return written(pass, of).terms;
    const [, , stream, out] = pass.norms[of];
    return residualTerms(pass, stream, [out]);
  };
  const terms = summands();
  if (isCentred) terms.push({ name: 'minus the mean', value: -mean(x) });
  return { how: 'sum', formula: `divided by ${scale}`, divisor: pass.row(scale)[0], terms };
}

/**
 * The output of a norm: normalised, times the gain, plus the bias.
 * @param {PassValues} pass
 * @param {string} norm  name of the norm in weights
 * @param {string} at    point of the normalised values
 * @param {string} of    what is normalised
 * @returns {Derivation}
 */
export function normOutput(pass, norm, at, of) {
  const { position, index } = pass;
  const name = `${norm}.weight`;
  const input = pass.row(at)[index];
  const gain = pass.config.norm_gain ? weight(pass.model, name)[index] : null;
  const normalised = {
    name: gain === null ? 'normalised' : 'normalised, times the gain',
    value: input * (gain ?? 1),
    input,
    from: { at, position, index },
    ...(gain !== null && { weight: { name, row: index, value: gain } }),
  };
  return { how: 'sum', formula: `the norm of ${of}`, terms: [normalised, ...biasTerms(pass, norm, index)] };
}
