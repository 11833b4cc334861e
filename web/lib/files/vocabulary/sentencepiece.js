// sentencepiece.js - reads SentencePiece models (tokenizer.model, spiece.model, source.spm), and makes the
// tokenizer.json of a checkpoint without one, T5 and Marian among them
//
// A model is a message of protocol buffers (sentencepiece_model.proto): 1 pieces, 2 trainer_spec, 3 normalizer_spec.
import { fail, messageOf, show } from '../../base/errors.js';
import { piecesJson } from './sentencepiece_vocab.js';
import { Texts, TokenTexts } from './packed_texts.js';
import { CONTROL, MAX_ID, NORMAL, UNKNOWN, USER_DEFINED, isId } from './tokenizer_json.js';

/** Kinds of vocabularies by their number in trainer_spec.model_type. @type {(Kind | undefined)[]} */
const KINDS = [undefined, 'Unigram', 'BPE', 'word', 'character'];
/** How far the score of a token that the source's vocabulary lacks lies below its lowest: it is the last resort. */
const FOREIGN = 100;

/** @import { Kind, Rules } from './sentencepiece_vocab.js' */
/**
 * A vocabulary, with the rules by which texts are normalised.
 * @typedef {object} PieceFile
 * @property {Kind} kind
 * @property {string[]} texts
 * @property {number[]} scores
 * @property {number[]} types    numbered as in GGUF
 * @property {number} bos  id of the token that begins a text; -1: none
 * @property {number} eos
 * @property {boolean} prefix    a space is put before every text
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

/** The rules of a file that names none. */
const RULES = { prefix: true, single: true, charsmap: null, escapes: true, suffix: false };

/**
 * Reads a SentencePiece model.
 * @param {Uint8Array} bytes
 * @param {string} name  of the file, for messages
 * @returns {PieceFile & Rules}
 */
export function readPieces(bytes, name) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** @type {PieceFile & Rules} */
  const out = { kind: 'Unigram', texts: [], scores: [], types: [], bos: 1, eos: 2, ...RULES };
  /** @type {Record<string, (f: Field) => void>} by message and field */
  const read = {
    '1 1': ({ from, to }) => (out.texts[out.texts.length - 1] = utf8.decode(bytes.subarray(from, to))),
    '1 2': ({ from }) => (out.scores[out.scores.length - 1] = view.getFloat32(from, true)),
    '1 3': ({ value }) => (out.types[out.types.length - 1] = value),
    '2 3': ({ value }) => (out.kind = /** @type {Kind} */ (KINDS[value] ?? String(value))),
    '2 24': ({ value }) => (out.suffix = value !== 0),
    '2 41': ({ value }) => (out.bos = value | 0),
    '2 42': ({ value }) => (out.eos = value | 0),
    '3 2': ({ from, to }) => (out.charsmap = to > from ? bytes.slice(from, to) : null),
    '3 3': ({ value }) => (out.prefix = value !== 0),
    '3 4': ({ value }) => (out.single = value !== 0),
    '3 5': ({ value }) => (out.escapes = value !== 0),
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
  if (!KINDS.includes(out.kind))
    fail('unsupported', `${name}: a vocabulary of kind ${out.kind} is not known, expected 1 to 4`);
  const odd = out.scores.findIndex((score) => !Number.isFinite(score));
  if (odd >= 0) fail('bad-tokenizer', `${name}: the token ${show(out.texts[odd])} has the score ${out.scores[odd]}`);
  return out;
}

/**
 * The tokenizer.json of a vocabulary.
 * @param {PieceFile & Rules} vocabulary
 * @param {string} name  of the file, for messages
 * @param {{bos?: number | null, eos?: number | null, ownPieces?: boolean}} options  bos, eos: put around every text
 */
function tokenizerJson({ texts, ...rest }, name, { bos = null, eos = null, ownPieces = true }) {
  const unk = rest.types.indexOf(UNKNOWN);
  const { escapes, kind } = rest;
  if (unk < 0) fail('bad-tokenizer', `${name}: there is no unknown token`);
  if (!escapes && kind === 'word') fail('unsupported', `${name}: words without marks of spaces are not supported`);
  return piecesJson({ ...rest, texts: new TokenTexts(Texts.from(texts)), bos, eos, unk, ownPieces });
}

/**
 * The id of </s>, which ends texts.
 * @param {string[]} texts
 * @param {string} name  of the file, for messages
 */
function endOf(texts, name) {
  const id = texts.indexOf('</s>');
  return id < 0 ? fail('bad-tokenizer', `${name}: there is no token </s>`) : id;
}

/**
 * The tokenizer of a SentencePiece model alone, of any kind: tokenizer.model.
 * @param {Uint8Array} bytes
 * @param {string} name  of the file, for messages
 * @param {{addBos?: boolean, addEos?: boolean}} [options]  tokens that are put before and after every text
 */
export function sentencePieceTokenizer(bytes, name, { addBos = false, addEos = false } = {}) {
  const pieces = readPieces(bytes, name);
  const around = (/** @type {boolean} */ adds, /** @type {number} */ id) =>
    adds && id >= 0 && id < pieces.texts.length ? id : null;
  return tokenizerJson(pieces, name, { bos: around(addBos, pieces.bos), eos: around(addEos, pieces.eos) });
}

/**
 * T5's tokenizer: a SentencePiece model, then the tokens for gaps, the first one last.
 * @param {Uint8Array} bytes  spiece.model
 * @param {string} name  of the file, for messages
 * @param {unknown} extra  extra_ids of tokenizer_config.json, or undefined
 */
export function t5Tokenizer(bytes, name, extra = 100) {
  const pieces = readPieces(bytes, name);
  if (typeof extra !== 'number' || !Number.isInteger(extra) || extra < 0 || extra > MAX_ID)
    fail('bad-tokenizer', `tokenizer_config.json: extra_ids is ${show(extra)}, expected a number of tokens`);
  for (let i = Number(extra) - 1; i >= 0; i--) {
    pieces.texts.push(`<extra_id_${i}>`);
    pieces.scores.push(0);
    pieces.types.push(CONTROL);
  }
  return tokenizerJson(pieces, name, { eos: endOf(pieces.texts, name) });
}

/**
 * Marian's tokenizer: the source's SentencePiece model cuts the text, vocab.json gives the ids. Language codes
 * (>>fra<<) are tokens.
 * @param {Uint8Array} bytes  source.spm
 * @param {any} vocab  parsed vocab.json
 * @param {string} name  of the folder, for messages
 */
export function marianTokenizer(bytes, vocab, name) {
  const source = readPieces(bytes, `${name}: source.spm`);
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
    text === '<unk>' ? UNKNOWN : /^<(\/?s|pad)>$/.test(text) ? CONTROL : /^>>.+<<$/.test(text) ? USER_DEFINED : NORMAL;
  const scores = places.map((at) => (at < 0 ? least - FOREIGN : source.scores[at]));
  const pieces = { ...source, texts, scores, types: texts.map(type) };
  return tokenizerJson(pieces, where, { eos: endOf(texts, where), ownPieces: false });
}
