// merge_pieces.js - a SentencePiece model of the kind BPE, such as Llama's tokenizer.model, as pieces and merges
import { fail } from '../../base/errors.js';
import { isId } from './check_tokenizer_json.js';

/** Kinds of a piece in the file: of sentencepiece_model.proto. */
export const PIECE = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 };
/** Longest piece of which merges are made, as trained by default at most 16 characters. */
const LONGEST = 512;

/**
 * A message of protocol buffers: the fields with their numbers. Groups are refused.
 * @param {Uint8Array} bytes
 * @param {() => never} refuse
 * @returns {Generator<{field: number, value: number, body: Uint8Array}, void, void>}
 */
function* message(bytes, refuse) {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let i = 0; i < 10; i++) {
      if (at >= bytes.length) refuse();
      const byte = bytes[at++];
      value += (byte & 127) * 2 ** (7 * i);
      if (byte < 128) return value;
    }
    return refuse();
  };
  while (at < bytes.length) {
    const tag = varint();
    const value = [0, 2].includes(tag % 8) ? varint() : 0;
    const size = { 0: 0, 1: 8, 2: value, 5: 4 }[tag % 8] ?? refuse();
    if (size > bytes.length - at) refuse();
    yield { field: Math.floor(tag / 8), value, body: bytes.subarray(at, at + size) };
    at += size;
  }
}

/**
 * @typedef {object} Pieces
 * @property {string[]} texts  by id
 * @property {number[]} scores
 * @property {number[]} kinds  of PIECE
 * @property {boolean} isBpe
 * @property {boolean} isPlain  whether texts are taken as they are: no table of normalisation, and spaces stay
 */

/**
 * Reads a SentencePiece model.
 * @param {Uint8Array} bytes
 * @param {string} name  of the file, for messages
 * @returns {Pieces}
 */
export function readPieces(bytes, name) {
  const refuse = () => fail('bad-tokenizer', `${name}: this is not a SentencePiece model`);
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** @type {Pieces} */
  const out = { texts: [], scores: [], kinds: [], isBpe: false, isPlain: false };
  let [isNormalised, losesSpaces, begins] = [false, true, true];
  for (const { field, body } of message(bytes, refuse)) {
    if (field > 3) continue;
    let [text, score, kind] = ['', 0, PIECE.normal];
    for (const part of message(body, refuse)) {
      const key = `${field} ${part.field}`;
      if (key === '1 1') {
        try {
          text = utf8.decode(part.body);
        } catch {
          refuse();
        }
      } else if (key === '1 2' && part.body.length === 4) {
        score = new DataView(part.body.buffer, part.body.byteOffset).getFloat32(0, true);
      } else if (key === '1 3') kind = part.value;
      else if (key === '2 3') out.isBpe = part.value === 2;
      else if (key === '3 2') isNormalised = part.body.length > 0;
      else if (key === '3 3') begins = part.value !== 0;
      else if (key === '3 4') losesSpaces = part.value !== 0;
    }
    if (field !== 1) continue;
    if (!isId(out.texts.length)) refuse();
    out.texts.push(text);
    out.scores.push(score);
    out.kinds.push(kind);
  }
  out.isPlain = !isNormalised && !losesSpaces && begins;
  return out.texts.length ? out : refuse();
}

/**
 * The merges of pieces, the best first: those of a better score, then those of longer parts, as in transformers.
 * @param {Pieces} pieces
 * @returns {[string, string][]}
 */
export function mergesOf({ texts, scores }) {
  const ids = new Map(texts.map((text, id) => [text, id]));
  /** @type {{left: string, right: string, score: number, lengths: [number, number]}[]} */
  const merges = [];
  for (const [id, text] of texts.entries()) {
    const characters = Array.from(text);
    /** @type {[number, number, number][]} ids of the parts, and where they meet */
    const cuts = [];
    for (let cut = 1; cut < Math.min(characters.length, LONGEST); cut++) {
      const left = ids.get(characters.slice(0, cut).join(''));
      const right = left === undefined ? undefined : ids.get(characters.slice(cut).join(''));
      if (left !== undefined && right !== undefined) cuts.push([left, right, cut]);
    }
    cuts.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [left, right, cut] of cuts) {
      const lengths = /** @type {[number, number]} */ ([cut, characters.length - cut]);
      merges.push({ left: texts[left], right: texts[right], score: scores[id], lengths });
    }
  }
  merges.sort((a, b) => b.score - a.score || b.lengths[0] - a.lengths[0] || b.lengths[1] - a.lengths[1]);
  return merges.map(({ left, right }) => [left, right]);
}
