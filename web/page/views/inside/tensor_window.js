// tensor_window.js - the part of a tensor [position, ...] that its picture shows, and the names of its cells
import { say } from '../../state/base/language.js';

/** @typedef {{ point: string, name: string, tensor: { data: Float32Array, shape: number[] } }} Named */

export const ROWS = 24; // at most on the picture
export const HEIGHT = 15; // px of a row
export const PAGE = 16; // numbers of a row that the table shows at once

/** @type {[RegExp, string][]} */
const HUES = [
  [/mlp/, 'f'],
  [/hook_(rot_)?q$/, 'q'],
  [/hook_(rot_)?k$/, 'k'],
  [/hook_[vz]$/, 'v'],
];
/** The hue of positive numbers at a point. @param {string} point */
export const hueOf = (point) => HUES.find(([pattern]) => pattern.test(point))?.[1] ?? 'p';

/**
 * Numbers of a row.
 * @param {Named['tensor']} tensor
 */
export const widthOf = ({ data, shape }) => data.length / shape[0];

/**
 * The rows that are shown: at most ROWS, the selected one among them.
 * @param {number} rows
 * @param {number} row  the selected one
 * @param {number} [first]  row that was the first before
 */
export function rowsOf(rows, row, first) {
  const shown = Math.min(ROWS, rows);
  const fits = first !== undefined && row >= first && row < first + shown && first + shown <= rows;
  return { first: fits ? first : Math.max(0, Math.min(rows - shown, row - shown + 1)), shown };
}

/**
 * The name of a number in its row: its index, with heads counted from 1.
 * @param {number} column
 * @param {number[]} shape
 */
export const columnName = (column, shape) =>
  shape.length === 3 ? say`head ${Math.floor(column / shape[2]) + 1}, ` + (column % shape[2]) : String(column);
