// formulas_stream.js - the formulas of the residual stream, from the embedding to the logits
import { transformed } from './formulas_ffn.js';
import { normOutput, written } from './formulas_norm.js';
import { BLOCK, asInt8 } from './rounding.js';
import { embeddingTerms, linear, product, residualTerms, short, term, times } from './terms.js';
import { weight } from './weight.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./explain.js').Term} Term */
/** @typedef {import('./terms.js').Derivation} Derivation */

/** What the stream begins with, by the number of terms. */
const SUMS = ['the embedding', 'embedding plus position', 'embedding, position and token type'];

/**
 * A value of the token embedding.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function tokenEmbedding(pass, position, index) {
  const { config: c, model } = pass;
  const name = pass.stackPrefix === 'encoder.' && !c.shared_embedding ? 'encoder.embed.weight' : 'embed.weight';
  const row = pass.ids[position];
  if (c.d_embed) {
    const x = Float32Array.from(weight(model, name, row), (v) => v * c.embedding_scale);
    return product(pass, 'embed_project', index, { at: null, x }, position, "dimension of the token's row");
  }
  const value = weight(model, name, row)[index];
  const factor = c.embedding_scale === 1 ? '' : ` × ${short(c.embedding_scale)}`;
  return {
    how: 'given',
    formula: `the token's row of ${name}${factor}`,
    terms: [{ name: `token ${row}`, value: value * c.embedding_scale, weight: { name, row, column: index, value } }],
  };
}

/**
 * A value that the type of a token adds.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function tokenType(pass, position, index) {
  const row = pass.types?.[position] ?? 0;
  const value = weight(pass.model, 'token_type.weight', row)[index];
  return {
    how: 'given',
    formula: `row ${row} of token_type.weight`,
    terms: [{ name: `type ${row}`, value, weight: { name: 'token_type.weight', row, column: index, value } }],
  };
}

/**
 * The residual stream before a block.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function blockInput(pass, position, index) {
  const { block } = pass;
  if (pass.layer > 0) {
    const before = `${block.replace(/\d+$/, '')}${pass.layer - 1}.hook_resid_post`;
    return {
      how: 'sum',
      formula: 'the stream after the previous block',
      terms: [term(pass, position, index, before, pass.row(before, position)[index])],
    };
  }
  const normal = `${pass.stackPrefix}embed.ln.hook_normalized`;
  if (pass.captured[normal])
    return normOutput(
      pass,
      `${pass.stackPrefix === 'encoder.' ? 'encoder.' : ''}embed_norm`,
      normal,
      position,
      index,
      'the embedding',
    );
  const terms = embeddingTerms(pass, position, index);
  return { how: 'sum', formula: SUMS[terms.length - 1], terms };
}

/**
 * What a sublayer adds to the stream: with a norm of outputs after this norm, and times residual_scale.
 * @param {PassValues} pass
 * @param {'attn'|'cross_attn'|'ffn'} sublayer
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function added(pass, sublayer, position, index) {
  const [ln, norm] = pass.outputNorm(sublayer);
  const found = pass.normed.output
    ? normOutput(
        pass,
        `${pass.block}.${norm}`,
        pass.inBlock(`${ln}.hook_normalized`),
        position,
        index,
        'what the sublayer computed',
      )
    : written(pass, sublayer, position, index);
  return times(found, pass.config.residual_scale);
}

/**
 * The residual stream after a sublayer, or after both where they are parallel; with post-norm, the output of its norm.
 * @param {PassValues} pass
 * @param {'attn'|'cross_attn'|'ffn'} sublayer
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function residual(pass, sublayer, position, index) {
  const { parallel_residual: parallel, use_residual: connected } = pass.config;
  const [ln, norm, stream, out] = pass.norms[sublayer];
  if (pass.normed.sum) {
    const of = "the stream and the sublayer's output together";
    return normOutput(pass, `${pass.block}.${norm}`, pass.inBlock(`${ln}.hook_normalized`), position, index, of);
  }
  const what = parallel ? 'what both sublayers wrote' : 'what the sublayer wrote';
  return {
    how: 'sum',
    formula: connected ? `the stream before it, plus ${what}` : what,
    terms: residualTerms(pass, [stream], parallel ? ['hook_attn_out', out] : [out], position, index),
  };
}

/**
 * A logit: what the head reads times a row of the head, with the scale and the soft cap.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function logit(pass, position, index) {
  const { config: c } = pass;
  const input = headInput(pass, position);
  const sum = c.d_embed
    ? projectedLogit(pass, position, index, input)
    : product(pass, 'head', index, input, position, 'dimension');
  const cap = c.logit_softcap;
  const found = times(sum, c.logit_scale);
  return cap
    ? { ...found, how: 'tanh', cap, formula: `${short(cap)} tanh((${found.formula}) / ${short(cap)})` }
    : found;
}

/**
 * The input of the head: what `hidden` says, or in a masked language model the norm of another layer after it.
 * @param {PassValues} pass
 * @param {number} position
 * @returns {{at: string | null, x: ArrayLike<number>}}
 */
function headInput(pass, position) {
  if (!pass.config.mlm_head) return pass.hidden(position);
  if (!pass.config.use_norm) return { at: null, x: Float32Array.from(transformed(pass, position)) };
  const at = 'mlm_head.ln.hook_normalized';
  return { at, x: pass.withGain('head_norm', pass.row(at, position)) };
}

/**
 * A logit of a model whose head is narrower than the stream: the terms are dimensions of the stream, times the head's
 * row times the projection. Where the projected values are rounded, their change is a term of its own.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} row  of the head
 * @param {{at: string | null, x: ArrayLike<number>}} input
 * @returns {Derivation}
 */
function projectedLogit(pass, position, row, { at, x }) {
  const { model, config: c } = pass;
  const head = weight(model, 'head.weight', row);
  const rounded = pass.isQuantised('head_project.weight') ? asInt8(x, BLOCK).rounded : null;
  const factors = new Float64Array(c.d_model);
  head.forEach((h, e) => weight(model, 'head_project.weight', e).forEach((v, j) => (factors[j] += h * v)));
  /** @type {Term[]} */
  const terms = Array.from(x, (v, j) => ({
    name: `dimension ${j}`,
    value: (rounded ? rounded[j] : v) * factors[j],
    input: v,
    ...(rounded && { rounded: rounded[j] }),
    ...(at && { from: { at, position, index: j } }),
  }));
  if (pass.isQuantised('head.weight')) {
    const narrow = Float32Array.from(linear(pass, 'head_project', x));
    const change = asInt8(narrow, BLOCK).rounded.reduce((sum, v, e) => sum + (v - narrow[e]) * head[e], 0);
    terms.push({ name: 'rounding of the projected values', value: change });
  }
  const bias = c.bias_head ? weight(model, 'head.bias')[row] : null;
  if (bias !== null) terms.push({ name: 'bias', value: bias, weight: { name: 'head.bias', row, value: bias } });
  return { how: 'sum', formula: `row ${row} of head.weight times head_project.weight times its input`, terms };
}

/**
 * The pooled state of an encoder: a layer with tanh, of the first position.
 * @param {PassValues} pass
 * @param {number} index
 * @returns {Derivation}
 */
export function pooled(pass, index) {
  const found = product(pass, 'pooler', index, pass.hidden(0), 0, 'dimension');
  return { ...found, how: 'tanh', cap: 1, formula: `tanh(${found.formula})` };
}
