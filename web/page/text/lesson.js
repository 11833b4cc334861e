// lesson.js - the sentences of the lesson: one token on its way from the text to the next word, with its numbers
import { figures, int, percent, quoted } from './format.js';

/**
 * @typedef {object} Facts  of one token in one pass
 * @property {any} config
 * @property {{ id: number, text: string }} token
 * @property {number} position
 * @property {number} layer
 * @property {number} head
 * @property {[number, number] | null} embedding    smallest and largest number of its row
 * @property {Record<string, number | null>} norms  of the stream: pre, mid, post, last; of the first norm's output:
 *   normalized
 * @property {{ text: string, id: number, weight: number }[]} attended  the largest weights of the head, largest first
 * @property {number} keys                          that the head compares with
 * @property {[number, number] | null} active       FFN units above zero after the activation, and all
 * @property {{ text: string, id: number, logit: number, p: number } | null} best  likeliest next token
 * @property {{ temperature: number, seed: number }} sampler
 * @property {{ text: string, id: number, p: number | null } | null} drawn  the token that follows
 */

/** @typedef {{ id: string, stage: string, title: string, when?: (c: any) => boolean, say: (f: Facts) => string }} Stop */

const NORM = { rmsnorm: 'RMSNorm', layernorm: 'LayerNorm' };
const writes = (/** @type {any} */ c) => c.kind !== 'encoder';
const from = (/** @type {number | null} */ a, /** @type {number | null} */ b) =>
  a === null || b === null ? '' : ` Its norm changes from ${figures(a)} to ${figures(b)}.`;
const several = (/** @type {number} */ n, /** @type {string} */ word) => `${int(n)} ${word}${n === 1 ? '' : 's'}`;

/** @type {Stop[]} */
export const LESSON = [
  {
    id: 'token',
    stage: '',
    title: 'A token',
    say: ({ token, config: c }) =>
      `The newest piece of the text is ${quoted(token)}. In the model’s fixed list of ${int(c.vocabSize)} tokens it has the number ${int(token.id)}. The model computes with this number, not with letters.`,
  },
  {
    id: 'embedding',
    stage: 'embed',
    title: 'Its row of numbers',
    say: ({ token, config: c, embedding }) =>
      `The number picks row ${int(token.id)} of the embedding table: ${int(c.dModel)} numbers${embedding ? `, here between ${figures(embedding[0])} and ${figures(embedding[1])}` : ''}. From here on they stand for the token.${
        c.position === 'learned' || c.position === 'sinusoidal' ? ' A second row, for the position, is added.' : ''
      }`,
  },
  {
    id: 'norm',
    stage: 'norm1',
    title: 'One scale',
    when: (c) => c.useNorm && c.normPlacement !== 'post',
    say: ({ config: c, norms }) =>
      `Before the heads read this vector, ${NORM[/** @type {keyof typeof NORM} */ (c.norm)]} brings it to one scale.${from(norms.pre, norms.normalized)} The residual stream itself stays as it is.`,
  },
  {
    id: 'qkv',
    stage: 'qkv',
    title: 'Query, key and value',
    say: ({ config: c, position }) =>
      `Three matrices make a query, a key and a value of it, ${int(c.dHead)} numbers each, for each of ${several(c.nHeads, 'head')}.${
        c.position === 'rope'
          ? ` Query and key are rotated by angles that grow with the position, here ${position}.`
          : ''
      }`,
  },
  {
    id: 'attention',
    stage: 'heads',
    title: 'Attention',
    say: ({ config: c, layer, head, keys, attended }) =>
      `Head ${head + 1} of layer ${layer + 1} compares the query with ${several(keys, 'key')}${c.causal ? ', those up to this token' : ''}. Softmax turns the scores into weights: ${attended.map((t) => `${percent(t.weight)} for ${quoted(t)}`).join(', ')}.`,
  },
  {
    id: 'out',
    stage: 'out',
    title: 'Into the stream',
    say: ({ config: c, norms }) =>
      `The values are added up with these weights, one matrix joins the ${several(c.nHeads, 'head')}, and the result is added to the residual stream.${from(norms.pre, norms.mid)}`,
  },
  {
    id: 'cross',
    stage: 'cross',
    title: 'Cross-attention',
    when: (c) => c.kind === 'encoder_decoder',
    say: ({ config: c }) =>
      `A second attention asks the source: its keys and values come from ${several(c.nEncoderLayers, 'encoder block')}, which have read all of it.`,
  },
  {
    id: 'ffn',
    stage: 'ffn',
    title: 'The feed-forward network',
    say: ({ config: c, active, norms }) =>
      `The feed-forward network works on this token alone: ${int(c.dModel)} numbers become ${int(c.dFf)}${active ? `, of which ${int(active[0])} are above zero after the activation` : ''}, and ${int(c.dModel)} again, which are added to the stream.${from(norms.mid, norms.post)}`,
  },
  {
    id: 'blocks',
    stage: 'more',
    title: 'Block after block',
    when: (c) => c.nLayers > 1,
    say: ({ config: c, layer, norms }) =>
      `This was block ${layer + 1} of ${c.nLayers}; each has weights of its own. After the last one the stream has norm ${norms.last === null ? 'unknown' : figures(norms.last)}.`,
  },
  {
    id: 'head',
    stage: 'head',
    title: 'Logits',
    when: writes,
    say: ({ config: c, best }) =>
      `The head compares the stream with one row for each token: ${int(c.vocabSize)} logits.${best ? ` The largest, ${figures(best.logit)}, belongs to ${quoted(best)}. Softmax makes probabilities of them: ${percent(best.p)} for this one.` : ''}`,
  },
  {
    id: 'sample',
    stage: 'head',
    title: 'The next word',
    when: writes,
    say: ({ sampler, drawn }) =>
      `${sampler.temperature === 0 ? 'At temperature 0 the likeliest token is taken' : `At temperature ${figures(sampler.temperature)} the sampler draws with seed ${sampler.seed}`}${drawn ? `: ${quoted(drawn)}${drawn.p === null ? '' : `, which has probability ${percent(drawn.p)}`}` : ''}. It is appended to the text, and everything begins again with it.`,
  },
];

export const LESSON_WORDS = {
  title: 'One token in sixty seconds',
  about: 'from the text to the next word, with the numbers of this model',
  play: 'Play the lesson',
  pause: 'Pause',
  resume: 'Continue',
  back: 'Back',
  next: 'Next',
  again: 'Play again',
  walk: 'Or walk through the views yourself',
  of: (/** @type {number} */ i, /** @type {number} */ n) => `${i} of ${n}`,
};
