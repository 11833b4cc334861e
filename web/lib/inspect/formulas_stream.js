// formulas_stream.js - the formulas of the residual stream, from the embedding to the logits
import { normOutput } from './formulas_norm.js';
import { scaled } from './pass_values.js';
import { embeddingTerms, product, residualTerms, term } from './terms.js';
import { weight } from './weight.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
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
  const value = weight(model, name, row)[index];
  const factor = c.embedding_scale === 1 ? '' : ` × ${Number(c.embedding_scale.toPrecision(4))}`;
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
    return normOutput(pass, `${pass.stackPrefix === 'encoder.' ? 'encoder.' : ''}embed_norm`, normal, position, index);
  const terms = embeddingTerms(pass, position, index);
  return { how: 'sum', formula: SUMS[terms.length - 1], terms };
}

/**
 * The residual stream after a sublayer; with post-norm, the output of its norm.
 * @param {PassValues} pass
 * @param {string} norm  name of the norm in weights
 * @param {string} ln    name of the norm in points
 * @param {string} from  point of the stream before the sublayer
 * @param {string} out   point of the sublayer's output
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function residual(pass, norm, ln, from, out, position, index) {
  const { config: c } = pass;
  if (!pass.preNorm && c.use_norm)
    return normOutput(pass, `${pass.block}.${norm}`, pass.inBlock(`${ln}.hook_normalized`), position, index);
  const terms = residualTerms(pass, from, out, position, index);
  return {
    how: 'sum',
    formula: terms.length > 1 ? 'the stream before it, plus what the sublayer wrote' : 'what the sublayer wrote',
    terms,
  };
}

/**
 * A logit: the final norm of the stream times a row of the head.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function logit(pass, position, index) {
  const { config: c, model } = pass;
  const at = `${pass.stackPrefix}ln_final.hook_normalized`;
  const normal = c.final_norm && c.use_final_norm;
  const gain = normal ? weight(model, 'final_norm.weight') : null;
  const bias = pass.weights('final_norm.bias', c.d_model);
  const last = pass.lastStream();
  const x = pass.row(normal ? at : last, position);
  const plus = pass.addedPositions(position);
  const sum = product(
    pass,
    'head',
    index,
    { at: normal ? at : last, x: gain ? scaled(x, gain, bias) : Float32Array.from(x, (v, j) => v + plus[j]) },
    position,
    'dimension',
  );
  if (c.logit_scale === 1) return sum;
  return {
    ...sum,
    divisor: 1 / c.logit_scale,
    formula: `${sum.formula}, times ${Number(c.logit_scale.toPrecision(4))}`,
  };
}
