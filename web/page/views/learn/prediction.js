// prediction.js - the words of a text that can be guessed, and the probability of each guess
import { likeliest, summed } from '../../../draw/likelihood.js';

/** @typedef {{ id: number, text: string }} Piece  a token and what it adds to the text */

const FIRST = 5; // tokens that are read before the first guess

/**
 * Positions whose token is a whole word: it begins with a blank, and no letter follows it.
 * @param {Piece[]} pieces
 */
export const guessable = (pieces) =>
  pieces.flatMap(({ text }, i) =>
    i >= FIRST && /^ \p{L}+$/u.test(text) && !/^[\p{L}’']/u.test(pieces[i + 1]?.text ?? 'x') ? [i] : [],
  );

/**
 * The probabilities that a row of logits gives to some tokens, and the likeliest of all.
 * @param {Float32Array} logits  [vocab_size]
 */
export function probabilities(logits, ids) {
  const { sum } = summed(logits);
  const [{ id, model }] = likeliest(logits, 1);
  return { best: { id, p: model }, of: ids.map((each) => Math.exp(logits[each] - sum)) };
}

/**
 * The layer from which on the likeliest token is this one, counted from 1; one more than there are if the last has
 * another.
 * @param {number[]} likeliest  ids by layer
 */
export function knownFrom(likeliest, id) {
  let layer = likeliest.length;
  while (layer > 0 && likeliest[layer - 1] === id) layer--;
  return layer + 1;
}

/**
 * @typedef {{ rounds: number, you: number, model: number, yourBits: number, modelBits: number }} Tally
 * @param {Tally} tally
 * @param {{ guess: { id: number, p: number }, best: { id: number, p: number }, truth: { id: number } }} round
 * @returns {Tally}
 */
export const counted = (tally, { guess, best, truth }) => ({
  rounds: tally.rounds + 1,
  you: tally.you + Number(guess.id === truth.id),
  model: tally.model + Number(best.id === truth.id),
  yourBits: tally.yourBits - Math.log2(guess.p),
  modelBits: tally.modelBits - Math.log2(best.p),
});
