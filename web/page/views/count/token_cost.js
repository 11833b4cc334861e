// token_cost.js - computes the cost of one more token: operations, bytes and time, and how they grow with the position

import { say } from '../../state/base/language.js';
import { UNMEASURED } from '../../text/count_text.js';
import { bytes, int, percent, si, time } from '../../text/format.js';

/** @typedef {import('../../state/calls/page_calls.js').Calls['costAt']} CostAt  a token with so many in the context, itself included */

const ROUND = [1, 16, 64, 256, 1024, 4096, 16384];

/**
 * What a token costs at some positions of the context, its end among them.
 * @param {CostAt} costAt
 * @param {number} contextLength
 */
export function byPosition(costAt, contextLength) {
  const [first, second] = [costAt(1).flopsPerToken, costAt(2).flopsPerToken];
  const withoutKeys = first - (second - first);
  const positions = [...ROUND.filter((p) => p < contextLength).slice(-4), contextLength];
  return positions.map((position) => {
    const { flopsPerToken, kvBytes } = costAt(position);
    return [
      position === contextLength ? say`${int(position)}, the end` : int(position),
      ...[si(flopsPerToken), percent((flopsPerToken - withoutKeys) / flopsPerToken), bytes(kvBytes)],
    ];
  });
}

/** Tables of which a token reads one row. */
const LOOKED_UP = new Set(['embedding', 'position']);

/**
 * The bytes that one token reads of some parameters: of a table one row, of experts those that it uses, of attention
 * also the cache; of an encoder beside a decoder nothing, which has read its text before.
 * @param {import('./parameter_groups.js').Row[]} rows
 * @param {import('../../state/store/state.js').LoadedModel} model
 * @param {number} cache  its bytes at this position
 */
export function bytesRead(rows, { config, parameters }, cache) {
  const own = rows.filter((row) => config.kind === 'encoder' || row.stack !== 'encoder');
  const weights = own.reduce((sum, row) => {
    const of = row.tiedTo ? parameters.rows.find((/** @type {typeof row} */ { name }) => name === row.tiedTo) : row;
    const used = row.name.includes('.experts.') ? config.nExpertsUsed / config.nExperts : 1;
    return sum + (of.memoryBytes * used) / (LOOKED_UP.has(row.component) ? row.shape[0] : 1);
  }, 0);
  const layers = new Set(own.filter((row) => row.component === 'attention').map((row) => row.layer)).size;
  return Math.round(weights + (cache * layers) / config.nLayers);
}

/**
 * What the token at the end of the text costs.
 * @param {CostAt} costAt
 * @param {{ length: number, read: number, msPerToken: number }} text  read: bytes. msPerToken: 0 before it is measured
 * @returns {[name: string, predicted: string, more: string][]}
 */
export function here(costAt, { length, read, msPerToken }) {
  const { flopsPerToken, flopsPerToken2N, kvBytes } = costAt(length);
  const perSecond = 1000 / msPerToken;
  return [
    [say`FLOPs`, say`2N rule ${si(flopsPerToken2N)}`, say`exact ${si(flopsPerToken)}`],
    [say`kv cache`, say`${int(costAt(1).kvBytes)} B per token`, say`${bytes(kvBytes)} so far`],
    [say`Bytes read`, bytes(read), msPerToken ? si(read * perSecond, 'B/s') : ''],
    [
      say`Time`,
      msPerToken ? say`${time(msPerToken)} measured` : UNMEASURED,
      msPerToken ? si(flopsPerToken * perSecond, 'FLOP/s') : '',
    ],
  ];
}
