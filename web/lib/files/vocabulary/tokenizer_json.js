// tokenizer_json.js - the parts of a tokenizer.json that gguf_vocab.js and sentencepiece_vocab.js build in the same way

/** Token types of GGUF. */
export const NORMAL = 1;
export const UNKNOWN = 2;
export const CONTROL = 3;
export const USER_DEFINED = 4;
export const UNUSED = 5;
export const BYTE = 6;

/** Ids above this cannot belong to a model that the engine runs. */
export const MAX_ID = 1 << 22;

/** @param {unknown} id */
export const isId = (id) => Number.isInteger(id) && Number(id) >= 0 && Number(id) < MAX_ID;

/**
 * The models that sentencepiece_vocab.js has created. An object from a tokenizer.json is never in this set, whatever it
 * contains.
 * @type {WeakSet<object>}
 */
export const pieceModels = new WeakSet();

/**
 * @typedef {object} VocabularyBase
 * @property {import('./packed_texts.js').TokenTexts} texts
 * @property {ArrayLike<number>} types  of GGUF, by id
 * @property {number | null} bos  id that is put before every text; null: none
 * @property {number | null} eos  id that is put after every text; null: none
 * @property {boolean} [trims]  whether blanks after an added token belong to it
 * @property {(type: number) => boolean} [isAdded]  false: tokens of a type are not found before a text is cut
 */

/** Tokens of Phi-3 that leave blanks after them, as in llama.cpp. */
const NEVER_TRIM = ['<unk>', '<s>', '<|endoftext|>'];

/**
 * `added_tokens` and `post_processor` of a tokenizer.json.
 * @param {VocabularyBase} vocabulary
 */
export function sharedFields({ texts, types, bos, eos, trims = false, isAdded = () => true }) {
  const text = (/** @type {number} */ id) => /** @type {string} */ (texts.text(id));
  const added = [];
  for (let id = 0; id < types.length; id++)
    if ([UNKNOWN, CONTROL, USER_DEFINED].includes(types[id]) && isAdded(types[id])) {
      const [content, special] = [text(id), types[id] !== USER_DEFINED];
      added.push({ id, content, normalized: false, special, rstrip: trims && !NEVER_TRIM.includes(content) });
    }
  /** @param {number} id */
  const specialToken = (id) => ({ SpecialToken: { id: text(id), type_id: 0 } });
  const single = [
    ...(bos === null ? [] : [specialToken(bos)]),
    { Sequence: { id: 'A', type_id: 0 } },
    ...(eos === null ? [] : [specialToken(eos)]),
  ];
  const ids = [bos, eos].filter((id) => id !== null);
  const special = Object.fromEntries(ids.map((id) => [text(id), { id: text(id), ids: [id], tokens: [text(id)] }]));
  return {
    added_tokens: added,
    post_processor: ids.length ? { type: 'TemplateProcessing', single, pair: single, special_tokens: special } : null,
  };
}
