// claims/parameter_table.js - counts in a table of parameters, and claims that they are so many
import { sum } from './arithmetic.js';
import { claim } from './claim.js';
import { same } from './outcome.js';

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
 * A claim about the parameters of a configuration or preset.
 * @param {string} id
 * @param {string} text
 * @param {any} config
 * @param {string | number} expected
 * @param {(table: Table) => string | number} found
 */
export const ofCount = (id, text, config, expected, found) =>
  claim(id, text, (g) => same(expected, found(g.countParameters(config))));
