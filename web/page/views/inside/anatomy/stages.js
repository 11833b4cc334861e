// stages.js - the stages of one forward pass, as the loaded architecture has them: the shape of what each makes, its
// weights, and where its values can be read
import { stageSaid } from '../../../text/stages_text.js';
import { partsOfPass } from './stage_parts.js';

/**
 * @typedef {object} Stage
 * @property {string} id
 * @property {string} title
 * @property {string} shape       of its output, with this text's numbers
 * @property {string} formula
 * @property {string} words       what it does
 * @property {number} params      in this layer
 * @property {[string, string][]} points  capture point and name, in order of computation
 */

/**
 * Every weight belongs to exactly one stage, whatever layer is open.
 * @param {any} c config
 * @param {any[]} rows parameter rows
 * @param {number} layer
 * @param {number} n  tokens
 * @param {number} m  tokens of a source
 * @returns {Stage[]}
 */
export const stagesOf = (c, rows, layer, n, m) =>
  partsOfPass(c, layer, n, m)
    .filter(([, has]) => has)
    .map(([id, , points, shape = `[${n}, ${c.dModel}]`]) => ({
      ...{ id, points, shape },
      ...stageSaid(id, c, layer),
      params: rows.reduce((sum, r) => sum + (!r.tiedTo && stageOfWeight(c, r, layer) === id ? r.count : 0), 0),
    }));

/**
 * What the picture of these stages depends on.
 * @param {any} c config
 * @param {Stage[]} stages
 * @returns {import('../../../../draw/anatomy_geometry.js').Parts}
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
/** The stages of norms in a decoder's block with cross-attention, if they have other ones. @type {Record<string, string>} */
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
 * What a stage took of a measured pass while this layer is open.
 * @param {any} c config
 * @param {any[]} rows of the trace
 * @param {string} id
 * @param {number} layer
 */
export function costOf(c, rows, id, layer) {
  const stage = (/** @type {any} */ row) => {
    if (c.kind === 'encoder_decoder' && row.stack === 'encoder') return 'encoder';
    if (row.layer !== null && row.layer !== layer) return row.layer < layer ? 'before' : 'more';
    if (row.op === 'head' && c.kind === 'encoder') return 'final';
    return Object.keys(OPERATIONS).find((name) => OPERATIONS[name].includes(row.op));
  };
  const own = rows.filter((row) => stage(row) === id);
  const sum = (/** @type {'ms' | 'flops'} */ key) => own.reduce((all, row) => all + row[key], 0);
  return { ms: sum('ms'), flops: sum('flops') };
}
