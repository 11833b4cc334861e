// formulas_attention.js - the formulas of attention: scores, pattern, mixed values and what the heads write
import { alibi, relativeBias } from './formulas_position.js';
import { BLOCK, asHalf, asInt8, patternUnits } from './rounding.js';
import { linear, product, shareOf, short, term } from './terms.js';
import { weight } from './weight.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./explain.js').Term} Term */
/** @typedef {import('./terms.js').Derivation} Derivation */

/**
 * A value of q, k or v, before the norms of q and k.
 * @param {PassValues} pass
 * @param {'q'|'k'|'v'} which
 * @param {number} position
 * @param {number} row  of the projection
 * @returns {Derivation}
 */
export function projection(pass, which, position, row) {
  const { block, part } = pass;
  const most = pass.cross ? 0 : pass.config.clip_qkv;
  const input = pass.cross && which !== 'q' ? pass.encoderOutput(position) : pass.inputOf(part, position);
  const found = product(pass, `${block}.${part}.${which}`, row, input, position, 'dimension');
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
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} head
 * @param {number} index
 * @returns {Derivation}
 */
export function score(pass, position, head, index) {
  const { config: c, point } = pass;
  if (pass.scoreRow(pass.at, head, position)[index] === -Infinity)
    return { how: 'masked', formula: 'this position does not see that key', terms: [] };
  const isLast = point.endsWith('scores');
  const distance = index - position;
  const biases = isLast && !pass.cross && c.use_position ? distanceBiases(pass, distance, head) : [];
  const ends = biases.length ? ' + the bias of their distance' : '';
  if (isLast && c.score_softcap) return cappedScore(pass, position, head, index, biases, ends);
  const group = pass.kvHead(head);
  const q = pass.scoreVector('q', position, head);
  const k = pass.scoreVector('k', index, group);
  const [divisor, scale] =
    point.endsWith('raw') || !c.scale_scores
      ? [1, '']
      : c.score_scale
        ? [1 / c.score_scale, ` × ${short(c.score_scale)}`]
        : [Math.sqrt(c.d_head), ' / √d_head'];
  // An int8 cache also rounds the query.
  const roundedQ = pass.cacheType === 'q8' ? asInt8(q.x).rounded : null;
  const roundedK = pass.cacheType === 'q8' ? asInt8(k.x).rounded : pass.cacheType === 'f16' ? asHalf(k.x) : null;
  /** @type {Term[]} */
  const products = Array.from(q.x, (v, i) => ({
    name: `q ${i} × k ${i}`,
    value: (roundedQ ?? q.x)[i] * (roundedK ?? k.x)[i],
    input: v,
    ...(roundedQ && { rounded: roundedQ[i] }),
    from: { at: q.at, position, head, index: i },
    times: {
      from: { at: k.at, position: index, head: group, index: i },
      input: k.x[i],
      ...(roundedK && { rounded: roundedK[i] }),
    },
  }));
  return {
    how: 'sum',
    formula: `q · k${scale}${ends}`,
    divisor,
    terms: [...products, ...biases.map((bias) => ({ ...bias, value: bias.value * divisor }))],
  };
}

/**
 * What positions add to a score.
 * @param {PassValues} pass
 * @param {number} distance  key position minus query position
 * @param {number} head
 * @returns {Term[]}
 */
const distanceBiases = (pass, distance, head) => [
  ...(pass.config.position === 'alibi' ? [alibi(pass, distance, head)] : []),
  ...(pass.config.relative_buckets ? [relativeBias(pass, distance, head)] : []),
];

/**
 * A score after its soft cap (Gemma 2).
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} head
 * @param {number} index
 * @param {Term[]} biases  what is added after the cap
 * @param {string} ends    the same in words
 * @returns {Derivation}
 */
function cappedScore(pass, position, head, index, biases, ends) {
  const cap = pass.config.score_softcap;
  const at = pass.inBlock(`${pass.part}.hook_attn_scores_scaled`);
  const input = pass.scoreRow(at, head, position)[index];
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
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} head
 * @param {number} index
 * @returns {Derivation}
 */
export function patternWeight(pass, position, head, index) {
  const at = pass.inBlock(`${pass.part}.hook_attn_scores`);
  const scores = pass.scoreRow(at, head, position);
  if (scores[index] === -Infinity) return { how: 'masked', formula: 'this position does not see that key', terms: [] };
  return shareOf(scores, 'score of key', { at, position, head });
}

/**
 * A value of z: the values of all keys, weighted by the pattern.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} head
 * @param {number} index
 * @returns {Derivation}
 */
export function mixture(pass, position, head, index) {
  const { part } = pass;
  const group = pass.kvHead(head);
  const at = pass.inBlock(`${part}.hook_pattern`);
  const v = pass.inBlock(`${part}.hook_v`);
  const pattern = pass.scoreRow(at, head, position);
  const { weights, values } = mixed(
    pass,
    pattern,
    Array.from(pattern, (_, k) => pass.row(v, k, group)),
  );
  return {
    how: 'sum',
    formula: 'the values, weighted by the pattern',
    terms: Array.from(pattern, (p, k) => {
      const value = values ? values[k][index] : pass.row(v, k, group)[index];
      return {
        name: `key ${k}`,
        value: (weights ?? pattern)[k] * value,
        input: p,
        ...(weights && { rounded: weights[k] }),
        from: { at, position, head, index: k },
        times: {
          from: { at: v, position: k, head: group, index },
          input: pass.row(v, k, group)[index],
          ...(values && { rounded: value }),
        },
      };
    }),
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
  return {
    weights: patternUnits(
      pattern,
      values.map(({ scales }) => scales[0]),
    ),
    values: values.map(({ rounded }) => rounded),
  };
}

/**
 * A head's contribution to the output of attention.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} head
 * @param {number} index
 * @returns {Derivation}
 */
export function headResult(pass, position, head, index) {
  const { config: c, model, block, part } = pass;
  const at = pass.inBlock(`${part}.hook_z`);
  const z = pass.row(at, position, head);
  const w = weight(model, `${block}.${part}.o.weight`, index);
  const from = head * c.d_head;
  const rounded = pass.isQuantised(`${block}.${part}.o.weight`) ? roundedResult(pass, z, from) : null;
  return {
    how: 'sum',
    formula: `row ${index} of ${block}.${part}.o.weight, this head's columns`,
    terms: Array.from(z, (v, i) => ({
      name: `z ${i}`,
      value: (rounded ? rounded[i] : v) * w[from + i],
      input: v,
      ...(rounded && { rounded: rounded[i] }),
      from: { at, position, head, index: i },
      weight: { name: `${block}.${part}.o.weight`, row: index, column: from + i, value: w[from + i] },
    })),
  };
}

/**
 * z of one head as the engine multiplies it for the head's own result: rounded in a row whose other heads are 0.
 * @param {PassValues} pass
 * @param {ArrayLike<number>} z
 * @param {number} from  first column of the head
 */
function roundedResult(pass, z, from) {
  const row = new Float32Array(pass.config.n_heads * pass.config.d_head);
  row.set(z, from);
  return asInt8(row, BLOCK).rounded.subarray(from, from + z.length);
}

/**
 * The contribution of each head to the output of attention. Where heads share a block of rounded activations, their
 * own results have other scales and do not add up to the output.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {number[]}
 */
function headContributions(pass, position, index) {
  const { config: c, block, part } = pass;
  const name = `${block}.${part}.o.weight`;
  const heads = Array.from({ length: c.n_heads }, (_, h) => h);
  if (!pass.isQuantised(name) || c.d_head % BLOCK === 0)
    return heads.map((h) => pass.row(pass.inBlock(`${part}.hook_result`), position, h)[index]);
  const w = weight(pass.model, name, index);
  const z = heads.map((h) => pass.row(pass.inBlock(`${part}.hook_z`), position, h));
  const { rounded } = asInt8(
    z.flatMap((row) => [...row]),
    BLOCK,
  );
  return heads.map((h) => {
    let sum = 0;
    for (let i = h * c.d_head; i < (h + 1) * c.d_head; i++) sum += rounded[i] * w[i];
    return sum;
  });
}

/**
 * All of what attention computes at a position.
 * @param {PassValues} pass
 * @param {number} position
 * @returns {Float64Array} [d_model]
 */
export const attentionRow = (pass, position) =>
  linear(pass, `${pass.block}.${pass.part}.o`, pass.wholeRow(pass.inBlock(`${pass.part}.hook_z`), position));

/**
 * What attention computes: the sum of its heads.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function sumOfHeads(pass, position, index) {
  const { config: c, block, part } = pass;
  const at = pass.inBlock(`${part}.hook_result`);
  const bias = pass.weights(`${block}.${part}.o.bias`, index + 1)[index];
  const terms = headContributions(pass, position, index).map((value, h) =>
    term(pass, position, index, at, value, `head ${h}`, { head: h }),
  );
  return {
    how: 'sum',
    formula: c.bias_attn_out ? 'the heads, plus the bias' : 'the heads',
    terms: c.bias_attn_out
      ? [...terms, { name: 'bias', value: bias, weight: { name: `${block}.${part}.o.bias`, row: index, value: bias } }]
      : terms,
  };
}
