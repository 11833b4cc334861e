// folder.js - safetensors as Hugging Face lays them out: with config.json, tokenizer.json, in one file or in shards
import { chatTemplate } from './chat_template.js';
import { tokenIds } from './config.js';
import { fail, show } from '../base/errors.js';
import { readHfConfig } from './huggingface.js';
import { planTensors } from './plan.js';
import { checkMap, readSafetensors } from './safetensors.js';
import { isBytes } from '../base/values.js';

/** @typedef {import('./source.js').Opener} Opener */
/** @typedef {import('./source.js').Bytes} Bytes */
/** @typedef {import('./source.js').Checkpoint} Checkpoint */
/** @typedef {import('./source.js').Folder} Folder */
/** @typedef {import('./source.js').Parsed} Parsed */
/** @typedef {import('./bytes.js').ByteReader} ByteReader */

/** Most connections that are left open after the header was read; a browser allows six to one host. */
const MAX_WAITING = 4;

/**
 * A folder as Hugging Face lays it out, or one that holds a single GGUF.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {{config?: Bytes | object, tokenizer?: Bytes | object}} given
 * @returns {Promise<Checkpoint>}
 */
export async function openFolder(opener, folder, given) {
  const config = given.config ?? (await opener.maybeJson(folder.get('config.json')));
  if (!config) {
    const ggufs = (await folder.list()).filter((f) => f.endsWith('.gguf'));
    const only = ggufs.length === 1 ? folder.get(ggufs[0]) : null;
    if (only) return opener.weights([only], given);
    return fail('not-found', `${folder.name}: there is no config.json`);
  }
  /** @type {Error[]} */
  const refusals = [];
  const whole = await optional(refusals, opener.maybe(folder.get('model.safetensors'), true));
  /** @type {(Bytes | ByteReader)[]} */
  let files = whole ? [whole] : [];
  /** @type {Record<string, string>} */
  let map = {};
  if (!files.length) {
    const index = await optional(refusals, opener.maybeJson(folder.get('model.safetensors.index.json')));
    if (!index && refusals.length) throw refusals[0];
    if (!index)
      return fail('not-found', `${folder.name}: there is neither model.safetensors nor model.safetensors.index.json`);
    map = weightMap(index);
    files = [...new Set(Object.values(map))]
      .sort()
      .map((f) => folder.get(f) ?? fail('not-found', `${folder.name}: there is no ${f}`));
  }
  const generation = await optional(refusals, opener.maybeJson(folder.get('generation_config.json')));
  const about = await optional(refusals, opener.maybeJson(folder.get('tokenizer_config.json')));
  const template =
    about?.chat_template ?? (await optional(refusals, opener.maybeText(folder.get('chat_template.jinja'))));
  const tokenizer = given.tokenizer ?? (await optional(refusals, opener.maybeJson(folder.get('tokenizer.json'))));
  warn(opener, refusals);
  const ckpt = await opener.weights(files, { config, tokenizer: tokenizer ?? undefined }, map);
  const eos = generation ? tokenIds(generation, 'eos_token_id', 'generation_config.json') : [];
  ckpt.special.eos = [...new Set([...ckpt.special.eos, ...eos])];
  ckpt.chatTemplate = chatTemplate(template);
  if (ckpt.chatTemplate)
    ckpt.special.texts = { bos_token: tokenText(about?.bos_token), eos_token: tokenText(about?.eos_token) };
  return ckpt;
}

/**
 * As tokenizer_config.json has it: a string, or an object with its content, or null where there is none.
 * @param {any} token
 * @returns {string | undefined}
 */
function tokenText(token) {
  const text = token === null ? '' : (token?.content ?? token);
  return typeof text === 'string' ? text : undefined;
}

/**
 * Read an optional file. S3 answers 403 for a missing file unless its files may be listed.
 * @template T
 * @param {Error[]} refusals  receives that error
 * @param {Promise<T>} reading
 * @returns {Promise<T | null>}
 */
async function optional(refusals, reading) {
  try {
    return await reading;
  } catch (error) {
    if (/** @type {any} */ (error)?.cause !== 403) throw error;
    refusals.push(/** @type {Error} */ (error));
    return null;
  }
}

/**
 * @param {Opener} opener
 * @param {Error[]} refusals
 */
function warn(opener, refusals) {
  opener.warnings.push(...refusals.map(({ message }) => `${message}; the model was read without this file`));
}

/**
 * Safetensors, one or several, with a config.json.
 * @param {Opener} opener
 * @param {ByteReader} first
 * @param {(Bytes | ByteReader)[]} files
 * @param {{config?: Bytes | object, tokenizer?: Bytes | object}} given
 * @param {Record<string, string>} map
 * @returns {Promise<Parsed>}
 */
export async function openSafetensors(opener, first, files, given, map) {
  let { config: json } = given;
  if (json === undefined) {
    const near = typeof files[0] === 'string' || files[0] instanceof URL ? sibling(files[0], 'config.json') : null;
    if (near === null)
      return fail('bad-argument', `${first.name}: a safetensors file needs { weights, config }, or a folder`);
    json = (await opener.maybeJson(near)) ?? fail('not-found', `${first.name}: there is no config.json beside it`);
    /** @type {Error[]} */
    const refusals = [];
    given.tokenizer ??=
      (await optional(refusals, opener.maybeJson(sibling(/** @type {string | URL} */ (files[0]), 'tokenizer.json')))) ??
      undefined;
    warn(opener, refusals);
  } else if (isBytes(json)) {
    json = await opener.json(json);
  }
  const { config, special, places, isBuffer, warnings } = readHfConfig(/** @type {object} */ (json));
  opener.warnings.push(...warnings);
  const names = [];
  const entries = [];
  /** @type {(() => Promise<ByteReader>)[]} */
  const readers = [];
  for (const [i, file] of files.entries()) {
    const r = i === 0 ? first : await opener.reader(/** @type {Bytes} */ (file), true);
    names.push(r.name);
    entries.push(...(await readSafetensors(r, i)));
    if (i < MAX_WAITING) {
      readers.push(async () => r);
      continue;
    }
    opener.drop(r);
    readers.push(async () => opener.reader(/** @type {Bytes} */ (file), true, false));
  }
  checkMap(map, entries, names);
  const found = places(new Set(entries.map((e) => e.name)));
  const tensors = planTensors(config, entries, found, isBuffer, names, opener.warnings);
  return { config, tensors, special, chatTemplate: null, readers };
}

/**
 * @param {any} index
 * @returns {Record<string, string>}
 */
function weightMap(index) {
  const map = index?.weight_map;
  if (map === null || typeof map !== 'object' || Array.isArray(map))
    fail('bad-file', 'model.safetensors.index.json: weight_map is missing');
  for (const file of Object.values(map)) {
    if (typeof file !== 'string' || !/^[\w.-]{1,255}$/.test(file))
      fail('bad-file', `model.safetensors.index.json: ${show(file)} is not a file beside it`);
  }
  if (!Object.keys(map).length) fail('bad-file', 'model.safetensors.index.json: weight_map is empty');
  return map;
}

/**
 * @param {string | URL} at
 * @param {string} file
 */
const sibling = (at, file) => String(at).replace(/[^/\\]*$/, file);
