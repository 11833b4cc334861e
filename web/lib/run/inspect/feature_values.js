// feature_values.js - the sparse dictionaries of a loaded model: their encoders in its engine, and what texts activate
import { closeFeatures, encodeRows, openFeatures } from '../../engine/dictionary_encoders.js';
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';
import { forwardOne } from './forward.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Hooks } from '../calls.js' */
/** @import { Encoder, FeatureRows } from '../../engine/dictionary_encoders.js' */
/** An encoder in the engine. @typedef {{address: number, encoder: {d: number, size: number}}} OpenedEncoder */

/**
 * @param {LoadedModel} model
 * @param {Encoder} encoder
 * @returns {OpenedEncoder}
 */
export function open(model, encoder) {
  return { address: openFeatures(model.engine, encoder), encoder: { d: encoder.d, size: encoder.size } };
}

/** @param {LoadedModel} model @param {OpenedEncoder} opened */
export function close(model, { address }) {
  closeFeatures(model.engine, address);
}

/**
 * What an input activates.
 * @param {LoadedModel} model
 * @param {number} id  of the dictionary
 * @param {any} input
 * @param {{at: string, addSpecialTokens?: boolean}} o
 * @param {Hooks} hooks
 * @returns {Promise<{ids: number[]} & FeatureRows>}
 */
export async function encodeFeatures(model, id, input, { at, addSpecialTokens }, { signal }) {
  const { address, encoder } = await model.dictionary(id);
  const ids = model.ids(input, 'input', addSpecialTokens);
  const options = { capture: [at], logits: 'none' };
  const { captured } = await forwardOne(model, ids, options, new Yielder(signal));
  const { data, shape } = captured[at];
  if (data.length !== ids.length * encoder.d)
    fail('bad-option', `${at} has the shape [${shape}], the dictionary reads rows of ${encoder.d}`);
  return { ids, ...encodeRows(model.engine, address, encoder, data, ids) };
}
