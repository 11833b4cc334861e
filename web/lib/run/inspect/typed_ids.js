// typed_ids.js - the ids of an input with the types of its tokens
import { fail } from '../../base/errors.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @typedef {import('../../api/index.js').Ids} Ids */

/**
 * The ids of an input with the types of its tokens, which only encoders have.
 * @param {LoadedModel} model
 * @param {string | Ids} input
 * @param {string} what  name of the input, for messages
 * @param {{addSpecialTokens?: boolean, pair?: string, tokenTypes?: ArrayLike<number>}} o
 * @returns {{ids: number[], types: ArrayLike<number> | null}} types: null: all 0
 */
export function typedIds(model, input, what, { addSpecialTokens, pair, tokenTypes }) {
  const { kind, n_token_types: most } = model.config;
  if (kind !== 'encoder' && ((pair !== undefined && !model.labels) || tokenTypes !== undefined))
    fail(
      'bad-option',
      `${pair === undefined ? 'tokenTypes' : 'pair'} is an option of encoders, this model is of kind ${kind}`,
    );
  if (pair !== undefined) {
    if (typeof input !== 'string') fail('bad-option', `pair needs an input given as text, the ${what} is not`);
    if (tokenTypes !== undefined) fail('bad-option', 'tokenTypes cannot be combined with pair, which gives them');
    const both = model.tokenizerForText().encodePair(input, pair, { addSpecialTokens });
    return { ids: model.withRows(both.ids), types: both.tokenTypes.some((t) => t >= most) ? null : both.tokenTypes };
  }
  const ids = model.ids(input, what, addSpecialTokens);
  if (tokenTypes === undefined) return { ids, types: null };
  if (typeof tokenTypes[0] === 'object') fail('bad-option', 'tokenTypes is a list of lists, expected numbers');
  if (tokenTypes.length !== ids.length)
    fail('bad-option', `tokenTypes has ${tokenTypes.length} entries, the sequence has ${ids.length} positions`);
  const wrong = Array.from(tokenTypes).find((t) => !(Number.isInteger(t) && t >= 0 && t < most));
  if (wrong !== undefined) fail('bad-option', `tokenTypes holds ${wrong}, this model has ${most} token types`);
  return { ids, types: tokenTypes };
}
