// tokenizer_json.js - the parts of a tokenizer.json that vocab.js and pieces.js build in the same way

/** Token types of GGUF. */
export const NORMAL = 1;
export const CONTROL = 3;
export const USER_DEFINED = 4;
export const BYTE = 6;

/**
 * The models that pieces.js has created. An object from a tokenizer.json is never in this set, whatever it contains.
 * @type {WeakSet<object>}
 */
export const pieceModels = new WeakSet();

/**
 * The id of every token, in order. When two tokens have the same text, the second gets the text "[token 123]".
 * @param {string[]} tokens  texts
 * @returns {Map<string, number>} id by text
 */
export function idsByText(tokens) {
  /** @type {Map<string, number>} */
  const ids = new Map();
  for (let id = 0; id < tokens.length; id++) {
    let text = tokens[id];
    if (ids.has(text)) text = `[token ${id}]`;
    while (ids.has(text)) text += ' ';
    ids.set(text, id);
  }
  return ids;
}

/**
 * @typedef {object} VocabularyBase
 * @property {Map<string, number>} ids  by text
 * @property {number[]} types  of GGUF, by id
 * @property {number | null} bos  id that is put before every text; null: none
 * @property {number | null} eos  id that is put after every text; null: none
 */

/**
 * `added_tokens` and `post_processor` of a tokenizer.json.
 * @param {VocabularyBase} vocabulary
 */
export function sharedFields({ ids: idByText, types, bos, eos }) {
  const texts = [...idByText.keys()];
  const added = [...types.keys()]
    .filter((id) => types[id] === CONTROL || types[id] === USER_DEFINED)
    .map((id) => ({ id, content: texts[id], normalized: false, special: types[id] === CONTROL }));
  /** @param {number} id */
  const specialToken = (id) => ({ SpecialToken: { id: texts[id], type_id: 0 } });
  const single = [
    ...(bos === null ? [] : [specialToken(bos)]),
    { Sequence: { id: 'A', type_id: 0 } },
    ...(eos === null ? [] : [specialToken(eos)]),
  ];
  const ids = [bos, eos].filter((id) => id !== null);
  const special = Object.fromEntries(ids.map((id) => [texts[id], { id: texts[id], ids: [id], tokens: [texts[id]] }]));
  return {
    added_tokens: added,
    post_processor: ids.length ? { type: 'TemplateProcessing', single, pair: single, special_tokens: special } : null,
  };
}
