// lens_table.js - the logit lens of the selected token as a table, and the parts of a logit as a grid and two lists

import { blockPoint } from '../../state/facts/hook_points.js';

/** @typedef {import('../../state/store/state.js').Token} Token */
/** @typedef {import('glassformer').LensToken} LensToken */
/** @typedef {import('glassformer').Attribution} Attribution */
/** @typedef {Attribution['parts'][number]} Part */

const COLUMNS = 9; // positions in the table, the newest last
const LEAST = 3;
const BESIDE = 116; // px of the first and the last column where they are narrowest
const COLUMN = 64; // px of a position, at least
const LONGEST = 5; // entries of a list
const SHOWN = 5e-4; // smaller gaps vanish in three decimals

/**
 * Points of the residual stream after each layer.
 * @param {any} config
 */
export const streamsOf = (config) =>
  Array.from({ length: config.nLayers }, (_, layer) => `${blockPoint(config, layer)}.hook_resid_post`);

/**
 * Euclidean norm of one row of a tensor [position, d].
 * @param {{ data: Float32Array, shape: number[] } | undefined} tensor
 * @param {number} position
 */
export function normOf(tensor, position) {
  if (!tensor) return NaN;
  const d = tensor.shape[tensor.shape.length - 1];
  return Math.sqrt(tensor.data.subarray(position * d, (position + 1) * d).reduce((sum, v) => sum + v * v, 0));
}

/** How many positions a table has. @param {number} width px */
export const columnsFor = (width) => Math.max(LEAST, Math.min(COLUMNS, Math.floor((width - BESIDE) / COLUMN)));

/**
 * The last positions of the lens up to the selected token.
 * @param {LensToken[][][]} read  [layer][position][rank] for the tokens up to the selected one
 * @param {number[]} norms        of the residual vector of the selected token after each layer
 * @param {Token[]} tokens        those read, and the one that follows if there is one
 * @param {{ cursor: number, own: 0 | 1 }} place  of the selected token; own: which token a place is about, its own or the next
 */
export function lensTable(read, norms, tokens, { cursor, own } = { cursor: (read[0]?.length ?? 0) - 1, own: 1 }) {
  const n = own ? (read[0]?.length ?? 0) : Math.min(read[0]?.length ?? 0, Math.max(COLUMNS, cursor + 1));
  const first = Math.max(0, n - COLUMNS);
  const columns = Array.from({ length: n - first }, (_, i) => ({
    position: first + i,
    token: tokens[first + i],
    next: /** @type {Token | undefined} */ (tokens[first + i + own]),
  }));
  const rows = read.map((list, layer) => ({
    layer,
    norm: norms[layer],
    cells: columns.map(({ position, next }) => {
      const [best] = list[position];
      return { best, here: position === cursor, right: next?.id === best.id };
    }),
  }));
  return { columns, rows };
}

/**
 * The parts of a logit: a grid by layer with a second row for cross-attention, the largest and the most negative, and
 * what they add up to.
 * @param {Attribution} votes
 * @param {any} config
 */
export function votesOf({ parts: all, sum, logit }, config) {
  const parts = all.filter(({ kind }) => kind !== 'bias');
  const biases = all.filter(({ kind }) => kind === 'bias').reduce((n, { value }) => n + value, 0);
  const most = Math.max(...parts.map(({ value }) => Math.abs(value)), 1e-9);
  const stacks = config.kind === 'encoder_decoder' ? [false, true] : [false];
  const rows = Array.from({ length: config.nLayers }, (_, layer) =>
    stacks.map((across) => {
      const own = parts.filter((p) => p.layer === layer && p.name.includes('.cross_attn.') === across);
      const heads = Array.from({ length: config.nHeads }, (_, head) => own.find((p) => p.head === head));
      const cells = [...heads, own.find(({ kind }) => kind === 'ffn')];
      return { layer, across, cells, parts: cells.filter((part) => part !== undefined) };
    }),
  ).flat();
  const order = [...parts].sort((a, b) => b.value - a.value);
  return {
    rows,
    most,
    largest: order.filter(({ value }) => value > 0).slice(0, LONGEST),
    smallest: order
      .filter(({ value }) => value < 0)
      .slice(-LONGEST)
      .reverse(),
    total: { sum, logit, biases, gap: Math.abs(sum - logit) > SHOWN },
  };
}
