// machine_parts.js - parameters by the part of the machine that they make up
import { kindOf } from './parameter_groups.js';

/** @typedef {import('./parameter_groups.js').Row} Row */

/** The parts of the machine in order, each with the components of the table that belong to it. @type {[string, RegExp][]} */
const PARTS = [
  ['embedding', /^(?:embedding|position|types)$/],
  ['attention', /^(?:attention|cross_attention|relative)$/],
  ['ffn', /^(?:ffn|experts)$/],
  ['norm', /norm$/],
  ['head', /^(?:head|pooler|mlm)$/],
];

/**
 * Rows by the part of the machine that they make up; memory: bytes in linear memory. A part that the model lacks has no
 * entry.
 * @param {Row[]} rows
 */
export const byPart = (rows) =>
  PARTS.flatMap(([part, of]) => {
    const list = rows.filter((row) => of.test(kindOf(row)));
    const memory = list.reduce((n, row) => n + (row.memoryBytes ?? row.bytes), 0);
    return list.length
      ? [
          {
            part,
            rows: list,
            count: list.reduce((n, row) => n + row.count, 0),
            memory,
            tied: list.every((row) => row.tiedTo),
          },
        ]
      : [];
  });
