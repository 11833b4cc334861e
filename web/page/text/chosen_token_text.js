// chosen_token_text.js - sentences about the chosen token in the pages of the textbook: its own numbers on the way from
// the text to the next word
import { normsBefore, rotates } from '../state/facts/architecture.js';
import { say } from '../state/base/language.js';
import { figures, int, keysSaid, percent, quoted, sentences } from './format.js';

/** @typedef {NonNullable<Awaited<ReturnType<import('../views/learn/token_facts.js').readFacts>>>} Facts */

const from = (a, b) =>
  a !== null && b !== null && say`The norm of the token’s vector changes from ${figures(a)} to ${figures(b)}.`;

/**
 * By page, a list of sentences; where a page has none, it has no numbers of one token.
 * @type {Record<string, (f: Facts) => any[]>}
 */
const SENTENCES = {
  token: ({ token, config: c }) => [
    say`The chosen token is ${quoted(token)}. Its id is ${int(token.id)}; the vocabulary has ${int(c.vocabSize)} tokens.`,
  ],
  embedding: ({ token, embedding }) => [
    embedding &&
      say`The numbers of row ${int(token.id)} lie between ${figures(embedding[0])} and ${figures(embedding[1])}.`,
  ],
  norm: ({ config: c, norms }) => [normsBefore(c) && from(norms.pre, norms.normalized)],
  qkv: ({ config: c, position, layer }) => [
    rotates(c, layer) && say`Query and key are rotated by angles that grow with the position, here ${position}.`,
  ],
  softmax: ({ layer, head, keys, attended }) => [
    say`Head ${head + 1} of layer ${layer + 1} compares the query with ${keysSaid(keys)}.`,
    say`Largest weights: ${attended.map((t) => `${percent(t.weight)} ${quoted(t)}`).join(', ')}.`,
  ],
  mix: ({ norms }) => [from(norms.pre, norms.mid)],
  ffn: ({ active, norms }) => [
    active &&
      (active[0] === 1
        ? say`1 of ${int(active[1])} neurons is above zero after the activation.`
        : say`${int(active[0])} of ${int(active[1])} neurons are above zero after the activation.`),
    from(norms.mid ?? norms.pre, norms.post),
  ],
  stream: ({ config: c, layer, norms }) => [
    say`Block ${layer + 1} of ${int(c.nLayers)} is shown.`,
    norms.last !== null && say`After the last one the stream has norm ${figures(norms.last)}.`,
  ],
  logits: ({ best }) => [
    best &&
      say`The largest logit, ${figures(best.logit)}, belongs to ${quoted(best)}. Its probability is ${percent(best.p)}.`,
  ],
  sampling: ({ sampler, drawn }) => [
    sampler.temperature === 0
      ? say`At temperature 0 the most likely token is always chosen.`
      : say`At temperature ${figures(sampler.temperature)} the sampler draws with seed ${sampler.seed}.`,
    drawn &&
      (drawn.p === null
        ? say`It is ${quoted(drawn)}.`
        : say`It is ${quoted(drawn)}, with probability ${percent(drawn.p)}.`),
  ],
};

/** Whether a page has numbers of one token. @param {string} page */
export const hasNumbers = (page) => page in SENTENCES;
/** @param {string} page @param {Facts} facts */
export const tokenSentences = (page, facts) => sentences(SENTENCES[page](facts));
