// dictionary_load.js - opens a dictionary from files, for Dictionary.load
import { oneOf } from '../../base/checks.js';
import { loadFetch } from '../../files/transfer/requests.js';
import { readDictionary } from './read_dictionary.js';
import { SparseDictionary } from './sparse_dictionary.js';

/** @import { Model } from '../../api/model.js' */

/** @param {any} source @param {{model?: Model, dtype: string, [option: string]: any}} options  checked */
export async function loadDictionary(source, { model, dtype, fetch, signal, hfEndpoint, ...rest }) {
  oneOf('f32', 'f16', 'q8_0')(dtype, 'dtype', /** @type {any} */ (undefined));
  const weights = await readDictionary(source, { fetch: loadFetch(source, rest, fetch), signal, hfEndpoint });
  const made = new SparseDictionary({ ...weights, dtype }, null);
  if (model) await made.attach(model);
  if (dtype === 'q8_0') made.pack();
  return made;
}
