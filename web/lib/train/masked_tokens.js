// masked_tokens.js - the objective of encoders, masked tokens: ids are hidden and are to be found from both sides
import { Tokenizer } from '../text/tokenizer.js';

/** The token that hides another one; an own vocabulary has it as one of its words. */
export const MASK = '[MASK]';
/** Ids that are hidden; their targets (Devlin et al. 2018, section 3.1). */
const SHARE = 0.15;

/**
 * Numbers from 0 to below 2 ** 32 that depend on the seed (splitmix32).
 * @param {number} seed
 * @returns {() => number}
 */
export function randomOf(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let x = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return (x ^ (x >>> 15)) >>> 0;
  };
}

/**
 * Hide 15 % of the ids, at least one: of these 80 % become the mask, 10 % a random id, and 10 % stay as they are.
 * @param {number[]} ids
 * @param {{mask: number, vocab: number, least: number}} tokens  id of the mask; ids below `least` are left alone
 * @param {() => number} random
 * @returns {{ids: number[], targets: number[]}}  targets: the hidden ids, -1 elsewhere
 */
export function maskedOf(ids, { mask, vocab, least }, random) {
  const left = ids.flatMap((id, i) => (id < least ? [] : [i]));
  const hidden = [...ids];
  const targets = ids.map(() => -1);
  for (let n = Math.min(left.length, Math.max(1, Math.round(SHARE * ids.length))); n > 0; n--) {
    const [at] = left.splice(random() % left.length, 1);
    const kind = random() % 10;
    targets[at] = ids[at];
    if (kind < 8) hidden[at] = mask;
    else if (kind === 8) hidden[at] = least + (random() % (vocab - least));
  }
  return { ids: hidden, targets };
}

/**
 * A vocabulary that a trainer has learnt, with the mask as its last token, which also replaces the space before it.
 * @param {string} json  tokenizer.json
 * @returns {Tokenizer}
 */
export function withMask(json) {
  const { added_tokens: added, ...rest } = JSON.parse(json);
  const id = Object.keys(rest.model.vocab).length;
  return new Tokenizer({ ...rest, added_tokens: [...added, { id, content: MASK, lstrip: true, special: true }] });
}

/**
 * A text as sequences of ids, each story in as few as possible.
 * @param {Tokenizer} tokenizer
 * @param {Uint8Array} text
 * @param {string} separator  between stories
 * @param {number} length     ids of a sequence, at most
 */
export function sequencesOf(tokenizer, text, separator, length) {
  const sequences = [];
  for (const story of new TextDecoder().decode(text).split(separator)) {
    const ids = story.trim() ? tokenizer.encode(story.trim()) : [];
    for (let at = 0; at < ids.length; at += length) sequences.push(ids.slice(at, at + length));
  }
  return sequences.filter((ids) => ids.length > 1); // the separator alone has nothing to hide
}
