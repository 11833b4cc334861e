// tokenizer_json.js - what the vocabularies of vocab.js and pieces.js share when they are written in the shape of a
// tokenizer.json

/** Token types of GGUF. */
export const NORMAL = 1;
export const CONTROL = 3;
export const USER_DEFINED = 4;
export const BYTE = 6;

/**
 * Models that pieces.js has made. A tokenizer.json from a file is never in this set, whatever it contains.
 * @type {WeakSet<object>}
 */
export const pieceModels = new WeakSet();

/**
 * Every token's id, in order. Of two tokens with equal texts the second gets another name: a text always means the
 * first.
 * @param {string[]} tokens
 */
export function numbered(tokens) {
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
 * @typedef {object} Base
 * @property {Map<string, number>} ids  by text
 * @property {number[]} types
 * @property {number | null} bos  put before every text
 * @property {number | null} eos  put after every text
 */

/** @param {Base} base */
export function common({ ids: of, types, bos, eos }) {
  const texts = [...of.keys()];
  const added = [...types.keys()]
    .filter((id) => types[id] === CONTROL || types[id] === USER_DEFINED)
    .map((id) => ({ id, content: texts[id], normalized: false, special: types[id] === CONTROL }));
  /** @param {number} id */
  const one = (id) => ({ SpecialToken: { id: texts[id], type_id: 0 } });
  const single = [
    ...(bos === null ? [] : [one(bos)]),
    { Sequence: { id: 'A', type_id: 0 } },
    ...(eos === null ? [] : [one(eos)]),
  ];
  const ids = [bos, eos].filter((id) => id !== null);
  const special = Object.fromEntries(ids.map((id) => [texts[id], { id: texts[id], ids: [id], tokens: [texts[id]] }]));
  return {
    added_tokens: added,
    post_processor: ids.length ? { type: 'TemplateProcessing', single, pair: single, special_tokens: special } : null,
  };
}
