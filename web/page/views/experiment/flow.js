// flow.js - a model as the list of what a token passes, what differs from another model marked

import { ADDED, FFN_BOX } from '../../text/compare.js';
import { int, percent } from '../../text/format.js';
import { same } from './build_fields.js';

/**
 * @typedef {{ kind: 'box', of: string, text: string, note: string, differs: boolean }} Box  of: its class
 * @typedef {{ kind: 'sum' }} Sum  the sublayer's output is added to the residual stream
 * @typedef {{ kind: 'times', text: string, differs: boolean, items: Item[] }} Times  repeated blocks
 * @typedef {Box | Sum | Times} Item
 */

/**
 * Parameters of a component, those that are shared counted once.
 * @param {{ rows: any[] }} table
 * @param {string} component
 */
export const countOf = ({ rows }, component) =>
  rows.filter((r) => r.component === component).reduce((n, r) => n + (r.tiedTo ? 0 : r.count), 0);

/**
 * @param {any} c      complete configuration
 * @param {any} other  that it is compared with
 * @param {any} table  parameters of c
 * @returns {Item[]}
 */
export function flowOf(c, other, table) {
  const differs = (/** @type {string[]} */ keys) => keys.some((key) => !same(c[key], other[key]));
  const share = (/** @type {string} */ component) => percent(countOf(table, component) / table.total);
  const has = (/** @type {string} */ component) =>
    table.rows.some((/** @type {any} */ row) => row.component === component);
  /** @returns {Box} */
  const box = (/** @type {string} */ of, /** @type {string} */ text, /** @type {string[]} */ keys, note = '') => ({
    kind: 'box',
    of,
    text,
    note,
    differs: differs(keys),
  });
  const norm = (/** @type {string} */ key) =>
    box('norm', c.norm === 'rmsnorm' ? 'RMSNorm' : 'LayerNorm', ['norm', 'biasNorm', key]);
  /** @returns {Item[]} */
  const sublayer = (/** @type {Box} */ inner) =>
    c.normPlacement === 'post'
      ? [inner, { kind: 'sum' }, norm('normPlacement')]
      : [norm('normPlacement'), inner, { kind: 'sum' }];

  const two = c.kind === 'encoder_decoder';
  return [
    box(
      'embed',
      `Embedding ${int(c.vocabSize)} × ${c.dModel}${ADDED[c.position]}`,
      embedding(c, other),
      share('embedding'),
    ),
    {
      kind: 'times',
      text: `${two ? `${c.nEncoderLayers} + ${c.nLayers}` : c.nLayers} ×`,
      differs: differs(['nLayers', 'nEncoderLayers']),
      items: [
        ...sublayer(box('attn', attentionText(c), attention(c, other), share('attention'))),
        ...(two ? sublayer(box('attn', 'Cross-attention in the decoder', ['kind'], share('cross_attention'))) : []),
        ...sublayer(box('ffn', `${FFN_BOX[c.ffn]}, ${c.dFf}`, ['ffn', 'dFf', 'biasFfn'], share('ffn'))),
      ],
    },
    ...(has('final_norm') ? [norm('finalNorm')] : []),
    ...(has('head')
      ? [
          box(
            'head',
            c.tieWordEmbeddings ? 'Head, shared with the embedding' : 'Head',
            ['tieWordEmbeddings', 'vocabSize', 'biasHead'],
            share('head'),
          ),
        ]
      : []),
  ];
}

/** Fields that the box of the embedding stands for. */
const embedding = (/** @type {any} */ c, /** @type {any} */ other) => [
  ...['vocabSize', 'dModel', 'sharedEmbedding', 'embeddingScale'],
  ...(ADDED[c.position] || ADDED[other.position] ? ['position'] : []),
];

/** Fields that the box of attention stands for. */
function attention(/** @type {any} */ c, /** @type {any} */ other) {
  const angle = (/** @type {any} */ m) => (m.position === 'rope' ? m.ropeTheta : null);
  return [
    ...['nHeads', 'nKvHeads', 'dHead', 'biasQkv', 'biasAttnOut', 'qkNorm', 'slidingWindow', 'causal'],
    ...(angle(c) === angle(other) ? [] : ['position', 'ropeTheta']),
  ];
}

/** @param {any} c */
function attentionText({ nHeads, nKvHeads, position }) {
  const heads = nKvHeads !== nHeads ? `${nHeads} heads, ${nKvHeads} kv` : `${nHeads} heads`;
  return `Attention, ${heads}${position === 'rope' ? ', rotary' : ''}`;
}
