// read_model.js - what the elements ask a model: the tokens of a text, the pattern of all heads, the next tokens
import { likeliest } from '../../../draw/likelihood.js';
import { PatternStore } from '../../../draw/pattern_store.js';

/** @import { Model } from '../../api/model.js' */

export const PATTERNS = ['*.attn.hook_pattern'];
const CANDIDATES = 10;

/**
 * @param {Model} model
 * @param {string | null} text  of a model without a tokenizer: ids
 * @returns {Promise<{ ids: number[], tokens: import('./plain_data.js').Token[] }>}
 */
export async function readTokens(model, text) {
  if (!text) throw new TypeError('text is missing: the model reads the attribute or property text');
  const ids = model.tokenizer ? await model.encode(text) : (text.match(/\d+/g) ?? []).map(Number);
  return { ids, tokens: await tokensOfIds(model, ids) };
}

/** @param {Model} model @param {number[]} ids */
export async function tokensOfIds(model, ids) {
  const { bos, eos } = model.special;
  const mark = (/** @type {number} */ id, /** @type {number} */ i) =>
    id === bos && (i === 0 || !eos.includes(id)) ? '[start]' : eos.includes(id) ? '[end]' : '';
  const tokens = model.tokenizer ? await model.tokens(ids, { alone: true }) : ids.map((id) => ({ id, text: '' }));
  return tokens.map(({ id, text }, i) => ({ id, text: mark(id, i) || text }));
}

/** An empty store for the rows of a model. @param {Model} model */
export function emptyStore({ config }) {
  if (config.kind === 'encoder_decoder')
    throw new TypeError('an encoder-decoder has three attentions: give the one to show as data');
  return new PatternStore(config.nLayers, config.nHeads, 'self', config.causal && config.kind !== 'encoder');
}

/**
 * One pass over a sequence.
 * @param {Model} model
 * @param {number[]} ids
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ pattern: PatternStore, logits: { data: Float32Array, shape: number[] } }>}
 */
export async function readPattern(model, ids, signal) {
  const pattern = emptyStore(model);
  const { captured, logits } = await model.forward(ids, { capture: PATTERNS, signal });
  pattern.append(captured);
  return { pattern, logits };
}

/**
 * What may follow a position.
 * @param {Model} model
 * @param {{ data: Float32Array, shape: number[] }} logits [n, vocab_size]
 * @param {number} position
 */
export async function nextAfter(model, logits, position) {
  if (!logits) throw new TypeError('this model is an encoder without a head: it has no next token');
  const size = logits.shape[1];
  const row = logits.data.subarray(position * size, (position + 1) * size);
  const best = likeliest(row, CANDIDATES);
  const tokens = await tokensOfIds(
    model,
    best.map(({ id }) => id),
  );
  return tokens.map((token, i) => ({ ...token, probability: best[i].model, logit: row[token.id] }));
}
