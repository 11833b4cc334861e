// claims/parameter_table.js - counts in a table of parameters, and claims that they are so many
import { COMPONENTS } from '../text/count.js';
import { percent } from '../text/format.js';
import { sum } from './arithmetic.js';
import { text } from './outcome.js';

/** @typedef {import('glassformer').ParameterTable} Table */

/**
 * Scalars of some rows of a parameter table.
 * @param {{rows: any[]}} table
 * @param {string} component
 * @param {number | null} [layer] any when absent
 */
export const count = (table, component, layer) =>
  scalars(table, (r) => r.component === component && (layer === undefined || r.layer === layer));

/**
 * Scalars of the rows that this holds of.
 * @param {{rows: any[]}} table
 * @param {(row: any) => boolean} holds
 */
export const scalars = ({ rows }, holds) => sum(rows.filter(holds).map((r) => r.count));

/**
 * Scalars of one block.
 * @param {{rows: any[]}} table
 * @param {number} [layer]
 */
export const block = (table, layer = 0) => scalars(table, (r) => r.layer === layer);

/**
 * Parameters by component: of one block of each stack, of what is in no block, and of all.
 * @param {Table} table
 * @returns {import('./section.js').Table}
 */
export function byBlock(table) {
  const row = (/** @type {string} */ name, /** @type {number} */ n) => [name, text(n), percent(n / table.total)];
  /** @typedef {(row: any) => boolean} Holds */
  const together = (/** @type {string} */ name, /** @type {Holds} */ holds) => row(name, scalars(table, holds));
  const components = (/** @type {Holds} */ holds, /** @type {string} */ where) =>
    [...new Set(table.rows.filter(holds).map((r) => r.component))].map((component) =>
      together(`${COMPONENTS[component]}${where}`, (r) => r.component === component && holds(r)),
    );
  const stacks = [...new Set(table.rows.filter((r) => r.layer === 0).map((r) => r.stack))];
  const blocks = stacks.flatMap((stack) => {
    const name = stacks.length > 1 ? `${stack} block` : 'block';
    const first = (/** @type {any} */ r) => r.layer === 0 && r.stack === stack;
    return [
      ...components(first, `, one ${name}`),
      together(`One ${name}`, first),
      together(`All ${name}s`, (r) => r.layer !== null && r.stack === stack),
    ];
  });
  return {
    head: ['Component', 'Parameters', 'Share'],
    rows: [
      ...components((r) => r.layer === null, ''),
      ...blocks,
      row('Without the embeddings', table.nonEmbedding),
      row('Total', table.total),
    ],
  };
}
