// cell_image.js - a table of numbers as an image with a pixel for each, and where it lies among its labels
import { palette } from './heatmap.js';

/** @typedef {Record<'hot' | 'cold' | 'k', string>} Inks  CSS colours */

const LETTER = 6.3; // px, of a label
const LABEL = 13; // px from one label to the next
const LARGEST = 30; // px, of a cell
const TALLEST = 420; // px, of all rows

/**
 * Colours from `cold` to `hot`; of a range around 0 those below it go to `k`.
 * @param {[number, number]} range
 * @param {Inks} inks
 * @returns {(value: number) => number} packed as in `palette`; 0, transparent, for NaN
 */
export function coloursOf([low, high], { hot, cold, k }) {
  const [up, down] = [palette(cold, hot), palette(cold, k)];
  const around = low < 0 && high > 0;
  return (value) => {
    if (Number.isNaN(value)) return 0;
    const share = !around ? (value - low) / (high - low) : value < 0 ? value / low : value / high;
    return (around && value < 0 ? down : up)[Math.round(255 * Math.min(1, Math.max(0, share)))];
  };
}

/**
 * @param {number[][]} values  [row][column]
 * @param {(value: number) => number} colour
 * @returns {string} address of a PNG
 */
export function imageOf(values, colour) {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [values[0]?.length || 1, values.length || 1];
  const image = new ImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (const [i, row] of values.entries()) pixels.set(row.map(colour), i * canvas.width);
  /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')).putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/** The values of a scale from low to high. @param {[number, number]} range */
export const scaleOf = ([low, high]) => [Array.from({ length: 256 }, (_, i) => low + ((high - low) * i) / 255)];

/**
 * In px: the sides of a cell, where the cells begin, the drawing's height, and every how many labels there is room for one.
 * @param {number} width
 * @param {string[]} rows     labels
 * @param {string[]} columns
 */
export function placeCells(width, rows, columns) {
  const longest = (/** @type {string[]} */ labels) => Math.max(0, ...labels.map(({ length }) => length)) * LETTER;
  const left = Math.min(width * 0.3, 20 + longest(rows));
  const wide = Math.min(LARGEST, (width - left - 12) / columns.length);
  const high = Math.min(LARGEST, TALLEST / rows.length, Math.max(wide, 4));
  const leaning = longest(columns) + 4 > wide;
  const top = 24 + (leaning ? Math.min(72, 8 + 0.75 * longest(columns)) : LABEL);
  const every = (/** @type {number} */ side) => Math.ceil(LABEL / side);
  return {
    ...{ left, top, wide, high, leaning, bottom: top + high * rows.length, right: left + wide * columns.length },
    ...{ everyRow: every(high), everyColumn: leaning ? every(wide) : 1 },
  };
}
