// glossary_text.js - the terms of the page, one sentence each
import { say } from '../state/base/language.js';

export const GLOSSARY = {
  title: say`Words`,
  about: say`the terms of the page, one sentence each`,
};

/** In the order in which a token meets them. @type {Record<string, [term: string, sentence: string]>} */
export const TERMS = {
  token: [say`token`, say`A piece of text with a number of its own: a word, a part of one, or a single character.`],
  embedding: [say`embedding`, say`The table whose row for a token is the vector that stands for it.`],
  tiedHead: [
    say`tied head`,
    say`An output head that uses the embedding once more, so that it has no weights of its own.`,
  ],
  stream: [say`residual stream`, say`The vector of a token on its way past the layers, to which each of them adds.`],
  qkv: [say`query, key, value`, say`What a token looks for, what it can be found by, and what it hands on.`],
  head: [
    say`attention head`,
    say`A part of a layer that mixes the values of other tokens by the products of query and keys.`,
  ],
  pattern: [
    say`attention pattern`,
    say`The weights that a query gives to all keys; they are positive and add up to 1.`,
  ],
  mask: [
    say`mask`,
    say`What keeps a token from keys that come after it; such cells are hatched, which is not the same as zero.`,
  ],
  softmax: [say`softmax`, say`Turns scores into positive numbers that add up to 1, larger scores into larger shares.`],
  ffn: [
    say`feed-forward network (FFN)`,
    say`Two or three matrices with an activation between, applied to each token by itself.`,
  ],
  neuron: [say`neuron`, say`One of the numbers between the matrices of a feed-forward network.`],
  norm: [say`norm`, say`Brings a vector to one size before something reads it.`],
  logit: [say`logit`, say`The score of a token before softmax makes a probability of it.`],
  temperature: [
    say`temperature`,
    say`Logits are divided by it: below 1 the likeliest tokens gain, above 1 the others do.`,
  ],
  topK: [
    say`top-k, top-p`,
    say`Rules that leave out all but the likeliest tokens: a number of them, or as many as have a share.`,
  ],
  entropy: [
    say`entropy`,
    say`How uncertain the next token is, in bits: 0 where one is sure, 1 for two equally likely ones.`,
  ],
  cache: [say`kv cache`, say`Keys and values of earlier tokens, kept so that they are not computed again.`],
  dot: [say`unsigned dot`, say`A SIMD instruction that multiplies bytes without a sign and adds the products.`],
  quantised: [say`Q4_0, Q8_0`, say`Weights as whole numbers of 4 or 8 bits, with one scale for each block of 32.`],
  beams: [say`beam search`, say`Keeps the most likely few beginnings of an answer instead of one.`],
};

/** The sentence of a term, as a title where the word stands. @param {string} key */
export const meaning = (key) => TERMS[key][1];
