// stages_text.js - names and sentences of the stages of a forward pass, for each architecture; `c`: its configuration
import {
  addsPositions,
  hasAlibi,
  hasDistanceBias,
  hasExperts,
  isGated,
  normsOutput,
  positionKind,
  rotaryDim,
  rotaryHeads,
  rotates,
  rotatesAnywhere,
  windowOf,
} from '../state/facts/architecture.js';
import { say } from '../state/base/language.js';
import { FFN_NAMES, NORM_NAMES, activationOf } from './ffn_text.js';
import { headsSaid, int, sentences } from './format.js';
import { FORMULAS, factor } from './stage_formulas.js';

export const blocks = (n) => (n === 1 ? say`1 block` : say`${n} blocks`);

const POSITION = {
  learned: say`a learned row for the position is added`,
  sinusoidal: say`sines and cosines of the position are added`,
  rope: say`the position enters later, where q and k are rotated`,
  alibi: say`the position enters later, as a penalty on the scores of distant keys (ALiBi)`,
  distance: say`the position enters later, as a learned bias of the scores for each distance`,
  none: say`the model has no position embedding`,
};

/** A clause that says how the position of a token enters. */
const placed = (c) =>
  c.usePosition === false ? say`positions are switched off in this model` : POSITION[positionKind(c)];

const SILENT = say`This norm is switched off, so nothing is rescaled.`;
const UNSUMMED = say`The residual connection is switched off in this model: the output alone is passed on, without the stream before it.`;
const OTHER_LAYER = say`Choose another layer above the picture to open it.`;

/** A norm of a block, and what it does. */
const norm = (c, words) => [
  NORM_NAMES[c.norm],
  words,
  c.normGain === false && say`It has no weights.`,
  c.useNorm === false && SILENT,
];

/** What the norm of a sublayer does, by its place: that of attention, that of the FFN. */
const NORMED = {
  post: Array(2).fill(say`Rescales the residual stream itself, after each sum (post-norm).`),
  output: [
    say`Rescales the output of the heads before it is added. The residual stream itself is not changed, and the heads read it as it is.`,
    say`Rescales the output of the FFN before it is added. The residual stream itself is not changed, and the FFN reads it as it is.`,
  ],
  sandwich: [
    say`Rescales what the heads read. The residual stream itself is not changed (sandwich norm: another one follows their output).`,
    say`Rescales what the FFN reads.`,
  ],
  pre: [
    say`Rescales what the heads read. The residual stream itself is not changed (pre-norm).`,
    say`Rescales what the FFN reads.`,
  ],
};

const SHARED = say`Rescales what both the heads and the FFN read. The residual stream itself is not changed (pre-norm).`;

/** The keys that a query is compared with, in words. */
function keysOf(c, layer) {
  const window = windowOf(c, layer);
  if (!c.causal) return window ? say`the keys of its window of ${int(window)} tokens` : say`every key`;
  if (!window) return say`its own key and every key before it`;
  return window === 1
    ? say`its own key only`
    : say`its own key and the ${int(window - 1)} before it (a sliding window)`;
}

const SPANS = {
  head: say`within each head`,
  each_head: say`within each head, with a gain for each head`,
  projection: say`over all heads together`,
};

/** Title and sentences of each stage; what is false or empty is left out. @type {Record<string, (c: any, layer: number) => any[]>} */
export const STAGES = {
  embed: (c) => [
    addsPositions(c) ? say`Embedding + position` : say`Embedding`,
    c.dEmbed
      ? say`Each token selects its row of a table of ${c.vocabSize} rows of ${int(c.dEmbed)} numbers, from which a matrix makes ${int(c.dModel)}; ${placed(c)}.`
      : say`Each token selects its row of a table of ${c.vocabSize} rows; ${placed(c)}.`,
    c.nTokenTypes && say`A learned row for the type of the token, one of ${c.nTokenTypes}, is added too.`,
    (c.embeddingScale ?? 1) !== 1 && say`It is multiplied by ${factor(c.embeddingScale)}.`,
    c.embedNorm && say`${NORM_NAMES[c.norm]} rescales the result before the first block.`,
  ],
  before: (_, layer) => [
    say`Stream into block ${layer + 1}`,
    say`What the embedding and the ${layer === 1 ? say`block` : blocks(layer)} before this one wrote to the residual stream.`,
    OTHER_LAYER,
  ],
  norm1: (c) => {
    const [name, ...words] = norm(c, c.sharedNorm ? SHARED : NORMED[c.normPlacement][0]);
    return [c.sharedNorm ? say`${name}, shared` : name, ...words];
  },
  qkv: (c, layer) => [
    'q  k  v',
    c.nKvHeads === c.nHeads
      ? say`Each head computes a query (q), a key (k) and a value (v) for each token.`
      : c.nKvHeads === 1
        ? say`Each head computes a query (q) for each token; all heads share one key (k) and one value (v).`
        : say`Each head computes a query (q) for each token; ${c.nKvHeads} groups of heads share keys (k) and values (v).`,
    c.qkNorm && say`${NORM_NAMES[c.qkNormKind]} rescales q and k ${SPANS[c.qkNormSpan]}.`,
    rotates(c, layer) &&
      rotaryDim(c) < c.dHead &&
      say`The position rotates the first ${rotaryDim(c)} of the ${c.dHead} components of q and k.`,
    rotates(c, layer) &&
      rotaryHeads(c) < c.nHeads &&
      say`The scores of the heads after the first ${rotaryHeads(c)} do not depend on positions: their q and k are not rotated.`,
    rotatesAnywhere(c) &&
      !rotates(c, layer) &&
      say`This layer does not rotate q and k: its scores do not depend on positions.`,
  ],
  heads: (c, layer) => [
    headsSaid(c.nHeads),
    say`Each query is compared with ${keysOf(c, layer)}.`,
    c.slidingWindow && !windowOf(c, layer) && say`Other layers use a sliding window; this one does not.`,
    c.scoreSoftcap > 0 &&
      say`A soft cap keeps each score between −${factor(c.scoreSoftcap)} and ${factor(c.scoreSoftcap)}.`,
    hasAlibi(c) &&
      say`ALiBi subtracts from each score the distance of the key times a slope m, which differs from head to head.`,
    hasDistanceBias(c) &&
      say`Each head adds a learned number b for the distance of the key, one of ${int(c.relativeBuckets)} that all layers share.`,
    say`The softmax of the scores gives the weight of each value.`,
  ],
  post1: (c) => norm(c, say`Rescales the output of the heads before it is added (sandwich norm).`),
  out: (c) => [
    c.parallelResidual || c.useResidual === false ? say`Out` : say`Out + residual`,
    c.parallelResidual
      ? say`The output of the heads. It is added to the residual stream together with that of the FFN, which reads the same stream.`
      : c.useResidual === false
        ? UNSUMMED
        : normsOutput(c)
          ? say`The output of the heads is added, after a norm, to the residual stream.`
          : say`The output of the heads is added to the residual stream.`,
  ],
  cross: (c) => [
    say`${headsSaid(c.nHeads)}, cross-attention`,
    say`Queries come from the text that is written, keys and values from the encoder. There is no mask: the whole source is known from the start.`,
  ],
  encoder: (c) => [
    say`Encoder, ${blocks(c.nEncoderLayers)}`,
    say`The source passes through blocks of its own, in which every token attends to every other. The result is computed once and kept.`,
  ],
  norm2: (c) => norm(c, NORMED[c.normPlacement][1]),
  ffn: (c, layer) =>
    hasExperts(c, layer)
      ? [
          say`Experts, ${c.nExpertsUsed} of ${c.nExperts}`,
          c.nExpertsUsed === 1
            ? say`A router gives each of ${c.nExperts} small FFNs (experts) a probability for each token. The most probable one works on it: ${c.dModel} numbers become ${c.dExpert} in it, and ${c.dModel} again.`
            : say`A router gives each of ${c.nExperts} small FFNs (experts) a probability for each token. The ${c.nExpertsUsed} most probable work on it: ${c.dModel} numbers become ${c.dExpert} in each, and ${c.dModel} again.`,
          c.normExpertWeights
            ? say`Their results are added, weighted by these probabilities divided by their sum.`
            : say`Their results are added, weighted by these probabilities.`,
          c.dSharedExpert && say`One more, ${c.dSharedExpert} wide, works on every token; a gate weights its result.`,
        ]
      : [
          isGated(c) ? FFN_NAMES[c.ffn] : `${FFN_NAMES[c.ffn]} FFN`,
          isGated(c)
            ? say`Each position by itself: ${c.dModel} numbers become ${c.dFf}, pass the activation function (${activationOf(c.ffn)} of the gate, times the other ${c.dFf}), and become ${c.dModel} again.`
            : say`Each position by itself: ${c.dModel} numbers become ${c.dFf}, pass the activation function, and become ${c.dModel} again.`,
          c.parallelResidual && say`It reads the stream as it came into the block, without what the heads add.`,
        ],
  post2: (c) => norm(c, say`Rescales the output of the FFN before it is added (sandwich norm).`),
  resid: (c, layer) => [
    say`Residual`,
    c.useResidual === false
      ? UNSUMMED
      : c.parallelResidual && say`Both outputs, that of the heads and that of the FFN, are added at once.`,
    layer + 1 < c.nLayers
      ? say`The residual stream that the next block reads.`
      : say`The residual stream after the last block.`,
  ],
  more: (c, layer) => [
    say`${blocks(c.nLayers - 1 - layer)} after`,
    say`The same stages again; each block has its own weights.`,
    OTHER_LAYER,
  ],
  final: (c) => [
    [
      c.finalNorm && say`Final ${NORM_NAMES[c.finalNormKind ?? c.norm]}`,
      c.mlmHead && say`Head`,
      c.pooler && say`Pooler`,
      c.kind === 'encoder' && c.nLabels && say`Classifier`,
    ]
      .filter(Boolean)
      .join(', '),
    c.finalNorm && say`Rescales the residual stream for the last time.`,
    c.finalNorm && c.useFinalNorm === false && SILENT,
    c.mlmHead &&
      say`One score for each token of the vocabulary at every position: which token belongs where [MASK] stands.`,
    c.kind === 'encoder' && c.nLabels && say`One score for each label, of the text or of each token.`,
    c.pooler && say`The pooler makes one vector for the whole text from the state of the first position.`,
  ],
  head: (c) => [
    c.tieWordEmbeddings ? say`Scores (tied head)` : say`Scores (head)`,
    c.nLabels
      ? say`One score for each label, of the text or of each token.`
      : c.tieWordEmbeddings
        ? say`Multiplies by the embedding table again: one score for each token of the vocabulary, no new parameters.`
        : say`One score for each token of the vocabulary.`,
    c.dEmbed && say`Before that, a matrix maps the stream to ${int(c.dEmbed)} numbers.`,
    (c.logitScale ?? 1) !== 1 && say`The scores are multiplied by ${factor(c.logitScale)}.`,
    c.logitSoftcap > 0 && say`A soft cap keeps them between −${factor(c.logitSoftcap)} and ${factor(c.logitSoftcap)}.`,
  ],
};

/** Title, formula and sentences of a stage. @param {string} id @param {any} c @param {number} layer */
export function stageSaid(id, c, layer) {
  const [title, ...words] = STAGES[id](c, layer);
  return { title, formula: FORMULAS[id]?.(c, layer) ?? '', words: sentences(words) };
}

/** Names of the values of a stage. */
export const VALUES = {
  embedding: say`embedding`,
  position: say`position`,
  tokenType: say`token type`,
  pooled: say`pooled`,
  labelled: say`read by the classifier`,
  into: say`stream into the block`,
  read: say`what it reads`,
  normalised: (c) => (c.normGain === false ? say`normalised` : say`before the gain`),
  q: (c) => (c.qkNorm ? say`q, before its norm` : 'q'),
  k: (c) => (c.qkNorm ? say`k, before its norm` : 'k'),
  v: 'v',
  rotatedQ: say`q, rotated`,
  rotatedK: say`k, rotated`,
  z: say`z, the mixed values`,
  added: say`what is added`,
  after: say`the stream after it`,
  pre: (c) => (isGated(c) ? say`gate, before activation` : say`before activation`),
  up: say`up`,
  post: (c) => (isGated(c) ? say`activated gate × up` : say`activation`),
  router: say`router, before softmax`,
  experts: say`probability of each expert`,
  chosen: say`experts that were chosen`,
  sharedGate: say`gate of the shared expert`,
  stream: say`the stream after the block`,
  last: say`the stream after the last block`,
  encoded: say`output of the encoder`,
};
