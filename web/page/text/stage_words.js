// stage_words.js - the sentences about the stages of a forward pass, for each architecture. `c` is the configuration.
import {
  hasAlibi,
  hasDistanceBias,
  normsOutput,
  positionKind,
  rotaryDim,
  rotates,
  rotatesAnywhere,
  windowOf,
} from '../state/architecture.js';
import { int } from './format.js';
import { factor, norm as normFormula } from './formulas.js';

/** @typedef {Record<string, any>} Config */

export const NORM_NAMES = { rmsnorm: 'RMSNorm', layernorm: 'LayerNorm' };

/** 1 block, 4 blocks. */
export const blocks = (n) => `${n} block${n === 1 ? '' : 's'}`;
export const SILENT = 'It is switched off in this model: nothing is rescaled.';
export const UNSUMMED =
  'The residual connection is switched off in this model: the output alone is passed on, without the stream before it.';

/** Where positions come in, as a clause. */
const POSITION = {
  learned: 'a learned row for the position is added',
  sinusoidal: 'sines and cosines of the position are added',
  rope: 'the position enters later, where q and k are rotated',
  alibi: 'the position enters later, as a penalty on the scores of distant keys (ALiBi)',
  distance: 'the position enters later, as a learned bias of the scores for each distance',
  none: 'the model has no position embedding',
};

export function embed(c) {
  const position = c.usePosition === false ? 'positions are switched off in this model' : POSITION[positionKind(c)];
  const width = c.dEmbed ? ` of ${int(c.dEmbed)} numbers, from which a matrix makes ${int(c.dModel)}` : '';
  const scale = (c.embeddingScale ?? 1) === 1 ? '' : ` It is multiplied by ${factor(c.embeddingScale)}.`;
  const types = c.nTokenTypes ? ` A learned row for the type of the token, one of ${c.nTokenTypes}, is added too.` : '';
  const norm = c.embedNorm ? ` ${NORM_NAMES[c.norm]} rescales the result before the first block.` : '';
  return `Each token selects its row of a table of ${c.vocabSize} rows${width}; ${position}.${types}${scale}${norm}`;
}

/** A norm of a block. */
export const blockNorm = (c, title, words) => ({
  title,
  formula: normFormula(c, c.useNorm),
  words: `${words}${c.normGain === false ? ' It has no weights.' : ''}${c.useNorm === false ? ` ${SILENT}` : ''}`,
});

/** The norm of a sublayer by its place. @param {'heads' | 'FFN'} reader */
export function sublayerNorm(c, reader, output) {
  if (c.normPlacement === 'post') return 'Rescales the residual stream itself, after each sum (post-norm).';
  if (c.normPlacement === 'output')
    return `Rescales ${output} before it is added. The residual stream itself is not changed, and the ${reader} read${reader === 'FFN' ? 's' : ''} it as it is.`;
  return reader === 'FFN'
    ? 'Rescales what the FFN reads.'
    : `Rescales what the heads read. The residual stream itself is not changed (${c.normPlacement === 'sandwich' ? 'sandwich norm: another one follows their output' : 'pre-norm'}).`;
}

/** Which keys a query is compared with. */
function keysOf(c, layer) {
  const window = windowOf(c, layer);
  if (!c.causal) return window ? `the keys of its window of ${int(window)} tokens` : 'every key';
  if (!window) return 'its own key and every key before it';
  return window === 1 ? 'its own key only' : `its own key and the ${int(window - 1)} before it (a sliding window)`;
}

export function heads(c, layer) {
  return [
    `Each query is compared with ${keysOf(c, layer)}.`,
    c.slidingWindow && !windowOf(c, layer) ? 'Other layers have a sliding window, this one has not.' : '',
    c.scoreSoftcap > 0
      ? `A soft cap keeps each score between −${factor(c.scoreSoftcap)} and ${factor(c.scoreSoftcap)}.`
      : '',
    hasAlibi(c)
      ? 'ALiBi subtracts from each score the distance of the key times a slope m, which differs from head to head.'
      : '',
    hasDistanceBias(c)
      ? `Each head adds a learned number b for the distance of the key, one of ${int(c.relativeBuckets)} that all layers share.`
      : '',
    'The softmax of the scores gives the weight of each value.',
  ]
    .filter(Boolean)
    .join(' ');
}

const SPANS = /** @type {Record<string, string>} */ ({
  head: 'within each head',
  each_head: 'within each head, with a gain for each head',
  projection: 'over all heads together',
});
export function qkv(c, layer) {
  const part = rotaryDim(c);
  return [
    c.nKvHeads === c.nHeads
      ? 'Each head computes a query (q), a key (k) and a value (v) for each token.'
      : c.nKvHeads === 1
        ? 'Each head computes a query (q) for each token; all heads share one key (k) and one value (v).'
        : `Each head computes a query (q) for each token; ${c.nKvHeads} groups of heads share keys (k) and values (v).`,
    c.qkNorm ? `${NORM_NAMES[c.qkNormKind]} rescales q and k ${SPANS[c.qkNormSpan]}.` : '',
    rotates(c, layer) && part < c.dHead
      ? `The position rotates the first ${part} of the ${c.dHead} components of q and k.`
      : '',
    rotatesAnywhere(c) && !rotates(c, layer)
      ? 'This layer does not rotate q and k: its scores do not depend on positions.'
      : '',
  ]
    .filter(Boolean)
    .join(' ');
}

export function out(c) {
  if (c.parallelResidual)
    return 'The output of the heads. It is added to the residual stream together with that of the FFN, which reads the same stream.';
  const normed = normsOutput(c) ? ', after a norm,' : '';
  return c.useResidual === false ? UNSUMMED : `The output of the heads is added${normed} to the residual stream.`;
}

export function head(c) {
  return [
    c.tieWordEmbeddings
      ? 'Multiplies by the embedding table again: one score for each token of the vocabulary, no new parameters.'
      : 'One score for each token of the vocabulary.',
    c.dEmbed ? `Before that, a matrix maps the stream to ${int(c.dEmbed)} numbers.` : '',
    (c.logitScale ?? 1) === 1 ? '' : `The scores are multiplied by ${factor(c.logitScale)}.`,
    c.logitSoftcap > 0 ? `A soft cap keeps them between −${factor(c.logitSoftcap)} and ${factor(c.logitSoftcap)}.` : '',
  ]
    .filter(Boolean)
    .join(' ');
}

/** What an encoder makes of its last states. */
export const outputs = (c) =>
  [
    c.mlmHead
      ? 'One score for each token of the vocabulary at every position: which token belongs where [MASK] stands.'
      : '',
    c.pooler ? 'The pooler makes one vector for the whole text from the state of the first position.' : '',
  ]
    .filter(Boolean)
    .join(' ');
