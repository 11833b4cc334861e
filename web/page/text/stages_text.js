// stages_text.js - what the stages of a forward pass are called and what they do, for each architecture. `c` is the
// configuration.
import { addsPositions, hasExperts, isGated } from '../state/architecture.js';
import { FFN_NAMES, activationOf, expertsStage } from './ffn.js';
import {
  attentionFormula,
  crossFormula,
  embedFormula,
  encoderFormula,
  ffnFormula,
  headFormula,
  normFormula,
  outFormula,
  outputsFormula,
  qkvFormula,
  residualFormula,
} from './formulas.js';
import {
  NORM_NAMES,
  SILENT,
  UNSUMMED,
  blockNorm,
  blocks,
  embedWords,
  headWords,
  headsWords,
  outWords,
  outputsWords,
  qkvWords,
  sublayerNorm,
} from './stage_words.js';

/** @typedef {Record<string, any>} Config */

/** Title, formula and sentence of each stage. @type {Record<string, (c: Config, layer: number) => { title: string, formula: string, words: string }>} */
export const STAGES = {
  embed: (c) => ({
    title: addsPositions(c) ? 'Embedding + position' : 'Embedding',
    formula: embedFormula(c),
    words: embedWords(c),
  }),
  before: (_, layer) => ({
    title: `Stream into block ${layer + 1}`,
    formula: '',
    words: `What the embedding and the ${layer === 1 ? 'block' : `${layer} blocks`} before this one wrote to the residual stream. Choose another layer above the picture to open it.`,
  }),
  norm1: (c) =>
    c.sharedNorm
      ? blockNorm(
          c,
          `${NORM_NAMES[c.norm]}, shared`,
          'Rescales what both the heads and the FFN read. The residual stream itself is not changed (pre-norm).',
        )
      : blockNorm(c, NORM_NAMES[c.norm], sublayerNorm(c, 'heads', 'the output of the heads')),
  qkv: (c, layer) => ({ title: 'q  k  v', formula: qkvFormula(c, layer), words: qkvWords(c, layer) }),
  heads: (c, layer) => ({
    title: `${c.nHeads} head${c.nHeads === 1 ? '' : 's'}`,
    formula: attentionFormula(c),
    words: headsWords(c, layer),
  }),
  post1: (c) =>
    blockNorm(c, NORM_NAMES[c.norm], 'Rescales the output of the heads before it is added (sandwich norm).'),
  out: (c) => ({
    title: c.parallelResidual || c.useResidual === false ? 'Out' : 'Out + residual',
    formula: outFormula(c),
    words: outWords(c),
  }),
  cross: (c) => ({
    title: `${c.nHeads} heads, cross-attention`,
    formula: crossFormula(c),
    words:
      'Queries come from the text that is written, keys and values from the encoder. There is no mask: the whole source is known from the start.',
  }),
  encoder: (c) => ({
    title: `Encoder, ${blocks(c.nEncoderLayers)}`,
    formula: encoderFormula(c),
    words:
      'The source passes through blocks of its own, in which every token attends to every other. The result is computed once and kept.',
  }),
  norm2: (c) => blockNorm(c, NORM_NAMES[c.norm], sublayerNorm(c, 'FFN', 'the output of the FFN')),
  ffn: (c, layer) =>
    hasExperts(c, layer)
      ? expertsStage(c)
      : {
          title: isGated(c) ? FFN_NAMES[c.ffn] : `${FFN_NAMES[c.ffn]} FFN`,
          formula: ffnFormula(c),
          words: `Each position by itself: ${c.dModel} numbers become ${c.dFf}, pass the activation function${isGated(c) ? ` (${activationOf(c.ffn)} of the gate, times the other ${c.dFf})` : ''}, and become ${c.dModel} again.${c.parallelResidual ? ' It reads the stream as it came into the block, without what the heads add.' : ''}`,
        },
  post2: (c) => blockNorm(c, NORM_NAMES[c.norm], 'Rescales the output of the FFN before it is added (sandwich norm).'),
  resid: (c, layer) => ({
    title: 'Residual',
    formula: residualFormula(c),
    words: `${c.useResidual === false ? `${UNSUMMED} ` : c.parallelResidual ? 'Both outputs, that of the heads and that of the FFN, are added at once. ' : ''}${
      layer + 1 < c.nLayers
        ? 'The residual stream that the next block reads.'
        : 'The residual stream after the last block.'
    }`,
  }),
  more: (c, layer) => ({
    title: `${blocks(c.nLayers - 1 - layer)} after`,
    formula: '',
    words: 'The same stages, each block with weights of its own. Choose another layer above the picture to open it.',
  }),
  final: (c) => ({
    title: [c.finalNorm && `Final ${NORM_NAMES[c.finalNormKind ?? c.norm]}`, c.mlmHead && 'Head', c.pooler && 'Pooler']
      .filter(Boolean)
      .join(', '),
    formula: [c.finalNorm && normFormula(c, c.useFinalNorm, c.finalNormKind ?? c.norm), outputsFormula(c)]
      .filter(Boolean)
      .join('; '),
    words: [
      c.finalNorm && `Rescales the residual stream for the last time.${c.useFinalNorm === false ? ` ${SILENT}` : ''}`,
      outputsWords(c),
    ]
      .filter(Boolean)
      .join(' '),
  }),
  head: (c) => ({
    title: c.tieWordEmbeddings ? 'Head, tied' : 'Head',
    formula: headFormula(c),
    words: headWords(c),
  }),
};

/** Names of the values of a stage. */
export const VALUES = {
  embedding: 'embedding',
  position: 'position',
  tokenType: 'token type',
  pooled: 'pooled',
  into: 'stream into the block',
  normalised: (/** @type {Config} */ c) => (c.normGain === false ? 'normalised' : 'before the gain'),
  q: (/** @type {Config} */ c) => (c.qkNorm ? 'q, before its norm' : 'q'),
  k: (/** @type {Config} */ c) => (c.qkNorm ? 'k, before its norm' : 'k'),
  v: 'v',
  rotatedQ: 'q, rotated',
  rotatedK: 'k, rotated',
  z: 'z, the mixed values',
  added: 'what is added',
  after: 'the stream after it',
  pre: (/** @type {Config} */ c) => (isGated(c) ? 'gate, before activation' : 'before activation'),
  up: 'up',
  post: (/** @type {Config} */ c) => (isGated(c) ? 'activated gate × up' : 'activation'),
  router: 'router, before softmax',
  experts: 'probability of each expert',
  chosen: 'experts that were chosen',
  sharedGate: 'gate of the shared expert',
  stream: 'the stream after the block',
  last: 'the stream after the last block',
  encoded: 'output of the encoder',
};
