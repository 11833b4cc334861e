// folder_tokenizer.js - the tokenizer of a folder in the layout of Hugging Face, from the files that are there
import { wordPiece } from './vocabulary/gguf_vocab.js';

/** @import { Folder } from './opened_files.js' */
/** @import { Opener } from './source.js' */
/** @import { ByteReader } from './bytes/chunks.js' */

/**
 * The tokenizer of a folder in the form of a tokenizer.json; null or undefined without one.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {any} config  config.json
 * @param {any} settings  tokenizer_config.json, or null
 * @returns {Promise<object | null | undefined>}
 */
export const folderTokenizer = async (opener, folder, config, settings) =>
  (await tokenizerJson(opener, folder, config, settings)) ??
  (await vocabTxt(opener, folder, config, settings)) ??
  (await sentencePieces(opener, folder, config, settings)) ??
  (await withoutJson(opener, folder, config, settings));

const sideFiles = () => import('./vocabulary/side_files.js');

/** Rows of the embedding that a config.json tells. @param {any} config */
const rowsOf = (config) => (Number.isInteger(config?.vocab_size) ? config.vocab_size : Infinity);

/**
 * The tokenizer.json of a folder, with the tokens that stand in tokenizer_config.json alone; null without one.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {any} config  of the model
 * @param {any} settings  tokenizer_config.json, or null
 */
async function tokenizerJson(opener, folder, config, settings) {
  const json = await opener.optionalTokenizer(folder.get('tokenizer.json'));
  if (!json || typeof settings?.added_tokens_decoder !== 'object') return json;
  return (await sideFiles()).withSideTokens(json, { settings, added: null }, rowsOf(config), opener.warnings);
}

/**
 * The tokenizer of a folder without a tokenizer.json, from vocab.json and merges.txt or from tokenizer.model; null
 * without these.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {any} config  of the model
 * @param {any} given  tokenizer_config.json, or null
 */
async function withoutJson(opener, folder, config, given) {
  const merges = await opener.optionalText(folder.get('merges.txt'));
  const vocab = merges === null ? null : await opener.optionalJson(folder.get('vocab.json'));
  const pieces = vocab ? null : await opener.optionalReader(folder.get('tokenizer.model'));
  if (!vocab && !pieces) return null;
  const isNew = typeof given?.added_tokens_decoder === 'object';
  const [map, added] = isNew
    ? [null, null]
    : [
        await opener.optionalJson(folder.get('special_tokens_map.json')),
        await opener.optionalJson(folder.get('added_tokens.json')),
      ];
  const files = { settings: { ...given, ...map }, added };
  const [type, rows, { warnings }] = [config?.model_type, rowsOf(config), opener];
  const { mergesTxtJson, piecesJson } = await sideFiles();
  if (vocab) return mergesTxtJson(vocab, String(merges), files, { type, rows, where: folder.name, warnings });
  const where = `${folder.name}: tokenizer.model`;
  const bytes = await opener.readAll(/** @type {ByteReader} */ (pieces));
  return piecesJson(bytes, files, { type, rows, where, warnings });
}

/**
 * The tokenizer in the vocab.txt of a folder without a tokenizer.json; null without one.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {any} config  config.json; families that have such a file are asked for it
 * @param {any} tokenizerConfig  tokenizer_config.json, or null
 * @returns {Promise<object | null>}
 */
async function vocabTxt(opener, folder, config, tokenizerConfig) {
  if (!['bert', 'distilbert', 'mpnet'].includes(config?.model_type)) return null;
  const text = await opener.optionalText(folder.get('vocab.txt'));
  return text === null ? null : (await wordPiece()).vocabTxtJson(text, tokenizerConfig, `${folder.name}vocab.txt`);
}

/**
 * The tokenizer of T5 and Marian checkpoints without a tokenizer.json, from their SentencePiece model; undefined for
 * other families. Without such a file a warning says what is missing.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {any} config  of the model
 * @param {any} settings  tokenizer_config.json, or null
 */
async function sentencePieces(opener, folder, { model_type: type }, settings) {
  const file = type === 'marian' ? 'source.spm' : 'spiece.model';
  if (!['t5', 'mt5', 'marian'].includes(type)) return undefined;
  const reader = await opener.optionalReader(folder.get(file));
  const bytes = reader && (await opener.readAll(reader));
  const vocab = bytes && type === 'marian' && (await opener.optionalJson(folder.get('vocab.json')));
  if (bytes && vocab !== null) {
    const { marianTokenizer, t5Tokenizer } = await import('./vocabulary/sentencepiece.js');
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
