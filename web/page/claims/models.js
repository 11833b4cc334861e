// claims/models.js - a model used and freed, its whole generation, a refusal, and counts in a table of parameters.

import { sum } from './numbers.js';

/**
 * Use a model and free it.
 * @template T
 * @param {Promise<import('glassformer').Model>} making
 * @param {(model: import('glassformer').Model) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function using(making, use) {
  const model = await making;
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

/**
 * All of a generation.
 * @param {AsyncGenerator<any, any, void>} generator
 */
export async function written(generator) {
  for (;;) {
    const { done, value } = await generator.next();
    if (done) return value;
  }
}

/**
 * The sentence with which something is refused, '' when it is not.
 * @param {() => any} act
 * @returns {Promise<string>}
 */
export async function refusal(act) {
  try {
    const made = await act();
    made?.dispose?.();
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

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
