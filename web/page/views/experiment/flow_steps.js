// flow_steps.js - a model as the list of what a token passes, what differs from another model marked

import { addsPositions, hasFfn, normsBefore, normsOutput } from '../../state/facts/architecture.js';
import { FLOW } from '../../text/compare_text.js';
import { percent } from '../../text/format.js';
import { NORM_NAMES } from '../../text/ffn_text.js';
import { same } from './build_fields.js';

/**
 * @typedef {{ kind: 'box', of: string, text: string, note: string, differs: boolean }} Box  of: its class
 * @typedef {{ kind: 'sum', text: string }} Sum  between boxes: what is added to the residual stream
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

const HEAD = ['tieWordEmbeddings', 'vocabSize', 'biasHead', 'logitScale', 'logitSoftcap'];

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
    box('norm', NORM_NAMES[c.norm], ['norm', 'biasNorm', 'normGain', 'normEps', key]);
  /** @returns {Sum} */
  const line = (/** @type {string} */ text) => ({ kind: 'sum', text });
  const placed = (/** @type {boolean} */ has) => (has ? [norm('normPlacement')] : []);
  /** @returns {Item[]} */
  const sublayer = (/** @type {Box} */ inner) => [
    ...placed(normsBefore(c)),
    inner,
    ...placed(normsOutput(c)),
    line(FLOW.stream),
    ...placed(c.normPlacement === 'post'),
  ];
  const attend = box('attn', FLOW.attention(c), attention(c, other), share('attention'));
  const ffn = box('ffn', FLOW.ffn(c), feedForward(c, other), share('ffn'));
  /** Both sublayers read the same stream. @returns {Item[]} */
  const parallel = () => [
    ...(normsBefore(c) ? [norm(c.sharedNorm ? 'sharedNorm' : 'parallelResidual')] : []),
    attend,
    line(FLOW.beside),
    ...(c.sharedNorm || !normsBefore(c) ? [] : [norm('parallelResidual')]),
    ffn,
    line(FLOW.both),
  ];

  const two = c.kind === 'encoder_decoder';
  return [
    box('embed', FLOW.embedding(c), embedding(c, other), share('embedding')),
    ...(c.embedNorm ? [norm('embedNorm')] : []),
    {
      kind: 'times',
      text: `${two ? `${c.nEncoderLayers} + ${c.nLayers}` : c.nLayers} ×`,
      differs: differs(['nLayers', 'nEncoderLayers']),
      items: c.parallelResidual
        ? parallel()
        : [
            ...sublayer(attend),
            ...(two ? sublayer(box('attn', FLOW.cross, ['kind'], share('cross_attention'))) : []),
            ...(hasFfn(c) ? sublayer(ffn) : []),
          ],
    },
    ...(c.finalNorm ? [box('norm', NORM_NAMES[c.finalNormKind], ['finalNorm', 'finalNormKind', 'finalNormEps'])] : []),
    ...(has('head') ? [box('head', FLOW.head(c), HEAD, share('head'))] : []),
  ];
}

/** Fields that the box of the embedding stands for. */
const embedding = (/** @type {any} */ c, /** @type {any} */ other) => [
  ...['vocabSize', 'dModel', 'dEmbed', 'sharedEmbedding', 'embeddingScale'],
  ...(addsPositions(c) || addsPositions(other) ? ['position', 'positionOffset'] : []),
];

/** Fields that the box of the FFN stands for. */
const feedForward = (/** @type {any} */ c, /** @type {any} */ other) => [
  ...['ffn', 'dFf', 'biasFfn'],
  ...(c.nExperts || other.nExperts ? ['nExperts', 'nExpertsUsed', 'dExpert', 'dSharedExpert', 'expertLayers'] : []),
];

/** Fields that the box of attention stands for. */
function attention(/** @type {any} */ c, /** @type {any} */ other) {
  const place = (/** @type {any} */ m) => (['rope', 'alibi'].includes(m.position) ? m.position : '');
  const angle = (/** @type {any} */ m) => (m.position === 'rope' ? m.ropeTheta : null);
  return [
    ...['nHeads', 'nKvHeads', 'dHead', 'biasQkv', 'biasAttnOut', 'qkNorm', 'slidingWindow', 'windowLayers', 'causal'],
    ...['scoreScale', 'scoreSoftcap', 'clipQkv', 'rotaryDim', 'rotaryKvHeads', 'ropeLayers', 'relativeBuckets'],
    ...(angle(c) === angle(other) && place(c) === place(other) ? [] : ['position', 'ropeTheta']),
  ];
}
