// constraint.js - which tokens may come next, so that the text follows a grammar or a JSON schema
import { fail, show } from '../../base/errors.js';
import { remembered, rememberedNewest } from '../../base/lazy_value.js';
import { Automaton } from './automaton.js';
import { SECONDS } from './text_buckets.js';
import { WELL_FORMED, vocabularyOf } from './token_bytes.js';

/** @import { LoadedModel } from '../../run/loaded_model.js' */
/** @import { Tokenizer } from '../tokenizer.js' */
/** @import { State } from './automaton.js' */
/** @import { TextBuckets } from './text_buckets.js' */
/** @import { Vocabulary } from './token_bytes.js' */
/**
 * The tokens that may follow a state: a bit for each token of the model, and how many there are.
 * @typedef {{bits: Uint32Array, count: number}} Mask
 */
/**
 * masked: the states that have masks.
 * @typedef {{automaton: Automaton, vocabulary: Vocabulary, size: number, masked: State[]}} Compiled
 */

/** Bytes of the masks of one grammar. When there are more, all are forgotten. */
const MAX_MASK_BYTES = 2 ** 26;

const SPACE = 0x20;

/**
 * What the caller's side posts in place of the options json and grammar. text: of the grammar.
 * @typedef {{text: string, network: import('./automaton.js').Network}} Posted
 */
/** The newest grammars of each model, by their texts. @type {WeakMap<LoadedModel, Map<string, Compiled>>} */
const grammars = new WeakMap();
/** The tokens of each model as bytes. @type {WeakMap<Tokenizer, Vocabulary>} */
const vocabularies = new WeakMap();

/**
 * The constraint of a generation.
 * @param {LoadedModel} model
 * @param {Posted} posted
 * @param {number[]} prompt
 * @returns {Constraint}
 */
export function constraintOf(model, { text, network }, prompt) {
  const { tokenizer, special } = model;
  if (!tokenizer) return fail('bad-state', 'the tokenizer is missing');
  const own = remembered(grammars, model, () => new Map());
  const { vocab_size: size } = model.config;
  const vocabulary = remembered(vocabularies, tokenizer, () => vocabularyOf(tokenizer.parts(), size, special.eos));
  const make = () => ({ automaton: new Automaton(network), vocabulary, size, masked: [] });
  const found = rememberedNewest(own, text, make);
  const before = prompt.filter((id) => tokenizer.knows(id)).at(-1);
  return new Constraint(found, before === undefined || tokenizer.special.has(before));
}

/** The state of one text. */
export class Constraint {
  #compiled;
  /** @type {State} */
  #state;
  #written = '';
  #beginsText;

  /**
   * @param {Compiled} grammar
   * @param {boolean} beginsText  whether the decoder sees the first token as the beginning of a text
   */
  constructor(grammar, beginsText) {
    this.#compiled = grammar;
    this.#state = grammar.automaton.start;
    this.#beginsText = beginsText && grammar.vocabulary.stripsSpace;
  }

  /** Whether the text may end here and no token can follow. */
  get complete() {
    return this.#state.accepting && this.#mask().count === 0;
  }

  /**
   * The tokens that may come next: those that continue the text, and the end tokens where it may end.
   * @param {number[]} eos  the end tokens
   * @returns {Uint32Array} a bit for each token
   */
  allowed(eos) {
    const { bits, count } = this.#mask();
    const { accepting } = this.#state;
    if (!count && !accepting) {
      const end = this.#written ? `after ${show(this.#written.slice(-40))}` : 'at the beginning of the text';
      fail('unsupported', `the grammar cannot be followed ${end}: the vocabulary has no token that continues it`);
    }
    const out = bits.slice();
    if (accepting) for (const id of eos) out[id >> 5] |= 1 << (id & 31);
    return out;
  }

  /**
   * Continue with a token that was allowed.
   * @param {number} id
   */
  accept(id) {
    const { automaton, vocabulary } = this.#compiled;
    const own = vocabulary.bytes.subarray(vocabulary.starts[id], vocabulary.ends[id]);
    for (const byte of own)
      this.#state = automaton.step(this.#state, byte) ?? fail('bad-state', `token ${id} was not allowed`);
    this.#written = (this.#written + String.fromCharCode(...own)).slice(-200);
    this.#beginsText = false;
  }

  /** @returns {Mask} */
  #mask() {
    const mask = maskOf(this.#compiled, this.#state);
    if (!this.#beginsText) return mask;
    // The decoder would remove the space with which the text begins.
    const { vocabulary } = this.#compiled;
    const bits = mask.bits.slice();
    let { count } = mask;
    const { ids, begins } = vocabulary.all;
    for (const id of ids.subarray(begins[SECONDS * SPACE], begins[SECONDS * (SPACE + 1)])) {
      if (!((bits[id >> 5] >>> (id & 31)) & 1)) continue;
      bits[id >> 5] &= ~(1 << (id & 31));
      count--;
    }
    return { bits, count };
  }
}

/**
 * Whether each character that a string of JSON has as it is leads from a state back to it, as inside of a string.
 * @param {Automaton} automaton
 * @param {State} state
 */
function isLoop(automaton, state) {
  /** What was followed, by state. @type {Map<State, Set<string>>} */
  const followed = new Map();
  /** Whether the bytes of a range and `rest` more lead from a state back. @type {Follows} */
  const follows = (from, [low, high], rest) => {
    if (!from) return false;
    const known = remembered(followed, from, () => new Set());
    const key = `${low} ${high} ${rest}`;
    if (known.has(key)) return true;
    known.add(key);
    for (let byte = low; byte <= high; byte++) {
      const next = automaton.step(from, byte);
      if (rest ? !follows(next, CONTINUATION, rest - 1) : next !== state) return false;
    }
    return true;
  };
  return (
    PLAIN_ASCII.every((range) => follows(state, range, 0)) &&
    WELL_FORMED.every(({ lead: [low, high], second, rest }) => {
      for (let byte = low; byte <= high; byte++) if (!follows(automaton.step(state, byte), second, rest)) return false;
      return true;
    })
  );
}
/** @typedef {(from: State | null, range: number[], rest: number) => boolean} Follows */
const PLAIN_ASCII = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x7f],
];
const CONTINUATION = [0x80, 0xbf];

/**
 * The mask of a state, computed at its first use.
 * @param {Compiled} grammar
 * @param {State} state
 * @returns {Mask}
 */
function maskOf(grammar, state) {
  if (state.mask) return state.mask;
  const { automaton, vocabulary, size, masked } = grammar;
  const plain = isLoop(automaton, state) ? vocabulary.plain : null;
  const bits = plain?.bits.slice() ?? new Uint32Array(Math.ceil(size / 32));
  const count = (plain?.count ?? 0) + follow(automaton, state, plain?.others ?? vocabulary.all, bits);
  if ((masked.length + 1) * bits.byteLength > MAX_MASK_BYTES) for (const old of masked.splice(0)) old.mask = null;
  masked.push(state);
  return (state.mask = { bits, count });
}

/**
 * Mark the tokens that may follow a state.
 * @param {Automaton} automaton
 * @param {State} state
 * @param {TextBuckets} tokens
 * @param {Uint32Array} bits
 * @returns {number} how many
 */
function follow(automaton, state, tokens, bits) {
  const { begins, ids } = tokens;
  let count = 0;
  for (let first = 0; first < 256; first++) {
    const own = SECONDS * first;
    if (begins[own] === begins[own + SECONDS]) continue;
    const after = automaton.step(state, first);
    if (!after) continue;
    for (let i = begins[own]; i < begins[own + 1]; i++) bits[ids[i] >> 5] |= 1 << (ids[i] & 31);
    count += begins[own + 1] - begins[own];
    for (let bucket = own + 1; bucket < own + SECONDS; bucket++) {
      if (begins[bucket] === begins[bucket + 1]) continue;
      const next = automaton.step(after, bucket - own - 1);
      if (next) count += followBucket(automaton, [state, after, next], tokens, bucket, bits);
    }
  }
  return count;
}

/**
 * Mark the tokens of a bucket in their order: each from the first byte that it does not share with the one before it.
 * @param {Automaton} automaton
 * @param {State[]} path  the states after 0, 1, ... bytes of the last token that was followed
 * @param {TextBuckets} tokens
 * @param {number} bucket
 * @param {Uint32Array} bits
 * @returns {number} how many
 */
function followBucket(automaton, path, tokens, bucket, bits) {
  tokens.sort(bucket);
  const { begins, ids, shared, bytes, starts, ends } = tokens;
  let count = 0;
  /** So many first bytes of the last token lead nowhere. */
  let dead = Infinity;
  for (let i = begins[bucket]; i < begins[bucket + 1]; i++) {
    if (shared[i] >= dead) continue;
    const id = ids[i];
    const start = starts[id];
    const length = ends[id] - start;
    dead = Infinity;
    for (let k = shared[i]; k < length; k++) {
      const byte = bytes[start + k];
      const known = path[k].next[byte];
      const next = known === undefined ? automaton.step(path[k], byte) : known;
      if (!next) {
        dead = k + 1;
        break;
      }
      path[k + 1] = next;
    }
    if (dead < Infinity) continue;
    bits[id >> 5] |= 1 << (id & 31);
    count++;
  }
  return count;
}
