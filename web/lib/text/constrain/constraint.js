// constraint.js - which tokens may come next, so that the text follows a grammar or a JSON schema
import { fail, show } from '../../base/errors.js';
import { remembered, rememberedNewest } from '../../base/lazy_value.js';
import { Automaton } from './automaton.js';

/** @import { LoadedModel } from '../../run/loaded_model.js' */
/** @import { State } from './automaton.js' */
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

/**
 * What the caller's side posts in place of the options json and grammar. text: of the grammar.
 * @typedef {{text: string, network: import('./automaton.js').Network}} Posted
 */
/** The newest grammars of each model, by their texts. @type {WeakMap<LoadedModel, Map<string, Compiled>>} */
const grammars = new WeakMap();

/**
 * The constraint of a generation.
 * @param {LoadedModel} model
 * @param {Posted} posted
 * @param {number[]} prompt
 * @returns {Constraint}
 */
export function constraintOf(model, { text, network }, prompt) {
  const { tokenizer, vocabulary } = model;
  if (!tokenizer || !vocabulary) return fail('bad-state', 'the vocabulary is missing');
  const own = remembered(grammars, model, () => new Map());
  const { vocab_size: size } = model.config;
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
    const { offsets, places, bytes } = vocabulary;
    const own = bytes.subarray(offsets[places[id]], offsets[places[id] + 1]);
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
    vocabulary.ids.forEach((id, i) => {
      if (vocabulary.bytes[vocabulary.offsets[i]] !== 0x20 || !((bits[id >> 5] >>> (id & 31)) & 1)) return;
      bits[id >> 5] &= ~(1 << (id & 31));
      count--;
    });
    return { bits, count };
  }
}

/**
 * The mask of a state, computed at its first use: the tokens in order, each from the first byte that it does not share
 * with the one before it.
 * @param {Compiled} grammar
 * @param {State} state
 * @returns {Mask}
 */
function maskOf({ automaton, vocabulary, size, masked }, state) {
  if (state.mask) return state.mask;
  const { ids, bytes, offsets, shared } = vocabulary;
  const bits = new Uint32Array(Math.ceil(size / 32));
  let count = 0;
  /** States after 0, 1, ... bytes of the last token that was followed. */
  const path = [state];
  /** So many first bytes of that token lead nowhere. */
  let dead = Infinity;
  for (let i = 0; i < ids.length; i++) {
    if (shared[i] >= dead) continue;
    const length = offsets[i + 1] - offsets[i];
    dead = Infinity;
    for (let k = shared[i]; k < length; k++) {
      const next = automaton.step(path[k], bytes[offsets[i] + k]);
      if (!next) {
        dead = k + 1;
        break;
      }
      path[k + 1] = next;
    }
    if (dead < Infinity) continue;
    bits[ids[i] >> 5] |= 1 << (ids[i] & 31);
    count++;
  }
  if ((masked.length + 1) * bits.byteLength > MAX_MASK_BYTES) for (const old of masked.splice(0)) old.mask = null;
  masked.push(state);
  return (state.mask = { bits, count });
}
