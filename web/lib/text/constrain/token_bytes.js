// token_bytes.js - the tokens of a vocabulary as the bytes that they add to a text
import { fail, show } from '../../base/errors.js';
import { TextBuckets } from './text_buckets.js';

/** @import { TokenTexts } from '../../files/vocabulary/packed_texts.js' */
/**
 * The bytes of all tokens, by id; a token that adds none to a text has none.
 * @typedef {object} Vocabulary
 * @property {Uint8Array} bytes
 * @property {Uint32Array} starts  in `bytes`, by id
 * @property {Uint32Array} ends
 * @property {TextBuckets} all
 * @property {Plain} plain  made at its first use, which is inside of a string
 * @property {boolean} stripsSpace  whether the decoder removes the space before the first word of a text
 */
/**
 * Tokens of whole characters that a string of JSON has as they are. bits: a bit for each id; others: the other tokens.
 * @typedef {{bits: Uint32Array, count: number, others: TextBuckets}} Plain
 */
/**
 * What is read of a tokenizer.
 * @typedef {{texts: TokenTexts, unk: number, added: {id: number, content: string, special: boolean}[], decoder: any}}
 *   Parts
 */

const utf8 = new TextEncoder();
const SPECIAL = 0xff; // a byte that no UTF-8 has

/** Bytes of texts by id, written one after the other. */
class Written {
  bytes = new Uint8Array(1 << 20);
  used = 0;

  /** @param {number} size  tokens */
  constructor(size) {
    this.starts = new Uint32Array(size);
    this.ends = new Uint32Array(size);
  }

  /** Make room for more bytes. @param {number} more */
  reserve(more) {
    if (this.used + more <= this.bytes.length) return;
    const larger = new Uint8Array(2 * (this.used + more));
    larger.set(this.bytes.subarray(0, this.used));
    this.bytes = larger;
  }

  /** The bytes from `used` on become the text of a token. @param {number} id @param {number} end */
  end(id, end) {
    this.starts[id] = this.used;
    this.ends[id] = this.used = end;
  }
}

/**
 * Changes the bytes of a token in place, and returns where they end; at `from`: the token adds nothing. growth: how
 * many times as long a token may become.
 * @typedef {{(bytes: Uint8Array, from: number, to: number): number, growth?: number}} Change
 */

/**
 * A change of a byte-level token. Each of its characters stands for a byte: printable ones of Latin-1 for themselves,
 * the others follow from U+0100 on (Radford et al. 2019).
 * @returns {Change}
 */
function byteLevel() {
  const bytes = new Int16Array(0x800).fill(-1);
  let next = 256;
  for (let byte = 0; byte < SPECIAL; byte++) {
    const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    bytes[isPrintable ? byte : next++] = byte;
  }
  return (own, from, to) => {
    let end = from;
    for (let at = from; at < to; at++) {
      const lead = own[at];
      const code = lead < 0x80 ? lead : lead < 0xe0 ? ((lead & 31) << 6) | (own[++at] & 63) : 0;
      if (bytes[code] < 0) return from;
      own[end++] = bytes[code];
    }
    return end;
  };
}

/**
 * The changes of a token of a vocabulary with whole characters: what the steps of its decoder replace, and bytes.
 * @param {any[]} steps  of the decoder
 */
function plainSteps(steps) {
  /** @type {[string, string][]} */
  const replacements = [];
  let hasBytes = false;
  for (const step of steps) {
    if (step?.type === 'Replace' && typeof step.pattern?.String === 'string' && step.pattern.String)
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
  return { replacements, hasBytes };
}

/**
 * A change of a token of whole characters.
 * @param {any[]} steps  of the decoder
 * @returns {Change}
 */
function plain(steps) {
  const { replacements, hasBytes } = plainSteps(steps);
  const pairs = replacements.map((pair) => pair.map((text) => utf8.encode(text)));
  const growth = pairs.reduce((all, [old, own]) => all * Math.max(1, own.length / old.length), 1);
  const digit = (/** @type {number} */ byte) => '0123456789ABCDEF'.indexOf(String.fromCharCode(byte));
  /** @type {Change} */
  const change = (bytes, from, to) => {
    if (hasBytes && to - from === 6 && bytes[from] === 0x3c && bytes[from + 1] === 0x30 && bytes[from + 2] === 0x78) {
      const [high, low] = [digit(bytes[from + 3]), digit(bytes[from + 4])];
      if (bytes[to - 1] === 0x3e && high >= 0 && low >= 0) {
        bytes[from] = 16 * high + low;
        return bytes[from] === SPECIAL ? from : from + 1;
      }
    }
    for (let i = 0; i < pairs.length; i++) to = replaceBytes(bytes, from, to, pairs[i][0], pairs[i][1]);
    return to;
  };
  return Object.assign(change, { growth });
}

/**
 * Replace a text in bytes[from..to).
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 * @param {Uint8Array} old
 * @param {Uint8Array} own
 * @returns {number} where they end
 */
function replaceBytes(bytes, from, to, old, own) {
  const lead = old[0];
  let first = from;
  while (first < to && bytes[first] !== lead) first++;
  if (first === to) return to;
  from = first;
  const isLonger = own.length > old.length;
  const read = isLonger ? bytes.slice(from, to) : bytes;
  const last = isLonger ? to - from : to;
  let end = from;
  for (let at = isLonger ? 0 : from; at < last;) {
    let same = 0;
    while (same < old.length && at + same < last && read[at + same] === old[same]) same++;
    if (same < old.length) bytes[end++] = read[at++];
    else {
      for (let k = 0; k < own.length; k++) bytes[end++] = own[k];
      at += same;
    }
  }
  return end;
}

/**
 * Whether bytes are whole characters that a string of JSON has as they are.
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 */
function isPlain(bytes, from, to) {
  for (let at = from; at < to;) {
    const byte = bytes[at++];
    if (byte < 0x80) {
      if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return false;
      continue;
    }
    const { low, high, rest } = BY_LEAD[byte];
    if (at + rest + 1 > to) return false;
    const second = bytes[at++];
    if (second < low || second > high) return false;
    for (let k = 0; k < rest; k++) if ((bytes[at++] & 0xc0) !== 0x80) return false;
  }
  return true;
}

const NONE = { second: [1, 0], rest: 0 };
/**
 * Characters of several bytes (Unicode, table 3-7): the first byte, the second, and how many follow from 0x80 to 0xBF.
 */
export const WELL_FORMED = [
  { lead: [0xc2, 0xdf], second: [0x80, 0xbf], rest: 0 },
  { lead: [0xe0, 0xe0], second: [0xa0, 0xbf], rest: 1 },
  { lead: [0xe1, 0xec], second: [0x80, 0xbf], rest: 1 },
  { lead: [0xed, 0xed], second: [0x80, 0x9f], rest: 1 },
  { lead: [0xee, 0xef], second: [0x80, 0xbf], rest: 1 },
  { lead: [0xf0, 0xf0], second: [0x90, 0xbf], rest: 2 },
  { lead: [0xf1, 0xf3], second: [0x80, 0xbf], rest: 2 },
  { lead: [0xf4, 0xf4], second: [0x80, 0x8f], rest: 2 },
];
/** The second byte of a character, and how many follow, by the first byte. A byte that begins no character has none. */
const BY_LEAD = Array.from({ length: 256 }, (_, byte) => {
  const { second, rest } = WELL_FORMED.find(({ lead: [low, high] }) => byte >= low && byte <= high) ?? NONE;
  return { low: second[0], high: second[1], rest };
});

/**
 * The bytes of each token, by id.
 * @param {Parts} tokenizer
 * @param {any[]} steps  of its decoder
 * @param {number} size  tokens of the model
 * @returns {Written}
 */
function tokenBytes({ texts, unk, added }, steps, size) {
  const isByteLevel = steps.some((/** @type {any} */ d) => d?.type === 'ByteLevel');
  const change = isByteLevel ? byteLevel() : plain(steps);
  const written = new Written(size);
  for (let id = 0; id < Math.min(size, texts.size); id++) {
    if (id === unk || texts.isHole(id)) continue;
    written.reserve(texts.sizeOf(id) * (change.growth ?? 1));
    const { bytes, used } = written;
    written.end(id, change(bytes, used, texts.copy(id, bytes, used)));
  }
  for (const { id, content, special } of added) {
    if (id >= size) continue;
    const own = utf8.encode(content);
    written.reserve(own.length + 1);
    const from = written.used;
    if (special) written.bytes[from] = SPECIAL; // special tokens are no text: only their names read them
    written.bytes.set(own, from + Number(special));
    written.end(id, from + Number(special) + own.length);
  }
  return written;
}

/**
 * The vocabulary of a tokenizer.
 * @param {Parts} tokenizer
 * @param {number} size  tokens of the model
 * @param {number[]} eos  tokens that end the text, which add nothing to it
 * @returns {Vocabulary}
 */
export function vocabularyOf(tokenizer, size, eos) {
  const { decoder } = tokenizer;
  const steps = decoder?.type === 'Sequence' ? decoder.decoders : [decoder];
  const { bytes, starts, ends } = tokenBytes(tokenizer, steps, size);
  for (const id of eos) ends[id] = starts[id];
  const ids = new Int32Array(size);
  let n = 0;
  for (let id = 0; id < size; id++) if (ends[id] !== starts[id]) ids[n++] = id;
  const all = new TextBuckets(bytes, starts, ends, ids.subarray(0, n));
  const stripsSpace = steps.some((/** @type {any} */ d) => d?.type === 'Strip' || d?.type === 'Metaspace');
  /** @type {Plain | undefined} */
  let plain;
  return {
    bytes,
    starts,
    ends,
    all,
    get plain() {
      return (plain ??= plainOf(all, size));
    },
    stripsSpace,
  };
}

/**
 * Tells the tokens that a string of JSON has as they are from the others.
 * @param {TextBuckets} all
 * @param {number} size  tokens of the model
 * @returns {Plain}
 */
function plainOf({ bytes, starts, ends, ids }, size) {
  const bits = new Uint32Array(Math.ceil(size / 32));
  const others = new Int32Array(ids.length);
  let n = 0;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i];
    if (isPlain(bytes, starts[id], ends[id])) bits[id >> 5] |= 1 << (id & 31);
    else others[n++] = id;
  }
  return { bits, count: ids.length - n, others: new TextBuckets(bytes, starts, ends, others.subarray(0, n).sort()) };
}
