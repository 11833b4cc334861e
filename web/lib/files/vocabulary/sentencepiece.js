// sentencepiece.js - reads SentencePiece models (spiece.model, source.spm), and makes the tokenizer.json of a T5 or
// Marian checkpoint without one
//
// A model is a message of protocol buffers (sentencepiece_model.proto): 1 pieces, 2 trainer_spec, 3 normalizer_spec.
import { fail, messageOf, show } from '../../base/errors.js';
import { MAX_ID, isId } from './check_tokenizer_json.js';
import { unigramJson } from './sentencepiece_vocab.js';
import { Texts, TokenTexts } from './packed_texts.js';
import { CONTROL, NORMAL, USER_DEFINED } from './tokenizer_json.js';

/** Types of a vocabulary by their number in trainer_spec.model_type. */
const KINDS = ['0', 'Unigram', 'BPE', 'word', 'character'];
/** How far the score of a token that the source's vocabulary lacks lies below its lowest: it is the last resort. */
const FOREIGN = 100;

/**
 * A vocabulary of the kind Unigram.
 * @typedef {object} Unigram
 * @property {string[]} texts
 * @property {number[]} scores
 * @property {number[]} types    numbered as in GGUF
 * @property {boolean} prefix    a space is put before every text
 * @property {boolean} single    several spaces count as one, and those at the ends are dropped
 * @property {Uint8Array | null} charsmap  the table by which texts are normalised
 */
/**
 * A field of a message: its number, and its value or the place of its bytes.
 * @typedef {{field: number, wire: number, value: number, from: number, to: number}} Field
 */

/**
 * The fields of a message.
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 * @returns {Generator<Field, void, void>}
 */
function* fieldsOf(bytes, from, to) {
  let at = from;
  const varint = () => {
    let value = 0;
    for (let i = 0; i < 10; i++) {
      if (at >= to) throw new Error('it ends inside a number');
      const byte = bytes[at++];
      value += (byte & 127) * 2 ** (7 * i);
      if (byte < 128) return value;
    }
    throw new Error('a number is longer than ten bytes');
  };
  while (at < to) {
    const tag = varint();
    const [field, wire] = [Math.floor(tag / 8), tag % 8];
    if (![0, 1, 2, 5].includes(wire) || field < 1) throw new Error(`there is a field of type ${wire}`);
    const value = wire === 0 || wire === 2 ? varint() : 0;
    const size = [0, 8, value, 0, 0, 4][wire];
    if (size > to - at) throw new Error(`field ${field} has ${size} bytes, ${to - at} are left`);
    yield { field, wire, value, from: at, to: at + size };
    at += size;
  }
}

/**
 * Reads a SentencePiece model of the kind Unigram.
 * @param {Uint8Array} bytes
 * @param {string} name  of the file, for messages
 * @returns {Unigram}
 */
export function readUnigram(bytes, name) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** @type {Unigram} */
  const out = { texts: [], scores: [], types: [], prefix: true, single: true, charsmap: null };
  let kind = 1;
  /** @type {Record<string, (f: Field) => void>} by message and field */
  const read = {
    '1 1': ({ from, to }) => (out.texts[out.texts.length - 1] = utf8.decode(bytes.subarray(from, to))),
    '1 2': ({ from }) => (out.scores[out.scores.length - 1] = view.getFloat32(from, true)),
    '1 3': ({ value }) => (out.types[out.types.length - 1] = value),
    '2 3': ({ value }) => (kind = value),
    '3 2': ({ from, to }) => (out.charsmap = to > from ? bytes.slice(from, to) : null),
    '3 3': ({ value }) => (out.prefix = value !== 0),
    '3 4': ({ value }) => (out.single = value !== 0),
  };
  const wires = /** @type {Record<string, number>} */ ({ '1 1': 2, '1 2': 5, '3 2': 2 });
  try {
    for (const message of fieldsOf(bytes, 0, bytes.length)) {
      if (message.wire !== 2 || message.field > 3) continue;
      if (message.field === 1) {
        out.texts.push('');
        out.scores.push(0);
        out.types.push(NORMAL);
      }
      for (const f of fieldsOf(bytes, message.from, message.to)) {
        const key = `${message.field} ${f.field}`;
        if (!read[key]) continue;
        if (f.wire !== (wires[key] ?? 0)) throw new Error(`field ${key} is of type ${f.wire}`);
        read[key](f);
      }
    }
  } catch (e) {
    fail('bad-tokenizer', `${name}: this is not a SentencePiece model (${messageOf(e)})`, e);
  }
  if (!out.texts.length) fail('bad-tokenizer', `${name}: there are no tokens in it`);
  if (kind !== 1)
    fail('unsupported', `${name}: a vocabulary of kind ${KINDS[kind] ?? kind} is not supported, expected Unigram`);
  const odd = out.scores.findIndex((score) => !Number.isFinite(score));
  if (odd >= 0) fail('bad-tokenizer', `${name}: the token ${show(out.texts[odd])} has the score ${out.scores[odd]}`);
  return out;
}

/**
 * The tokenizer.json of a vocabulary whose texts end with </s>.
 * @param {Unigram} vocabulary
 * @param {string} name  of the file, for messages
 */
function tokenizerJson({ texts, ...rest }, name) {
  const id = (/** @type {string} */ text) => {
    const at = texts.indexOf(text);
    return at < 0 ? fail('bad-tokenizer', `${name}: there is no token ${text}`) : at;
  };
  const base = { texts: new TokenTexts(Texts.from(texts)), bos: null, eos: id('</s>'), unk: id('<unk>') };
  return unigramJson({ ...base, ...rest });
}

/**
 * T5's tokenizer: a SentencePiece model, then the tokens for gaps, the first one last.
 * @param {Uint8Array} bytes  spiece.model
 * @param {string} name  of the file, for messages
 * @param {unknown} extra  extra_ids of tokenizer_config.json, or undefined
 */
export function t5Tokenizer(bytes, name, extra = 100) {
  const pieces = readUnigram(bytes, name);
  if (typeof extra !== 'number' || !Number.isInteger(extra) || extra < 0 || extra > MAX_ID)
    fail('bad-tokenizer', `tokenizer_config.json: extra_ids is ${show(extra)}, expected a number of tokens`);
  for (let i = Number(extra) - 1; i >= 0; i--) {
    pieces.texts.push(`<extra_id_${i}>`);
    pieces.scores.push(0);
    pieces.types.push(CONTROL);
  }
  return tokenizerJson(pieces, name);
}

/**
 * Marian's tokenizer: the source's SentencePiece model cuts the text, vocab.json gives the ids. Language codes
 * (>>fra<<) are tokens.
 * @param {Uint8Array} bytes  source.spm
 * @param {any} vocab  parsed vocab.json
 * @param {string} name  of the folder, for messages
 */
export function marianTokenizer(bytes, vocab, name) {
  const source = readUnigram(bytes, `${name}: source.spm`);
  const where = `${name}: vocab.json`;
  if (vocab === null || typeof vocab !== 'object' || Array.isArray(vocab))
    fail('bad-tokenizer', `${where}: expected an object of ids`);
  /** @type {string[]} */
  const texts = [];
  for (const [text, id] of Object.entries(vocab)) {
    if (!isId(id)) fail('bad-tokenizer', `${where}: the token ${show(text)} has the id ${show(id)}`);
    if (texts[id] !== undefined) fail('bad-tokenizer', `${where}: the id ${id} belongs to two tokens`);
    texts[id] = text;
  }
  for (let id = 0; id < texts.length; id++)
    if (texts[id] === undefined) fail('bad-tokenizer', `${where}: no token has the id ${id}`);
  const own = new Map(source.texts.map((text, i) => [text, i]));
  const least = source.scores.reduce((a, b) => Math.min(a, b), 0);
  const places = texts.map((text) => own.get(text) ?? -1);
  const type = (/** @type {string} */ text) =>
    /^<(\/?s|pad)>$/.test(text) ? CONTROL : /^>>.+<<$/.test(text) ? USER_DEFINED : NORMAL;
  const scores = places.map((at) => (at < 0 ? least - FOREIGN : source.scores[at]));
  return tokenizerJson({ ...source, texts, scores, types: texts.map(type) }, where);
}
