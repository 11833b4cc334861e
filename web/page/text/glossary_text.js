// glossary_text.js - the terms of the page, one sentence each
import { say } from '../state/base/language.js';

export const GLOSSARY = {
  title: say`Words`,
  about: say`the terms of the page, one sentence each`,
};

/** The terms of the glossary, in the order in which a token meets them. @type {Record<string, [term: string, sentence: string]>} */
export const TERMS = {
  token: [say`token`, say`A piece of text with a number of its own: a word, a part of one, or a single character.`],
  embedding: [say`embedding`, say`The table that gives each token its vector: one row per token.`],
  tiedHead: [
    say`tied head`,
    say`An output head that uses the embedding once more, so that it has no weights of its own.`,
  ],
  stream: [
    say`residual stream`,
    say`The vector carried for each token through the model; every layer adds its output to it.`,
  ],
  qkv: [say`query, key, value`, say`What a token looks for, what it can be found by, and what it hands on.`],
  head: [
    say`attention head`,
    say`One of several units in an attention layer. It compares a token’s query with other tokens’ keys and mixes their values accordingly.`,
  ],
  pattern: [
    say`attention pattern`,
    say`The weights that a query gives to all keys; they are positive and add up to 1.`,
  ],
  mask: [
    say`mask`,
    say`Stops a token from attending to later tokens. Masked cells are hatched: they take no part at all, which is not the same as a weight of zero.`,
  ],
  softmax: [say`softmax`, say`Turns scores into positive numbers that add up to 1, larger scores into larger shares.`],
  ffn: [
    say`feed-forward network (FFN)`,
    say`Two or three matrices with an activation between, applied to each token by itself.`,
  ],
  neuron: [say`neuron`, say`One of the numbers between the matrices of a feed-forward network.`],
  norm: [say`norm`, say`Brings a vector to one size before something reads it.`],
  logit: [say`logit`, say`A token’s raw score; softmax turns logits into probabilities.`],
  temperature: [
    say`temperature`,
    say`Divides the logits: below 1 favours likely tokens, above 1 evens out the choices.`,
  ],
  topK: [
    say`top-k, top-p`,
    say`Limits on which tokens can be picked: the k most likely (top-k), or the smallest set whose probabilities add up to p (top-p).`,
  ],
  entropy: [
    say`entropy`,
    say`How uncertain the next token is, in bits: 0 if it is certain, 1 if two tokens are equally likely.`,
  ],
  cache: [say`kv cache`, say`Keys and values of earlier tokens, kept so that they are not computed again.`],
  dot: [say`unsigned dot`, say`A SIMD instruction that multiplies bytes without a sign and adds the products.`],
  quantised: [say`Q4_0, Q8_0`, say`Weights as whole numbers of 4 or 8 bits, with one scale for each block of 32.`],
  beams: [say`beam search`, say`Keeps the few most likely partial answers at each step instead of only one.`],
};

/** The sentence of a term, as a title where the word stands. @param {string} key */
export const meaning = (key) => TERMS[key][1];
