// formulas_stream.js - the formulas of the residual stream, from the embedding to the logits
import { transformed } from './formulas_ffn.js';
import { normOutput, normalisedRow, written } from './formulas_norm.js';
import {
  biasTerms,
  embeddingTerms,
  factor,
  linear,
  product,
  residualTerms,
  roundedFor,
  short,
  tableValue,
  term,
  times,
} from './terms.js';
import { isLabelPooled, isNarrow } from '../../engine/config/config.js';
import { fail } from '../../base/errors.js';
import { weight } from '../inspect/weight.js';

/** @import { PassValues, Sublayer } from './pass_values.js' */
/** @import { Derivation, Formula, Input } from './terms.js' */

/** What the stream begins with, by the number of terms. */
const SUMS = ['the embedding', 'embedding plus position', 'embedding, position and token type'];

/**
 * A value of the token embedding.
 * @type {Formula}
 */
export function tokenEmbedding(pass) {
  const { shared_embedding: shared, embedding_scale: scale } = pass.config;
  const name = `${shared ? '' : pass.weightPrefix}embed.weight`;
  const row = pass.ids[pass.position];
  if (pass.config.d_embed && !isNarrow(pass.config)) {
    const x = Float32Array.from(weight(pass.model, name, row), (v) => v * scale);
    return product(pass, 'embed_project', pass.index, { at: null, x }, "dimension of the token's row");
  }
  const found = tableValue(pass, name, row, `token ${row}`, scale);
  return { ...found, formula: `the token's row of ${name}${scale === 1 ? '' : ` × ${short(scale)}`}` };
}

/**
 * A value that the type of a token adds.
 * @type {Formula}
 */
export function tokenType(pass) {
  const row = pass.types?.[pass.position] ?? 0;
  return tableValue(pass, 'token_type.weight', row, `type ${row}`);
}

/**
 * The residual stream before a block.
 * @type {Formula}
 */
export function blockInput(pass) {
  if (pass.layer > 0) {
    const before = `${pass.block.replace(/\d+$/, '')}${pass.layer - 1}.hook_resid_post`;
    return { how: 'sum', formula: 'the stream after the previous block', terms: [term(pass, before)] };
  }
  const normal = `${pass.stackPrefix}embed.ln.hook_normalized`;
  if (isNarrow(pass.config)) {
    const at = pass.captured[normal] ? normal : null;
    const x = at ? pass.withGain('embed_norm', pass.row(at)) : pass.normInput('embed').x;
    return product(pass, 'embed_project', pass.index, { at, x });
  }
  if (pass.captured[normal]) return normOutput(pass, `${pass.weightPrefix}embed_norm`, normal, 'the embedding');
  const terms = embeddingTerms(pass);
  return { how: 'sum', formula: SUMS[terms.length - 1], terms };
}

/**
 * What a sublayer adds to the stream: with a norm of outputs after this norm, and times residual_scale.
 * @param {PassValues} pass
 * @param {Sublayer} sublayer
 * @returns {Derivation}
 */
export function added(pass, sublayer) {
  const [ln, norm] = pass.outputNorm(sublayer);
  const at = pass.inBlock(`${ln}.hook_normalized`);
  const found = pass.normed.output
    ? normOutput(pass, `${pass.block}.${norm}`, at, 'what the sublayer computed')
    : written(pass, sublayer);
  return times(found, pass.config.residual_scale);
}

/**
 * The residual stream after a sublayer, or after both where they are parallel; with post-norm, the output of its norm.
 * @param {PassValues} pass
 * @param {Sublayer} sublayer
 * @returns {Derivation}
 */
export function residual(pass, sublayer) {
  const { parallel_residual: parallel, use_residual: connected } = pass.config;
  const [ln, norm, stream, out] = pass.norms[sublayer];
  const of = "the stream and the sublayer's output together";
  if (pass.normed.sum) return normOutput(pass, `${pass.block}.${norm}`, pass.inBlock(`${ln}.hook_normalized`), of);
  const what = parallel ? 'what both sublayers wrote' : 'what the sublayer wrote';
  if (pass.config.residual_normed && connected) {
    const before = normOutput(pass, `${pass.block}.${norm}`, pass.inBlock(`${ln}.hook_normalized`), 'the stream');
    const terms = [...before.terms, term(pass, pass.inBlock(out), { name: out })];
    return { how: 'sum', formula: `${before.formula} before it, plus ${what}`, terms };
  }
  return {
    how: 'sum',
    formula: connected ? `the stream before it, plus ${what}` : what,
    terms: residualTerms(pass, stream, parallel ? ['hook_attn_out', out] : [out]),
  };
}

/**
 * A logit: what the head reads times a row of the head, with the scale and the soft cap.
 * @type {Formula}
 */
export function logit(pass) {
  const { d_embed: narrow, logit_scale: scale, logit_softcap: cap } = pass.config;
  const input = headInput(pass);
  const found = times(
    narrow && !isNarrow(pass.config) ? projectedLogit(pass, input) : product(pass, 'head', pass.index, input),
    scale,
  );
  return cap
    ? { ...found, how: 'tanh', cap, formula: `${short(cap)} tanh((${found.formula}) / ${short(cap)})` }
    : found;
}

/**
 * The input of the head: what `hidden` says, or in a masked language model the norm of another layer after it.
 * @param {PassValues} pass
 * @returns {Input}
 */
function headInput(pass) {
  if (isLabelPooled(pass.config)) return { at: LABEL_INPUT, x: pass.row(LABEL_INPUT) };
  refuseTransform(pass);
  if (!pass.config.mlm_head) return pass.hidden();
  const y = Float64Array.from(transformed(pass));
  if (!pass.hasNorms) return { at: null, x: Float32Array.from(y) };
  const at = 'mlm_head.ln.hook_normalized';
  if (!pass.captured[at]) return { at: null, x: Float32Array.from(pass.withGain('head_norm', normalisedRow(pass, y))) };
  return { at, x: pass.withGain('head_norm', pass.row(at)) };
}

/** The point that a classifier of a whole text reads. */
const LABEL_INPUT = 'classifier.hook_input';

/** The layer before a classifier has no formula here. @param {PassValues} pass */
function refuseTransform({ at, config }) {
  if (config.label_transform !== 'none')
    fail('unsupported', `explain has no formula of label_transform, which ${at} is computed with`);
}

/**
 * The state that a classifier of a whole text reads: of the first token, the mean, or the pooler's output.
 * @type {Formula}
 */
export function labelInput(pass) {
  refuseTransform(pass);
  const { label_pooling: pooling } = pass.config;
  if (pooling === 'pooler')
    return { how: 'sum', formula: "the pooler's output", terms: [term(pass, 'pooler.hook_pooler_out')] };
  const n = pooling === 'mean' ? pass.ids.length : 1;
  const terms = Array.from({ length: n }, (_, position) => {
    const { at, x } = pass.hiddenAt(position);
    return { name: `position ${position}`, value: x[pass.index], from: { at, position, index: pass.index } };
  });
  return { how: 'sum', divisor: n, formula: n > 1 ? 'the mean of the states' : 'the state of the first token', terms };
}

/**
 * A logit of a model whose head is narrower than the stream: the terms are dimensions of the stream, times the head's
 * row times the projection. Where the projected values are rounded, their change is a term of its own.
 * @param {PassValues} pass
 * @param {Input} input
 * @returns {Derivation}
 */
function projectedLogit(pass, { at, x }) {
  const { model, config: c, position, index: row } = pass;
  const head = weight(model, 'head.weight', row);
  const rounded = roundedFor(pass, 'head_project.weight', x);
  const factors = new Float64Array(c.d_model);
  head.forEach((h, e) => weight(model, 'head_project.weight', e).forEach((v, j) => (factors[j] += h * v)));
  /** @type {import('./explain.js').Term[]} */
  const terms = Array.from(x, (v, j) => ({
    name: `dimension ${j}`,
    value: (rounded?.[j] ?? v) * factors[j],
    ...factor(v, rounded?.[j]),
    ...(at && { from: { at, position, index: j } }),
  }));
  const narrow = Float32Array.from(linear(pass, 'head_project', x));
  const roundedNarrow = roundedFor(pass, 'head.weight', narrow);
  if (roundedNarrow) {
    const change = roundedNarrow.reduce((sum, v, e) => sum + (v - narrow[e]) * head[e], 0);
    terms.push({ name: 'rounding of the projected values', value: change });
  }
  const formula = `row ${row} of head.weight times head_project.weight times its input`;
  return { how: 'sum', formula, terms: [...terms, ...biasTerms(pass, 'head', row)] };
}

/**
 * The pooled state of an encoder: a layer with tanh, of the first position.
 * @type {Formula}
 */
export function pooled(pass) {
  const found = product(pass, 'pooler', pass.index, pass.hidden());
  return { ...found, how: 'tanh', cap: 1, formula: `tanh(${found.formula})` };
}
