// unigram.js - the model Unigram (Kudo 2018): of all ways to cut a text, the tokens with the best sum of scores
import { show } from '../../base/errors.js';
import { Texts, TokenTexts, writeUtf8 } from '../../files/vocabulary/packed_texts.js';
import { refuse } from './component.js';
import { byteToken } from './vocabulary.js';

/** @import { Component } from './component.js' */
/** @import { Model } from './bpe.js' */

/** How far the score of an unknown character lies below that of every token. */
const UNKNOWN_PENALTY = 10;
/** Nodes of a trie whose keys fit into 31 bits. */
const MOST_NODES = 2 ** 23 - 2;

/** @param {Component} options @returns {Model} */
export function unigram(options) {
  const { vocab, unk_id: unk = null } = options.json;
  const fine =
    Array.isArray(vocab) && vocab.every((v) => Array.isArray(v) && typeof v[0] === 'string' && Number.isFinite(v[1]));
  if (!fine || !vocab.length) refuse('the vocabulary is not a list of tokens with scores');
  if (unk !== null && !(Number.isInteger(unk) && unk >= 0 && unk < vocab.length))
    options.refuse(`unk_id is ${show(unk)}, the vocabulary has ${vocab.length} tokens`);
  const texts = new TokenTexts(Texts.from(vocab.map((/** @type {[string, number]} */ [text]) => text)), true);
  const scores = Float64Array.from(vocab, ([, score]) => score);
  /** Made when it is needed, as opening a file takes half of the time without it. @type {Lattice | null} */
  let lattice = null;
  const made = () =>
    new Lattice(texts, {
      scoreOf: (id) => scores[id],
      least: scores.reduce((a, b) => Math.min(a, b), Infinity),
      unk: unk ?? -1,
      hasBytes: options.flag('byte_fallback', false),
      joins: true,
      round: (sum) => sum,
    });
  return { texts, unk: unk ?? -1, tokenise: (text, out) => (lattice ??= made()).tokenise(text, out) };
}

/** A trie of all tokens, and the best path through a text. */
export class Lattice {
  /** The child of a node by 256 * node + byte, in open addressing: keys and children. 0: empty. */
  #keys;
  #children;
  #nodes = 1;
  /** The token that ends at a node; -1: none. */
  #tokens;
  /** The UTF-8 of a text, and for each place the best sum of a path to it, where its last token starts, and its id. */
  #bytes = new Uint8Array(0);
  #sums = new Float64Array(0);
  #starts = new Int32Array(0);
  #ids = new Int32Array(0);

  /**
   * @param {TokenTexts} texts
   * @param {object} options
   * @param {(id: number, size: number) => number} options.scoreOf  NaN: no text becomes this token. size: in bytes
   * @param {number} options.least  the least score
   * @param {number} options.unk  -1: a text with unknown characters is refused
   * @param {boolean} options.hasBytes  unknown characters become tokens for their bytes
   * @param {boolean} options.joins  unknown neighbours become a token of the same text, as in the Rust library
   * @param {(sum: number) => number} options.round  the precision of the sums that are kept
   */
  constructor(texts, options) {
    this.texts = texts;
    this.options = options;
    const slots = 2 ** Math.ceil(Math.log2(texts.bytes + 16));
    this.#keys = new Int32Array(slots);
    this.#children = new Int32Array(slots);
    this.#tokens = new Int32Array(slots >> 1).fill(-1);
    const buffer = new Uint8Array(1 << 16);
    for (let id = 0; id < texts.size; id++) {
      if (Number.isNaN(options.scoreOf(id, 1))) continue;
      const size = texts.sizeOf(id);
      const bytes = size > buffer.length ? new Uint8Array(size) : buffer;
      this.#insert(bytes, texts.copy(id, bytes, 0), id);
    }
  }

  /** @param {Uint8Array} bytes @param {number} size @param {number} id */
  #insert(bytes, size, id) {
    let node = 0;
    for (let i = 0; i < size; i++) {
      if (2 * this.#nodes >= this.#keys.length) this.#grow();
      if (this.#nodes > MOST_NODES) refuse(`the tokens have more than ${MOST_NODES} different beginnings`);
      const key = 256 * node + bytes[i] + 1;
      const slot = this.#slot(key);
      if (!this.#keys[slot]) {
        this.#keys[slot] = key;
        this.#children[slot] = this.#nodes++;
      }
      node = this.#children[slot];
    }
    if (node >= this.#tokens.length) {
      const larger = new Int32Array(2 * Math.max(node, this.#tokens.length)).fill(-1);
      larger.set(this.#tokens);
      this.#tokens = larger;
    }
    this.#tokens[node] = id;
  }

  #grow() {
    const [keys, children] = [this.#keys, this.#children];
    this.#keys = new Int32Array(4 * keys.length);
    this.#children = new Int32Array(4 * keys.length);
    keys.forEach((key, i) => {
      if (!key) return;
      const slot = this.#slot(key);
      this.#keys[slot] = key;
      this.#children[slot] = children[i];
    });
  }

  /** @param {number} key */
  #slot(key) {
    const keys = this.#keys;
    const mask = keys.length - 1;
    let slot = Math.imul(key, 0x9e3779b1);
    slot = (slot ^ (slot >>> 15)) & mask;
    while (keys[slot] && keys[slot] !== key) slot = (slot + 1) & mask;
    return slot;
  }

  /**
   * Cut a text into tokens: append their ids.
   * @param {string} text
   * @param {number[]} out
   */
  tokenise(text, out) {
    const most = 3 * text.length;
    if (most > this.#bytes.length) this.#reserve(2 * most);
    const n = writeUtf8(text, this.#bytes, 0);
    this.#findBestPath(n);
    const starts = this.#starts;
    const ids = this.#ids;
    const { unk } = this.options;
    /** Ends of the tokens from the last one to the first; unknown neighbours are one. @type {number[]} */
    const ends = [];
    for (let end = n; end > 0; end = starts[end]) {
      const last = /** @type {number} */ (ends.at(-1));
      if (ends.length && ids[end] === unk && ids[last] === unk) starts[last] = starts[end];
      else ends.push(end);
    }
    for (let i = ends.length - 1; i >= 0; i--)
      if (ids[ends[i]] === unk) this.#writeUnknown(this.#bytes, starts[ends[i]], ends[i], out);
      else out.push(ids[ends[i]]);
  }

  /** @param {number} n  bytes of the longest text */
  #reserve(n) {
    this.#bytes = new Uint8Array(n);
    this.#sums = new Float64Array(n + 1);
    this.#starts = new Int32Array(n + 1);
    this.#ids = new Int32Array(n + 1);
  }

  /**
   * Find the best path to each place of a text.
   * @param {number} n  its bytes
   */
  #findBestPath(n) {
    const bytes = this.#bytes;
    const sums = this.#sums;
    const starts = this.#starts.fill(-1, 0, n + 1);
    const ids = this.#ids;
    const keys = this.#keys;
    const { scoreOf, round, unk, least } = this.options;
    const unknown = round(least - UNKNOWN_PENALTY);
    sums[0] = 0;
    for (let at = 0; at < n;) {
      const lead = bytes[at];
      const end = at + (lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4);
      const before = sums[at];
      let isToken = false;
      for (let node = 0, to = at; to < n;) {
        const slot = this.#slot(256 * node + bytes[to++] + 1);
        if (!keys[slot]) break;
        node = this.#children[slot];
        const id = this.#tokens[node] ?? -1;
        if (id < 0) continue;
        const sum = scoreOf(id, to - at) + before;
        if (starts[to] < 0 || sum > sums[to]) {
          sums[to] = round(sum);
          starts[to] = at;
          ids[to] = id;
        }
        if (to === end) isToken = true;
      }
      if (!isToken) {
        if (unk < 0) refuse('the text has an unknown character, and the Unigram has no unk_id');
        const sum = round(unknown + before);
        if (starts[end] < 0 || sum > sums[end]) {
          sums[end] = round(sum);
          starts[end] = at;
          ids[end] = unk;
        }
      }
      at = end;
    }
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} from
   * @param {number} to
   * @param {number[]} out
   */
  #writeUnknown(bytes, from, to, out) {
    const { joins, hasBytes } = this.options;
    const whole = joins ? this.texts.find(bytes, from, to) : -1;
    if (whole >= 0) return void out.push(whole);
    if (hasBytes) {
      const ids = Array.from(bytes.subarray(from, to), (byte) => this.texts.get(byteToken(byte)) ?? -1);
      if (!ids.includes(-1)) {
        for (const id of ids) out.push(id); // more than a call may have arguments
        return;
      }
    }
    out.push(this.options.unk);
  }
}
