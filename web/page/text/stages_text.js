// stages_text.js - what the stages of a forward pass are called and what they do, for each architecture. `c` is the
// configuration.
import { addsPositions, hasExperts, isGated } from '../state/architecture.js';
import { FFN_NAMES, activationOf, expertsStage } from './ffn.js';
import * as formulas from './formulas.js';
import * as words from './stage_words.js';

/** @typedef {Record<string, any>} Config */

/** Title, formula and sentence of each stage. @type {Record<string, (c: Config, layer: number) => { title: string, formula: string, words: string }>} */
export const STAGES = {
  embed: (c) => ({
    title: addsPositions(c) ? 'Embedding + position' : 'Embedding',
    formula: formulas.embed(c),
    words: words.embed(c),
  }),
  before: (_, layer) => ({
    title: `Stream into block ${layer + 1}`,
    formula: '',
    words: `What the embedding and the ${layer === 1 ? 'block' : `${layer} blocks`} before this one wrote to the residual stream. Choose another layer above the picture to open it.`,
  }),
  norm1: (c) =>
    c.sharedNorm
      ? words.blockNorm(
          c,
          `${words.NORM_NAMES[c.norm]}, shared`,
          'Rescales what both the heads and the FFN read. The residual stream itself is not changed (pre-norm).',
        )
      : words.blockNorm(c, words.NORM_NAMES[c.norm], words.sublayerNorm(c, 'heads', 'the output of the heads')),
  qkv: (c, layer) => ({ title: 'q  k  v', formula: formulas.qkv(c, layer), words: words.qkv(c, layer) }),
  heads: (c, layer) => ({
    title: `${c.nHeads} head${c.nHeads === 1 ? '' : 's'}`,
    formula: formulas.attention(c),
    words: words.heads(c, layer),
  }),
  post1: (c) =>
    words.blockNorm(
      c,
      words.NORM_NAMES[c.norm],
      'Rescales the output of the heads before it is added (sandwich norm).',
    ),
  out: (c) => ({
    title: c.parallelResidual || c.useResidual === false ? 'Out' : 'Out + residual',
    formula: formulas.out(c),
    words: words.out(c),
  }),
  cross: (c) => ({
    title: `${c.nHeads} heads, cross-attention`,
    formula: formulas.cross(c),
    words:
      'Queries come from the text that is written, keys and values from the encoder. There is no mask: the whole source is known from the start.',
  }),
  encoder: (c) => ({
    title: `Encoder, ${words.blocks(c.nEncoderLayers)}`,
    formula: formulas.encoder(c),
    words:
      'The source passes through blocks of its own, in which every token attends to every other. The result is computed once and kept.',
  }),
  norm2: (c) => words.blockNorm(c, words.NORM_NAMES[c.norm], words.sublayerNorm(c, 'FFN', 'the output of the FFN')),
  ffn: (c, layer) =>
    hasExperts(c, layer)
      ? expertsStage(c)
      : {
          title: isGated(c) ? FFN_NAMES[c.ffn] : `${FFN_NAMES[c.ffn]} FFN`,
          formula: formulas.ffn(c),
          words: `Each position by itself: ${c.dModel} numbers become ${c.dFf}, pass the activation function${isGated(c) ? ` (${activationOf(c.ffn)} of the gate, times the other ${c.dFf})` : ''}, and become ${c.dModel} again.${c.parallelResidual ? ' It reads the stream as it came into the block, without what the heads add.' : ''}`,
        },
  post2: (c) =>
    words.blockNorm(c, words.NORM_NAMES[c.norm], 'Rescales the output of the FFN before it is added (sandwich norm).'),
  resid: (c, layer) => ({
    title: 'Residual',
    formula: formulas.residual(c),
    words: `${c.useResidual === false ? `${words.UNSUMMED} ` : c.parallelResidual ? 'Both outputs, that of the heads and that of the FFN, are added at once. ' : ''}${
      layer + 1 < c.nLayers
        ? 'The residual stream that the next block reads.'
        : 'The residual stream after the last block.'
    }`,
  }),
  more: (c, layer) => ({
    title: `${words.blocks(c.nLayers - 1 - layer)} after`,
    formula: '',
    words: 'The same stages, each block with weights of its own. Choose another layer above the picture to open it.',
  }),
  final: (c) => ({
    title: [
      c.finalNorm && `Final ${words.NORM_NAMES[c.finalNormKind ?? c.norm]}`,
      c.mlmHead && 'Head',
      c.pooler && 'Pooler',
    ]
      .filter(Boolean)
      .join(', '),
    formula: [c.finalNorm && formulas.norm(c, c.useFinalNorm, c.finalNormKind ?? c.norm), formulas.outputs(c)]
      .filter(Boolean)
      .join('; '),
    words: [
      c.finalNorm &&
        `Rescales the residual stream for the last time.${c.useFinalNorm === false ? ` ${words.SILENT}` : ''}`,
      words.outputs(c),
    ]
      .filter(Boolean)
      .join(' '),
  }),
  head: (c) => ({
    title: c.tieWordEmbeddings ? 'Scores (tied head)' : 'Scores (head)',
    formula: formulas.head(c),
    words: words.head(c),
  }),
};

/** Names of the values of a stage. */
export const VALUES = {
  embedding: 'embedding',
  position: 'position',
  tokenType: 'token type',
  pooled: 'pooled',
  into: 'stream into the block',
  read: 'what it reads',
  normalised: (c) => (c.normGain === false ? 'normalised' : 'before the gain'),
  q: (c) => (c.qkNorm ? 'q, before its norm' : 'q'),
  k: (c) => (c.qkNorm ? 'k, before its norm' : 'k'),
  v: 'v',
  rotatedQ: 'q, rotated',
  rotatedK: 'k, rotated',
  z: 'z, the mixed values',
  added: 'what is added',
  after: 'the stream after it',
  pre: (c) => (isGated(c) ? 'gate, before activation' : 'before activation'),
  up: 'up',
  post: (c) => (isGated(c) ? 'activated gate × up' : 'activation'),
  router: 'router, before softmax',
  experts: 'probability of each expert',
  chosen: 'experts that were chosen',
  sharedGate: 'gate of the shared expert',
  stream: 'the stream after the block',
  last: 'the stream after the last block',
  encoded: 'output of the encoder',
};
