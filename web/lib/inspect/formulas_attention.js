// formulas_attention.js - the formulas of attention: scores, pattern, mixed values and what the heads write
import { relativeBias } from './formulas_position.js';
import { BLOCK, asHalf, asInt8, patternUnits } from './rounding.js';
import { term } from './terms.js';
import { weight } from './weight.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./explain.js').Term} Term */
/** @typedef {import('./terms.js').Derivation} Derivation */

/**
 * A score of attention, before or after its scaling and mask.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} head
 * @param {number} index
 * @returns {Derivation}
 */
export function score(pass, position, head, index) {
  const { config: c, point } = pass;
  const group = pass.kvHead(head);
  if (pass.scoreRow(pass.at, head, position)[index] === -Infinity)
    return { how: 'masked', formula: 'this position does not see that key', terms: [] };
  const q = pass.scoreVector('q', position, head);
  const k = pass.scoreVector('k', index, group);
  const divisor = point.endsWith('raw') || !c.scale_scores ? 1 : Math.sqrt(c.d_head);
  // An int8 cache also rounds the query.
  const roundedQ = pass.cacheType === 'q8' ? asInt8(q.x).rounded : null;
  const roundedK = pass.cacheType === 'q8' ? asInt8(k.x).rounded : pass.cacheType === 'f16' ? asHalf(k.x) : null;
  const bias =
    point === 'attn.hook_attn_scores' && c.relative_buckets && c.use_position
      ? [relativeBias(pass, index - position, head)]
      : [];
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
    formula: `q · k${divisor === 1 ? '' : ' / √d_head'}${bias.length ? ' + the bias of their distance' : ''}`,
    divisor,
    terms: [...products, ...bias.map((term) => ({ ...term, value: term.value * divisor }))],
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
  const { part } = pass;
  const at = pass.inBlock(`${part}.hook_attn_scores`);
  const scores = pass.scoreRow(at, head, position);
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  if (scores[index] === -Infinity) return { how: 'masked', formula: 'this position does not see that key', terms: [] };
  const terms = Array.from(scores, (s, k) => ({
    name: `e^(score of key ${k} − the largest)`,
    value: Math.exp(s - most),
    input: s,
    from: { at, position, head, index: k },
  }));
  return {
    how: 'share',
    formula: 'its share of the row',
    divisor: terms.reduce((a, t) => a + t.value, 0),
    terms,
  };
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
export function mixed(pass, pattern, vectors) {
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
export function roundedResult(pass, z, from) {
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
export function headContributions(pass, position, index) {
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
 * The output of attention: the sum of its heads.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function attentionOutput(pass, position, index) {
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
