// token_bytes.js - the tokens of a vocabulary as the bytes that they add to a text
import { fail, show } from '../../base/errors.js';

/**
 * All tokens that add bytes to a text, in the order of these bytes. `shared`: how many of its first bytes a token has
 * in common with the one before it; with them, the list is a trie in preorder. places: by id, -1 for other tokens.
 * @typedef {object} Vocabulary
 * @property {Int32Array} ids
 * @property {Uint8Array} bytes    of all tokens, one after the other
 * @property {Int32Array} offsets  in `bytes`; one more than tokens
 * @property {Int32Array} shared
 * @property {Int32Array} places
 * @property {boolean} stripsSpace  whether the decoder removes the space before the first word of a text
 */

const utf8 = new TextEncoder();

/**
 * The bytes of each token, by id, as texts with one character for each byte.
 * @param {Record<string, any>} json  a tokenizer.json
 * @returns {{texts: Map<number, string>, stripsSpace: boolean}}
 */
function tokenBytes({ model, added_tokens: added = [], decoder }) {
  const steps = decoder?.type === 'Sequence' ? decoder.decoders : [decoder];
  const isByteLevel = steps.some((/** @type {any} */ d) => d?.type === 'ByteLevel');
  const convert = isByteLevel ? byteLevel() : plain(steps);
  /** @type {Map<number, string>} */
  const texts = new Map();
  for (const [text, id] of entriesOf(model)) {
    const bytes = convert(text);
    if (bytes && !bytes.includes('\xff')) texts.set(id, bytes); // a byte that no UTF-8 has
  }
  texts.delete(unknownOf(model));
  for (const { id, content, special } of added) {
    texts.set(id, (special ? '\xff' : '') + latin1(content)); // special tokens are no text: only their names read them
  }
  return { texts, stripsSpace: steps.some((/** @type {any} */ d) => d?.type === 'Strip' || d?.type === 'Metaspace') };
}

/**
 * Texts and ids of a model's vocabulary, in each of its forms.
 * @param {Record<string, any>} model
 * @returns {[string, number][]}
 */
function entriesOf({ vocab, texts }) {
  if (Array.isArray(texts)) return texts.map((text, id) => [text, id]); // SentencePieces.toJSON
  return Array.isArray(vocab) ? vocab.map(([text], id) => [text, id]) : Object.entries(vocab);
}

/**
 * The id of the token for unknown characters, which is no text; -1 without one.
 * @param {Record<string, any>} model
 */
const unknownOf = ({ unk, unk_id: id, unk_token: token, vocab }) =>
  unk ?? id ?? (typeof token === 'string' ? vocab?.[token] : undefined) ?? -1;

/** @param {string} text */
const latin1 = (text) => String.fromCharCode(...utf8.encode(text));

/**
 * A function from a token of a byte-level BPE to its bytes. Each character stands for a byte: printable ones of Latin-1
 * for themselves, the others follow from U+0100 on (Radford et al. 2019).
 * @returns {(text: string) => string}
 */
function byteLevel() {
  /** @type {Map<string, string>} */
  const bytes = new Map();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    bytes.set(String.fromCharCode(isPrintable ? byte : next++), String.fromCharCode(byte));
  }
  return (text) => {
    const list = [...text].map((c) => bytes.get(c));
    return list.includes(undefined) ? '' : list.join('');
  };
}

/**
 * A function from a token of a vocabulary with whole characters to its bytes.
 * @param {any[]} steps  of the decoder
 * @returns {(text: string) => string}
 */
function plain(steps) {
  /** @type {[string, string][]} */
  const replacements = [];
  let hasBytes = false;
  for (const step of steps) {
    if (step?.type === 'Replace' && typeof step.pattern?.String === 'string')
      replacements.push([step.pattern.String, String(step.content)]);
    else if (step?.type === 'Metaspace') replacements.push([step.replacement ?? '\u2581', ' ']);
    else if (/^ByteFallback(Each)?$/.test(step?.type)) hasBytes = true;
    else if (step?.type !== 'Fuse' && !(step?.type === 'Strip' && !step.stop)) {
      fail(
        'unsupported',
        `json and grammar: the tokenizer's decoder ${show(step?.type ?? null)} is not supported, ` +
          'expected one that gives each token its own bytes',
      );
    }
  }
  return (text) => {
    const byte = hasBytes ? /^<0x([\dA-F]{2})>$/.exec(text) : null;
    if (byte) return String.fromCharCode(parseInt(byte[1], 16));
    return latin1(replacements.reduce((all, [from, to]) => all.replaceAll(from, to), text));
  };
}

/**
 * The vocabulary of a tokenizer.
 * @param {Record<string, any>} json  a tokenizer.json
 * @param {number} size  tokens of the model
 * @param {number[]} eos  tokens that end the text, which add nothing to it
 * @returns {Vocabulary}
 */
export function vocabularyOf(json, size, eos) {
  const { texts, stripsSpace } = tokenBytes(json);
  const list = [...texts].filter(([id, bytes]) => bytes && id < size && !eos.includes(id));
  list.sort(([, a], [, b]) => (a < b ? -1 : Number(a > b)));
  const offsets = new Int32Array(list.length + 1);
  list.forEach(([, bytes], i) => {
    offsets[i + 1] = offsets[i] + bytes.length;
  });
  const bytes = new Uint8Array(offsets[list.length]);
  const shared = new Int32Array(list.length);
  const places = new Int32Array(size).fill(-1);
  list.forEach(([id, own], i) => {
    for (let k = 0; k < own.length; k++) bytes[offsets[i] + k] = own.charCodeAt(k);
    const before = i ? list[i - 1][1] : '';
    while (shared[i] < before.length && before[shared[i]] === own[shared[i]]) shared[i]++;
    places[id] = i;
  });
  return { ids: Int32Array.from(list, ([id]) => id), bytes, offsets, shared, places, stripsSpace };
}
