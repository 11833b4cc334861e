// token_cost.js - what one more token costs: operations, bytes and time, and how that grows with the position

import { UNMEASURED } from '../../text/count.js';
import { bytes, int, percent, si, time } from '../../text/format.js';

/** @typedef {ReturnType<typeof import('glassformer').estimate>} Estimate */
/** @typedef {(length: number) => Estimate} CostAt  a token with so many in the context, itself included */

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
    return {
      position: position === contextLength ? `${int(position)}, the end` : int(position),
      flops: si(flopsPerToken),
      attention: percent((flopsPerToken - withoutKeys) / flopsPerToken),
      kv: bytes(kvBytes),
    };
  });
}

/**
 * The bytes of the weights that one token reads: all, or of experts those that it uses.
 * @param {import('../../state/state.js').LoadedModel} model
 */
export function bytesRead({ config: c, parameters: { rows, bytes: all } }) {
  const experts = rows.filter((/** @type {any} */ row) => row.name.includes('.experts.'));
  const bytesOf = experts.reduce((/** @type {number} */ n, /** @type {any} */ row) => n + row.bytes, 0);
  return bytesOf ? all - bytesOf + (bytesOf * c.nExpertsUsed) / c.nExperts : all;
}

/**
 * What the token at the end of the text costs.
 * @param {CostAt} costAt
 * @param {{ length: number, weightBytes: number, msPerToken: number }} text  msPerToken: 0 before it is measured
 * @returns {[name: string, predicted: string, more: string][]}
 */
export function here(costAt, { length, weightBytes, msPerToken }) {
  const { flopsPerToken, flopsPerToken2N, kvBytes } = costAt(length);
  const read = weightBytes + kvBytes;
  const perSecond = 1000 / msPerToken;
  return [
    ['FLOPs', `2N rule ${si(flopsPerToken2N)}`, `exact ${si(flopsPerToken)}`],
    ['kv cache', `${int(costAt(1).kvBytes)} B a token`, `${bytes(kvBytes)} so far`],
    ['Bytes read', bytes(read), msPerToken ? si(read * perSecond, 'B/s') : ''],
    [
      'Time',
      msPerToken ? `${time(msPerToken)} measured` : UNMEASURED,
      msPerToken ? si(flopsPerToken * perSecond, 'FLOP/s') : '',
    ],
  ];
}
