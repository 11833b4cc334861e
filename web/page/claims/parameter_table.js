// claims/parameter_table.js - counts in a table of parameters
import { sum } from './arithmetic.js';

/**
 * Scalars of some rows of a parameter table.
 * @param {{rows: any[]}} table
 * @param {string} component
 * @param {number | null} [layer] any when absent
 */
export const count = (table, component, layer) =>
  sum(
    table.rows
      .filter((r) => r.component === component && (layer === undefined || r.layer === layer))
      .map((r) => r.count),
  );

/**
 * Scalars of one block.
 * @param {{rows: any[]}} table
 * @param {number} [layer]
 */
export const block = (table, layer = 0) => sum(table.rows.filter((r) => r.layer === layer).map((r) => r.count));
