// formulas_attention.js - the formulas of attention: scores, pattern, mixed values and what the heads write
import { alibi, relativeBias } from './formulas_position.js';
import { BLOCK, asHalf, asInt8, patternUnits } from './rounding.js';
import { biasTerms, factor, linear, product, roundedFor, shareOf, short, term } from './terms.js';
import { scoreScale } from '../../engine/config/config.js';
import { weight } from '../inspect/weight.js';

/** @import { PassValues } from './pass_values.js' */
/** @import { Term } from './explain.js' */
/** @import { Derivation, Formula } from './terms.js' */

/** @type {Derivation} */
const MASKED = { how: 'masked', formula: 'this position does not see that key', terms: [] };

/**
 * A value of q, k or v, before the norms of q and k.
 * @param {PassValues} pass
 * @param {'q'|'k'|'v'} which
 * @returns {Derivation}
 */
export function projection(pass, which) {
  const { config: c, block, part, cross } = pass;
  const most = cross || (c.qk_norm && which !== 'v') ? 0 : c.clip_qkv;
  const input = cross && which !== 'q' ? pass.encoderOutput() : pass.inputOf(part);
  const found = product(pass, `${block}.${part}.${which}`, pass.head * c.d_head + pass.index, input);
  if (!most) return found;
  const sum = found.terms.reduce((a, t) => a + t.value, 0);
  const limited = Math.min(most, Math.max(-most, sum));
  const name = `limited to ±${short(most)}`;
  return {
    ...found,
    formula: `${found.formula}, ${name}`,
    terms: limited === sum ? found.terms : [...found.terms, { name, value: limited - sum }],
  };
}

/**
 * A score of attention, before or after its scaling, soft cap and mask.
 * @type {Formula}
 */
export function score(pass) {
  const { config: c, point, index } = pass;
  if (pass.scoreRow(pass.at)[index] === -Infinity) return MASKED;
  const isLast = point.endsWith('scores');
  const biases = isLast && !pass.cross && c.use_position ? distanceBiases(pass) : [];
  const ends = biases.length ? ' + the bias of their distance' : '';
  if (isLast && c.score_softcap) return cappedScore(pass, biases, ends);
  const [divisor, scale] =
    point.endsWith('raw') || !c.scale_scores
      ? [1, '']
      : c.score_scale || c.scores_by_layer
        ? [1 / scoreScale(c, pass.layer), ` × ${short(scoreScale(c, pass.layer))}`]
        : [Math.sqrt(c.d_head), ' / √d_head'];
  return {
    how: 'sum',
    formula: `q · k${scale}${ends}`,
    divisor,
    terms: [...scoreProducts(pass), ...biases.map((bias) => ({ ...bias, value: bias.value * divisor }))],
  };
}

/**
 * The products of the dimensions of a query and a key.
 * @param {PassValues} pass
 * @returns {Term[]}
 */
function scoreProducts(pass) {
  const { position, head, index, kvHead, cacheType } = pass;
  const q = pass.scoreVector('q', position, head);
  const k = pass.scoreVector('k', index, kvHead);
  // An int8 cache also rounds the query.
  const roundedQ = cacheType === 'q8_0' ? asInt8(q.x).rounded : null;
  const roundedK = cacheType === 'q8_0' ? asInt8(k.x).rounded : cacheType === 'f16' ? asHalf(k.x) : null;
  return Array.from(q.x, (v, i) => ({
    name: `q ${i} × k ${i}`,
    value: (roundedQ ?? q.x)[i] * (roundedK ?? k.x)[i],
    ...factor(v, roundedQ?.[i]),
    from: { at: q.at, position, head, index: i },
    times: { ...factor(k.x[i], roundedK?.[i]), from: { at: k.at, position: index, head: kvHead, index: i } },
  }));
}

/**
 * What positions add to a score.
 * @param {PassValues} pass
 * @returns {Term[]}
 */
const distanceBiases = (pass) => [
  ...(pass.config.position === 'alibi' ? [alibi(pass)] : []),
  ...(pass.config.relative_buckets ? [relativeBias(pass)] : []),
];

/**
 * A score after its soft cap (Gemma 2).
 * @param {PassValues} pass
 * @param {Term[]} biases  what is added after the cap
 * @param {string} ends    the same in words
 * @returns {Derivation}
 */
function cappedScore(pass, biases, ends) {
  const { position, head, index } = pass;
  const cap = pass.config.score_softcap;
  const at = pass.inBlock(`${pass.part}.hook_attn_scores_scaled`);
  const input = pass.scoreRow(at)[index];
  const name = `${short(cap)} tanh(scaled score / ${short(cap)})`;
  const value = cap * Math.tanh(input / cap);
  return {
    how: 'sum',
    formula: `${name}${ends}`,
    terms: [{ name, value, input, from: { at, position, head, index } }, ...biases],
  };
}

/**
 * A weight of the attention pattern: softmax of a row of scores.
 * @type {Formula}
 */
export function patternWeight(pass) {
  const { position, head, index } = pass;
  const at = pass.inBlock(`${pass.part}.hook_attn_scores`);
  const scores = pass.scoreRow(at);
  return scores[index] === -Infinity ? MASKED : shareOf(scores, 'score of key', { at, position, head });
}

/**
 * A value of z: the values of all keys, weighted by the pattern.
 * @type {Formula}
 */
export function mixture(pass) {
  const { part, position, head, index, kvHead } = pass;
  const at = pass.inBlock(`${part}.hook_pattern`);
  const atV = pass.inBlock(`${part}.hook_v`);
  const pattern = pass.scoreRow(at);
  const vectors = Array.from(pattern, (_, k) => pass.row(atV, k, kvHead));
  const { weights, values } = mixed(pass, pattern, vectors);
  return {
    how: 'sum',
    formula: 'the values, weighted by the pattern',
    terms: Array.from(pattern, (p, k) => ({
      name: `key ${k}`,
      value: (weights ?? pattern)[k] * (values ?? vectors)[k][index],
      ...factor(p, weights?.[k]),
      from: { at, position, head, index: k },
      times: { ...factor(vectors[k][index], values?.[k][index]), from: { at: atV, position: k, head: kvHead, index } },
    })),
  };
}

/**
 * Weights and values as the engine multiplies them in a mixture; null where it takes them as they are.
 * @param {PassValues} pass
 * @param {ArrayLike<number>} pattern     [key]
 * @param {ArrayLike<number>[]} vectors  of values, [key][d_head]
 * @returns {{weights: Float64Array | null, values: Float64Array[] | null}}
 */
function mixed(pass, pattern, vectors) {
  if (pass.cacheType === 'f32') return { weights: null, values: null };
  if (pass.cacheType === 'f16') return { weights: null, values: vectors.map(asHalf) };
  const values = vectors.map((vector) => asInt8(vector));
  const scales = values.map((value) => value.scales[0]);
  return { weights: patternUnits(pattern, scales), values: values.map(({ rounded }) => rounded) };
}

/**
 * A head's contribution to the output of attention.
 * @type {Formula}
 */
export function headResult(pass) {
  const { config: c, block, part, position, head, index } = pass;
  const name = `${block}.${part}.o.weight`;
  const at = pass.inBlock(`${part}.hook_z`);
  const z = pass.row(at, position, head);
  const w = weight(pass.model, name, index);
  const from = head * c.d_head;
  // The engine multiplies a row whose other heads are 0.
  const row = new Float32Array(c.n_heads * c.d_head);
  row.set(z, from);
  const rounded = roundedFor(pass, name, row)?.subarray(from);
  return {
    how: 'sum',
    formula: `row ${index} of ${name}, this head's columns`,
    terms: Array.from(z, (v, i) => ({
      name: `z ${i}`,
      value: (rounded?.[i] ?? v) * w[from + i],
      ...factor(v, rounded?.[i]),
      from: { at, position, head, index: i },
      weight: { name, row: index, column: from + i, value: w[from + i] },
    })),
  };
}

/**
 * The contribution of each head to the output of attention. Where heads share a block of rounded activations, their
 * own results have other scales and do not add up to the output.
 * @param {PassValues} pass
 * @returns {number[]}
 */
function headContributions(pass) {
  const { config: c, block, part, position, index } = pass;
  const name = `${block}.${part}.o.weight`;
  const heads = Array.from({ length: c.n_heads }, (_, h) => h);
  const rounded = roundedFor(pass, name, pass.wholeRow(pass.inBlock(`${part}.hook_z`)));
  if (!rounded || c.d_head % BLOCK === 0)
    return heads.map((h) => pass.row(pass.inBlock(`${part}.hook_result`), position, h)[index]);
  const w = weight(pass.model, name, index);
  return heads.map((h) => {
    let sum = 0;
    for (let i = h * c.d_head; i < (h + 1) * c.d_head; i++) sum += rounded[i] * w[i];
    return sum;
  });
}

/**
 * All of what attention computes at a position.
 * @param {PassValues} pass
 * @returns {Float64Array} [d_model]
 */
export const attentionRow = (pass) =>
  linear(pass, `${pass.block}.${pass.part}.o`, pass.wholeRow(pass.inBlock(`${pass.part}.hook_z`)));

/**
 * What attention computes: the sum of its heads.
 * @type {Formula}
 */
export function sumOfHeads(pass) {
  const at = pass.inBlock(`${pass.part}.hook_result`);
  const heads = headContributions(pass).map((value, head) => term(pass, at, { name: `head ${head}`, value, head }));
  const bias = biasTerms(pass, `${pass.block}.${pass.part}.o`, pass.index);
  return { how: 'sum', formula: bias.length ? 'the heads, plus the bias' : 'the heads', terms: [...heads, ...bias] };
}
