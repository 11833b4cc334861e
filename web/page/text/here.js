// here.js - what the pages of the textbook say of one token: its own numbers on the way from the text to the next word
import {
  addsPositions,
  embedWidth,
  hasAlibi,
  hasDistanceBias,
  hasExperts,
  normsBefore,
  normsOutput,
  rotaryDim,
  rotates,
  windowOf,
} from '../state/architecture.js';
import { widened } from './ffn.js';
import { figures, int, percent, quoted } from './format.js';
import { factor } from './formulas.js';
import { NORM_NAMES } from './stage_words.js';

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

const from = (a, b) => (a === null || b === null ? '' : ` Its norm changes from ${figures(a)} to ${figures(b)}.`);
const several = (n, word) => `${int(n)} ${word}${n === 1 ? '' : 's'}`;
/** Keys that a query of the layer can have a weight for. */
const seenOf = (c, layer, keys) => Math.min(keys, windowOf(c, layer) || keys);
/** Heads that share keys and values. */
const sharing = (c) =>
  c.nKvHeads < c.nHeads
    ? `; ${c.nKvHeads === 1 ? 'all heads' : `groups of ${c.nHeads / c.nKvHeads} heads`} share key and value`
    : '';
/** The norm of an output, as a clause. @param {boolean} [more]  what follows is a verb */
const normed = (c, more = false) =>
  normsOutput(c) && c.useNorm
    ? `${more ? 'pass ' : ''}${NORM_NAMES[c.norm]}${more ? ' and ' : ' rescales its output, '}`
    : '';

/**
 * By page; where a page has none, it has no numbers of one token.
 * @type {Record<string, (f: Facts) => string>}
 */
export const HERE = {
  token: ({ token, config: c }) =>
    `The chosen token is ${quoted(token)}. Among the ${int(c.vocabSize)} tokens it has the number ${int(token.id)}.`,
  embedding: ({ token, config: c, embedding }) =>
    `Row ${int(token.id)} of the table has ${int(embedWidth(c))} numbers${c.dEmbed ? `, from which a matrix makes ${int(c.dModel)}` : ''}${embedding ? `, here between ${figures(embedding[0])} and ${figures(embedding[1])}` : ''}.${
      addsPositions(c) ? ' A second row, for the position, is added.' : ''
    }${c.embedNorm && c.useNorm ? ` ${NORM_NAMES[c.norm]} rescales the result.` : ''}`,
  norm: ({ config: c, norms }) =>
    normsBefore(c)
      ? `Before ${c.sharedNorm ? 'the heads and the feed-forward network read' : 'the heads read'} this vector, ${NORM_NAMES[c.norm]} brings it to one scale.${from(norms.pre, norms.normalized)} The residual stream itself stays as it is.`
      : '',
  qkv: ({ config: c, position, layer }) =>
    `Each has ${int(c.dHead)} numbers${sharing(c)}.${
      c.qkNorm ? ` ${NORM_NAMES[c.qkNormKind]} rescales query and key.` : ''
    }${
      rotates(c, layer)
        ? ` ${rotaryDim(c) < c.dHead ? `The first ${rotaryDim(c)} numbers of query and key` : 'Query and key'} are rotated by angles that grow with the position, here ${position}.`
        : ''
    }`,
  softmax: ({ config: c, layer, head, keys, attended }) =>
    `Head ${head + 1} of layer ${layer + 1} compares the query with ${several(seenOf(c, layer, keys), 'key')}${c.causal ? `, ${windowOf(c, layer) && windowOf(c, layer) < keys ? 'the last' : 'those'} up to this token` : ''}.${
      c.scoreSoftcap > 0
        ? ` A soft cap keeps the scores between −${factor(c.scoreSoftcap)} and ${factor(c.scoreSoftcap)}.`
        : ''
    }${hasAlibi(c) ? ' The farther away a key is, the more is subtracted from its score (ALiBi).' : ''}${hasDistanceBias(c) ? ' To each score a learned number for the distance of the key is added.' : ''} Softmax turns the scores into weights: ${attended.map((t) => `${percent(t.weight)} for ${quoted(t)}`).join(', ')}.`,
  mix: ({ config: c, norms }) =>
    `The values are added up with these weights, one matrix joins the ${several(c.nHeads, 'head')}, ${normed(c)}${
      c.parallelResidual
        ? 'and the result is added to the residual stream together with that of the feed-forward network'
        : c.useResidual
          ? 'and the result is added to the residual stream'
          : 'and the result takes the place of the residual stream, which is switched off'
    }.${c.normPlacement === 'post' && c.useNorm ? ` ${NORM_NAMES[c.norm]} brings the sum to one scale.` : ''}${from(norms.pre, norms.mid)}`,
  cross: ({ config: c }) =>
    `A second attention asks the source: its keys and values come from ${several(c.nEncoderLayers, 'encoder block')}, which have read all of it.`,
  ffn: ({ config: c, layer, active, norms }) =>
    `The feed-forward network works on this token alone${c.parallelResidual ? ' and reads the stream that the heads read' : ''}: ${int(c.dModel)} numbers become ${widened(c, hasExperts(c, layer))}${active ? `, of which ${int(active[0])} are above zero after the activation` : ''}, and ${int(c.dModel)} again, which ${normed(c, true)}${c.useResidual ? 'are added to the stream' : 'take the place of the stream'}${c.parallelResidual ? ', together with the output of the heads' : ''}.${from(norms.mid ?? norms.pre, norms.post)}`,
  stream: ({ config: c, layer, norms }) =>
    `Block ${layer + 1} of ${int(c.nLayers)} is shown. After the last one the stream has norm ${norms.last === null ? 'unknown' : figures(norms.last)}.`,
  logits: ({ config: c, best }) =>
    `The head compares the stream with one row for each token: ${int(c.vocabSize)} logits.${c.logitSoftcap > 0 ? ` A soft cap keeps them between −${factor(c.logitSoftcap)} and ${factor(c.logitSoftcap)}.` : ''}${best ? ` The largest, ${figures(best.logit)}, belongs to ${quoted(best)}. Softmax makes probabilities of them: ${percent(best.p)} for this one.` : ''}`,
  sampling: ({ sampler, drawn }) =>
    `${sampler.temperature === 0 ? 'At temperature 0 the likeliest token is taken' : `At temperature ${figures(sampler.temperature)} the sampler draws with seed ${sampler.seed}`}${drawn ? `: ${quoted(drawn)}${drawn.p === null ? '' : `, which has probability ${percent(drawn.p)}`}` : ''}.`,
};
