// folder.js - opens a checkpoint in the layout of Hugging Face: config.json, tokenizer.json, and safetensors in one
// file or in shards
import { chatTemplate } from './chat_template.js';
import { tokenIds } from './config.js';
import { fail, show } from '../base/errors.js';
import { readHfConfig, targetTokens } from './huggingface.js';
import { planTensors } from './plan.js';
import { checkShards, readSafetensors } from './safetensors.js';
import { isBytes } from '../base/values.js';

/** @typedef {import('./source.js').Opener} Opener */
/** @typedef {import('./source.js').Bytes} Bytes */
/** @typedef {import('./source.js').Checkpoint} Checkpoint */
/** @typedef {import('./source.js').Folder} Folder */
/** @typedef {import('./source.js').Overrides} Overrides */
/** @typedef {import('./source.js').Parsed} Parsed */
/** @typedef {import('./bytes.js').ByteReader} ByteReader */

/** Most shards whose connection stays open after the header was read. A browser allows six connections to one host. */
const MAX_OPEN_SHARDS = 4;

/**
 * Opens a folder in the layout of Hugging Face, or one that holds a single GGUF.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {Overrides} overrides
 * @returns {Promise<Checkpoint>}
 */
export async function openFolder(opener, folder, overrides) {
  const config = overrides.config ?? (await opener.optionalJson(folder.get('config.json')));
  if (!config) {
    const ggufs = (await folder.list()).filter((f) => f.endsWith('.gguf'));
    const only = ggufs.length === 1 ? folder.get(ggufs[0]) : null;
    if (only) return opener.weights([only], overrides);
    return fail('not-found', `${folder.name}: there is no config.json`);
  }
  /** @type {Error[]} */
  const refusals = [];
  const whole = await unlessForbidden(refusals, opener.optionalReader(folder.get('model.safetensors'), true));
  /** @type {(Bytes | ByteReader)[]} */
  let files = whole ? [whole] : [];
  /** @type {Record<string, string>} */
  let map = {};
  if (!files.length) {
    const index = await unlessForbidden(refusals, opener.optionalJson(folder.get('model.safetensors.index.json')));
    if (!index && refusals.length) throw refusals[0];
    if (!index)
      return fail('not-found', `${folder.name}: there is neither model.safetensors nor model.safetensors.index.json`);
    map = weightMap(index);
    files = [...new Set(Object.values(map))]
      .sort()
      .map((f) => folder.get(f) ?? fail('not-found', `${folder.name}: there is no ${f}`));
  }
  const generation = await unlessForbidden(refusals, opener.optionalJson(folder.get('generation_config.json')));
  const tokenizerConfig = await unlessForbidden(refusals, opener.optionalJson(folder.get('tokenizer_config.json')));
  const template =
    tokenizerConfig?.chat_template ??
    (await unlessForbidden(refusals, opener.optionalText(folder.get('chat_template.jinja'))));
  const tokenizer =
    overrides.tokenizer ??
    (await unlessForbidden(refusals, opener.optionalJson(folder.get('tokenizer.json')))) ??
    (await sentencePieces(opener, folder, config, tokenizerConfig, refusals));
  warn(opener, refusals);
  const checkpoint = await opener.weights(files, { config, tokenizer: tokenizer ?? undefined }, map);
  const eos = generation ? tokenIds(generation, 'eos_token_id', 'generation_config.json') : [];
  checkpoint.special.eos = [...new Set([...checkpoint.special.eos, ...eos])];
  if (generation && checkpoint.config.kind === 'encoder_decoder')
    Object.assign(checkpoint.special, targetTokens(generation, 'generation_config.json'));
  checkpoint.chatTemplate = chatTemplate(template);
  if (checkpoint.chatTemplate) {
    const { bos_token: bos, eos_token: eosToken } = tokenizerConfig ?? {};
    checkpoint.special.texts = { bos_token: tokenText(bos), eos_token: tokenText(eosToken) };
  }
  return checkpoint;
}

/**
 * The tokenizer of T5 and Marian checkpoints without a tokenizer.json, from their SentencePiece model; undefined for
 * other families. Without such a file a warning says what is missing.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {any} config  of the model
 * @param {any} settings  tokenizer_config.json, or null
 * @param {Error[]} refusals  see unlessForbidden
 */
async function sentencePieces(opener, folder, { model_type: type }, settings, refusals) {
  const file = type === 'marian' ? 'source.spm' : 'spiece.model';
  if (!['t5', 'mt5', 'marian'].includes(type)) return undefined;
  const reader = await unlessForbidden(refusals, opener.optionalReader(folder.get(file)));
  const bytes = reader && (await opener.readAll(reader));
  const vocab =
    bytes && type === 'marian' && (await unlessForbidden(refusals, opener.optionalJson(folder.get('vocab.json'))));
  if (bytes && vocab !== null) {
    const { marianTokenizer, t5Tokenizer } = await import('./sentencepiece.js');
    return type === 'marian'
      ? marianTokenizer(bytes, vocab, folder.name)
      : t5Tokenizer(bytes, `${folder.name}: ${file}`, settings?.extra_ids);
  }
  opener.warnings.push(
    `${folder.name}: there is no tokenizer.json and no ${file}${type === 'marian' ? ' with a vocab.json' : ''}: ` +
      'the model takes token ids; for text, pass a tokenizer.json as { weights, config, tokenizer }',
  );
  return undefined;
}

/**
 * The text of a special token in tokenizer_config.json, which is a string, an object with a `content`, or null.
 * @param {any} token
 * @returns {string | undefined}
 */
function tokenText(token) {
  const text = token === null ? '' : (token?.content ?? token);
  return typeof text === 'string' ? text : undefined;
}

/**
 * The result of reading an optional file; null when the server answers 403. S3 answers 403 for a missing file when its
 * files may not be listed.
 * @template T
 * @param {Error[]} refusals  the 403 error is appended
 * @param {Promise<T>} promise
 * @returns {Promise<T | null>}
 */
async function unlessForbidden(refusals, promise) {
  try {
    return await promise;
  } catch (error) {
    if (/** @type {any} */ (error)?.cause !== 403) throw error;
    refusals.push(/** @type {Error} */ (error));
    return null;
  }
}

/**
 * Adds a warning for each optional file that the server refused.
 * @param {Opener} opener
 * @param {Error[]} refusals
 */
function warn(opener, refusals) {
  opener.warnings.push(...refusals.map(({ message }) => `${message}; the model was read without this file`));
}

/**
 * Opens one or several safetensors files with a config.json.
 * @param {Opener} opener
 * @param {ByteReader} first  of the first file
 * @param {(Bytes | ByteReader)[]} files
 * @param {Overrides} overrides
 * @param {Record<string, string>} map  file name by tensor; empty without an index
 * @returns {Promise<Parsed>}
 */
export async function openSafetensors(opener, first, files, overrides, map) {
  let { config: json } = overrides;
  if (json === undefined) {
    const near = typeof files[0] === 'string' || files[0] instanceof URL ? sibling(files[0], 'config.json') : null;
    if (near === null)
      return fail('bad-argument', `${first.name}: a safetensors file needs { weights, config }, or a folder`);
    json = (await opener.optionalJson(near)) ?? fail('not-found', `${first.name}: there is no config.json beside it`);
    /** @type {Error[]} */
    const refusals = [];
    overrides.tokenizer ??=
      (await unlessForbidden(
        refusals,
        opener.optionalJson(sibling(/** @type {string | URL} */ (files[0]), 'tokenizer.json')),
      )) ?? undefined;
    warn(opener, refusals);
  } else if (isBytes(json)) {
    json = await opener.json(json);
  }
  readHfConfig(/** @type {object} */ (json)); // refuses before the headers of all files are fetched
  const names = [];
  const entries = [];
  /** @type {(() => Promise<ByteReader>)[]} */
  const readers = [];
  for (const [i, file] of files.entries()) {
    const r = i === 0 ? first : await opener.reader(/** @type {Bytes} */ (file), true);
    names.push(r.name);
    entries.push(...(await readSafetensors(r, i)));
    if (i < MAX_OPEN_SHARDS) {
      readers.push(async () => r);
      continue;
    }
    opener.release(r);
    readers.push(async () => opener.reader(/** @type {Bytes} */ (file), true, false));
  }
  checkShards(map, entries, names);
  const found = new Set(entries.map((e) => e.name));
  const { config, special, places, isBuffer, warnings } = readHfConfig(/** @type {object} */ (json), undefined, found);
  opener.warnings.push(...warnings);
  const tensors = planTensors(config, entries, places(found), isBuffer, names, opener.warnings);
  return { config, tensors, special, chatTemplate: null, readers };
}

/**
 * The file name of each tensor, from the JSON of model.safetensors.index.json.
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
 * The address of another file in the same folder.
 * @param {string | URL} at  address of a file
 * @param {string} file  name of the other
 */
const sibling = (at, file) => String(at).replace(/[^/\\]*$/, file);
