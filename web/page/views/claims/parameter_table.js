// parameter_table.js - counts in a table of parameters, and claims about these counts
import { groups } from 'd3-array';
import { percent } from '../../text/format.js';
import { byComponent } from '../count/parameter_groups.js';
import { sum } from './arithmetic.js';
import { same, sentence, text } from './outcome.js';

/** @typedef {import('glassformer').ParameterTable} Table */
/** @typedef {typeof import('glassformer')} Glassformer */

/** @param {{ count: number }[]} rows */
const ofAll = (rows) => sum(rows.map((r) => r.count));

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
export const scalars = ({ rows }, holds) => ofAll(rows.filter(holds));

/** Scalars of the first block. @param {{rows: any[]}} table */
export const block = (table) => scalars(table, (r) => r.layer === 0);

/** The final norm has d_model parameters as RMSNorm, twice as many as LayerNorm.
 * @param {any} config  or the name of a preset @returns {import('./claim.js').Run} */
export const ofNormSizes = (config) => (g) => {
  const c = g.PRESETS[config] ?? config;
  const of = (/** @type {string} */ norm) => count(g.countParameters({ ...c, norm }), 'final_norm');
  return sentence`RMSNorm ${same(c.d_model, of('rmsnorm'))}, LayerNorm ${same(2 * c.d_model, of('layernorm'))}`;
};

/**
 * Parameters by component: of one block of each stack, of what is in no block, and of all.
 * @param {any} config  or the name of a preset
 * @returns {(g: Glassformer) => import('./tutorial_sections.js').Table}
 */
export const byBlock = (config) => (g) => {
  const { rows, total, nonEmbedding } = g.countParameters(config),
    complete = g.completeConfig(config);
  const row = (/** @type {string} */ name, /** @type {number} */ n) => [name, text(n), percent(n / total)];
  const components = (/** @type {any[]} */ list) =>
    byComponent(list, complete).map(({ name, count }) => row(name, count));
  const [unlayered, ...stacks] = groups(rows, (r) => r.layer !== null && r.stack);
  return {
    head: ['Component', 'Parameters', 'Share'],
    rows: [
      ...components(unlayered[1]),
      ...stacks.flatMap(([stack, list]) => {
        const block = stacks.length > 1 ? `${stack} block` : 'block',
          first = list.filter((r) => r.layer === 0);
        return [...components(first), row(`One ${block}`, ofAll(first)), row(`All ${block}s`, ofAll(list))];
      }),
      row('Without the embeddings', nonEmbedding),
      row('Total', total),
    ],
  };
};
