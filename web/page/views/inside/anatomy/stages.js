// stages.js - the stages of one forward pass, as the loaded architecture has them: the shape of what each makes, its
// weights, its operations, and where its values can be read
import { blockPoint } from '../../../state/points.js';
import { VALUES, stageSaid } from '../../../text/stages_text.js';
import { blockCost, blockParts, embedPart, lastParts } from './stage_parts.js';

/**
 * @typedef {object} Stage
 * @property {string} id
 * @property {string} title
 * @property {string} shape       of its output, with this text's numbers
 * @property {string} formula
 * @property {string} words       what it does
 * @property {number} params      in this layer
 * @property {number} flops       for one more token, this layer
 * @property {number} [once]      of the encoder, for each token of the source
 * @property {[string, string][]} points  capture point and name, in order of computation
 */

/**
 * Every weight and every operation belongs to exactly one stage, whatever layer is open.
 * @param {any} c config
 * @param {any[]} rows parameter rows
 * @param {number} layer
 * @param {number} n  tokens
 * @param {number} m  tokens of a source
 * @returns {Stage[]}
 */
export function stagesOf(c, rows, layer, n, m) {
  const cost = (/** @type {number} */ from, /** @type {number} */ to) => {
    let sum = 0;
    for (let l = from; l < to; l++) sum += blockCost(c, l, n, m);
    return sum;
  };
  /** @type {import('./stage_parts.js').Part[]} */
  const parts = [
    embedPart(c, n),
    {
      id: 'before',
      shape: `[${n}, ${c.dModel}]`,
      flops: cost(0, layer),
      points: [[`${blockPoint(c, layer)}.hook_resid_pre`, VALUES.into]],
    },
    ...blockParts(c, layer, n, m),
    {
      id: 'more',
      shape: `[${n}, ${c.dModel}]`,
      flops: cost(layer + 1, c.nLayers),
      points: [[`${blockPoint(c, c.nLayers - 1)}.hook_resid_post`, VALUES.last]],
    },
    ...lastParts(c, n),
  ];
  const has = (/** @type {string} */ id) =>
    ({
      before: layer > 0,
      more: layer + 1 < c.nLayers,
      final: c.finalNorm || c.pooler || c.mlmHead,
      head: c.kind !== 'encoder',
    })[id] ?? true;
  return parts
    .filter(({ id }) => has(id))
    .map((part) => ({
      ...part,
      ...stageSaid(part.id, c, layer),
      params: rows.reduce((sum, r) => sum + (!r.tiedTo && stageOfWeight(c, r, layer) === part.id ? r.count : 0), 0),
    }));
}

/**
 * What the picture of these stages depends on.
 * @param {any} c config
 * @param {Stage[]} stages
 * @returns {import('../../../../draw/anatomy.js').Parts}
 */
export const partsOf = (c, stages) => ({
  stages: stages.map(({ id }) => id),
  placement: c.normPlacement,
  parallel: c.parallelResidual === true,
  heads: c.nHeads,
});

const OF_COMPONENT = /** @type {Record<string, string>} */ ({
  embedding: 'embed',
  position: 'embed',
  cross_attention: 'cross',
  ffn: 'ffn',
  final_norm: 'final',
  head: 'head',
});

/** Norms by their names in weights. */
const OF_NORM = /** @type {Record<string, string>} */ ({
  embed_norm: 'embed',
  norm1: 'norm1',
  norm1_post: 'post1',
  norm2: 'norm2',
  norm2_post: 'post2',
});
/** The same of a decoder's block with cross-attention. @type {Record<string, string>} */
const ACROSS = { norm2: 'cross', norm3: 'norm2' };

/**
 * The stage that a weight belongs to while this layer is open.
 * @param {any} c config
 * @param {any} row of the table of parameters
 * @param {number} layer
 */
function stageOfWeight(c, row, layer) {
  if (row.name.startsWith('encoder.')) return 'encoder'; // tables of its own included
  if (row.layer !== null && row.layer !== layer) return row.layer < layer ? 'before' : 'more';
  const part = row.name.split('.').at(-2); // blocks.0.attn.o.weight
  if (part === 'relative_bias') return 'heads';
  if (row.component === 'attention') return part === 'o' ? 'out' : 'qkv';
  if (row.component === 'head' && c.kind === 'encoder') return 'final'; // an encoder predicts no next token
  if (row.component === 'norm') return (c.kind === 'encoder_decoder' ? ACROSS[part] : undefined) ?? OF_NORM[part];
  return OF_COMPONENT[row.component];
}

/** The operations of the engine's trace that make up a stage. @type {Record<string, string[]>} */
export const OPERATIONS = {
  embed: ['embed'],
  norm1: ['norm1'],
  qkv: ['attn.qkv', 'attn.rope'],
  heads: ['attn.attend'],
  post1: ['norm1_post'],
  out: ['attn.o', 'attn.residual'],
  cross: ['cross_attn.q', 'cross_attn.kv', 'cross_attn.attend', 'cross_attn.o', 'cross_attn.residual', 'norm_cross'],
  norm2: ['norm2'],
  ffn: ['ffn.up', 'ffn.act', 'ffn.down', 'ffn.router', 'ffn.experts'],
  post2: ['norm2_post'],
  resid: ['ffn.residual'],
  final: ['final_norm', 'pooler', 'head_transform'],
  head: ['head'],
};

/**
 * What a stage took of a measured pass while this layer is open, in ms.
 * @param {any} c config
 * @param {any[]} rows of the trace
 * @param {string} id
 * @param {number} layer
 */
export function timeOf(c, rows, id, layer) {
  const stage = (/** @type {any} */ row) => {
    if (c.kind === 'encoder_decoder' && row.stack === 'encoder') return 'encoder';
    if (row.layer !== null && row.layer !== layer) return row.layer < layer ? 'before' : 'more';
    if (row.op === 'head' && c.kind === 'encoder') return 'final';
    return Object.keys(OPERATIONS).find((name) => OPERATIONS[name].includes(row.op));
  };
  return rows.reduce((sum, row) => sum + (stage(row) === id ? row.ms : 0), 0);
}
