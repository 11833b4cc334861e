// operations.js - the operations of one measured pass, added up by what they are called

import { OPERATION_NAMES } from '../../text/count.js';

/** @typedef {{ flops: number, ms: number }} Cost */

/**
 * @param {(Cost & { op: string })[]} rows  of the engine: an operation of a layer each
 * @returns {{ rows: (Cost & { name: string, share: number })[], total: Cost }} share: of the time
 */
export function byName(rows) {
  const sum = (/** @type {Cost[]} */ list) => ({
    flops: list.reduce((n, { flops }) => n + flops, 0),
    ms: list.reduce((n, { ms }) => n + ms, 0),
  });
  const total = sum(rows);
  const names = [...new Set(rows.map(({ op }) => OPERATION_NAMES[op]))];
  return {
    rows: names.map((name) => {
      const { flops, ms } = sum(rows.filter(({ op }) => OPERATION_NAMES[op] === name));
      return { name, flops, ms, share: total.ms ? ms / total.ms : 0 };
    }),
    total,
  };
}
