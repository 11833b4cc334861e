// matrix.js - one head as a large matrix on a canvas: queries down, keys across. Near the selected token its cells are
// drawn one by one, with the keys before them gathered in one column; the whole text lies in a canvas of one pixel per
// cell, painted as rows come and scaled up, so that 512 tokens cost no more than 16.

import { css, roomFor, Triangle } from './heatmap.js';
import { paintLabels } from './matrix_labels.js';

const LEFT = 92; // room for query labels, CSS pixels
const TOP = 78; // room for key labels
const RIGHT = 44; // room for the last of them, which lean over
const CELL = 27; // largest cell
const SPACED = 12; // smallest cell that is drawn with a gap around it
const FEW = 28; // rows and columns that are drawn one by one, however small
const EARLY = 1.6; // cells that the column of earlier keys takes, gap included

/**
 * @typedef {ReturnType<typeof layoutOf>} Layout
 *
 * @typedef {object} Source  the values of one head
 * @property {any[]} identity              what they are of: others of the same are the same values, or more rows
 * @property {(query: number) => Float32Array | null} row
 * @property {(query: number, key: number) => boolean} masked
 * @property {boolean} triangular          half of the cells are masked
 * @property {boolean} shown               masked cells have a value, too
 * @property {boolean} sums                a row's values add up: earlier keys may be gathered
 * @property {(value: number) => number} index  place in the palette, 0..255
 *
 * @typedef {object} Picture
 * @property {Layout} layout
 * @property {Source} source
 * @property {{ query: number, key: number | null }} chosen
 * @property {string[]} queries  labels from `first` on
 * @property {string[]} keys
 * @property {string[]} earlier  over the column of earlier keys, a line each
 *
 * @typedef {Record<'q' | 'k' | 'p' | 'line' | 'dim' | 'text', string>} Inks  CSS colours
 */

/**
 * In CSS pixels: the side of a cell; where rows begin (`edge`), and the cells of the keys (`left`), after the column of
 * earlier keys, if there is one.
 * @param {{ width: number, tall: number, first: number, n: number, m: number }} of  tall: largest height of the cells
 *   together. first: position of the first of n rows and m columns
 */
export function layoutOf({ width, tall, first, n, m }) {
  const early = first > 0 ? EARLY : 0;
  const edge = Math.min(LEFT, width * 0.24);
  const cell = Math.min(CELL, (width - edge - RIGHT) / (m + early), tall / n);
  return { cell, first, n, m, edge, left: edge + early * cell, top: TOP, width, height: Math.ceil(TOP + cell * n + 4) };
}

/**
 * @param {Layout} layout
 * @param {number} x
 * @param {number} y
 */
export function cellAt({ cell, first, n, m, left, top }, x, y) {
  const key = Math.floor((x - left) / cell);
  const query = Math.floor((y - top) / cell);
  return key >= 0 && query >= 0 && key < m && query < n ? { query: query + first, key: key + first } : null;
}

export class MatrixPainter {
  #whole = new Triangle(document.createElement('canvas'));
  /** @type {any[]} */
  #identity = [];
  #canvas;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.#canvas = canvas;
  }

  /** Nothing is left on it. */
  clear() {
    this.#canvas.width += 0;
  }

  /**
   * @param {Picture} picture
   * @param {Uint32Array} colors  palette of the values
   * @param {{ inks: Inks, font: string, scale?: number }} style  scale: CSS pixels for one of the layout
   */
  paint(picture, colors, style) {
    const { layout, source } = picture;
    const g = this.#prepared(layout, style.scale);
    const single = layout.first > 0 || layout.cell >= SPACED || Math.max(layout.n, layout.m) <= FEW;
    if (single) paintCells(g, layout, source, colors);
    else this.#paintWhole(g, layout, source, colors);
    if (source.triangular)
      paintMask(g, layout, source, source.shown ? style.inks.dim : style.inks.line, single && layout.cell >= SPACED);
    paintLabels(g, picture, style);
    paintChoice(g, picture, style.inks);
  }

  /** @param {Layout} layout */
  #prepared({ width, height }, larger = 1) {
    const scale = (devicePixelRatio || 1) * larger;
    const canvas = this.#canvas;
    const size = [width, height].map((x) => Math.round(x * scale));
    if (canvas.width !== size[0] || canvas.height !== size[1]) {
      [canvas.width, canvas.height] = size;
      canvas.style.blockSize = `${height * larger}px`;
    }
    const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, width, height);
    return g;
  }

  /**
   * @param {CanvasRenderingContext2D} g
   * @param {Layout} layout
   * @param {Source} source
   * @param {Uint32Array} colors
   */
  #paintWhole(g, { cell, n, m, left, top }, source, colors) {
    const room = roomFor(Math.max(n, m));
    const identity = [...source.identity, colors, room];
    if (identity.some((x, i) => x !== this.#identity[i])) {
      this.#whole.clear(room);
      this.#identity = identity;
    }
    this.#whole.paint(n, source.row, colors, source.index);
    g.imageSmoothingEnabled = cell * (devicePixelRatio || 1) < 1;
    g.drawImage(/** @type {HTMLCanvasElement} */ (this.#whole.canvas), 0, 0, m, n, left, top, cell * m, cell * n);
  }
}

/**
 * @param {CanvasRenderingContext2D} g
 * @param {Layout} layout
 * @param {Source} source
 * @param {Uint32Array} colors
 */
function paintCells(g, { cell, first, n, m, edge, left, top }, source, colors) {
  const gap = Math.max(0.75, cell * 0.045);
  const square = (/** @type {number} */ x, /** @type {number} */ q, /** @type {number} */ value) => {
    g.fillStyle = css(colors, source.index(value));
    g.beginPath();
    g.roundRect(x + gap, top + q * cell + gap, cell - 2 * gap, cell - 2 * gap, Math.min(3, cell * 0.12));
    g.fill();
  };
  for (let q = 0; q < n; q++) {
    const row = source.row(first + q);
    if (!row) continue;
    for (let k = 0; k < m && first + k < row.length; k++) square(left + k * cell, q, row[first + k]);
    if (!first || !source.sums) continue;
    let sum = 0;
    for (let k = 0; k < first; k++) sum += row[k];
    square(edge, q, sum);
  }
}

/**
 * One diagonal stroke for each masked cell while they are large, even hatching over the triangle when they are not.
 * @param {CanvasRenderingContext2D} g
 * @param {Layout} layout
 * @param {Source} source
 * @param {string} color
 * @param {boolean} each
 */
function paintMask(g, { cell, first, n, m, left, top }, source, color, each) {
  g.strokeStyle = color;
  g.lineWidth = 1;
  g.save();
  g.beginPath();
  if (each) {
    const inset = cell * 0.2;
    for (let q = 0; q < n; q++)
      for (let k = 0; k < m; k++) {
        if (!source.masked(first + q, first + k)) continue;
        g.moveTo(left + k * cell + inset, top + (q + 1) * cell - inset);
        g.lineTo(left + (k + 1) * cell - inset, top + q * cell + inset);
      }
  } else {
    const side = cell * n;
    g.moveTo(left, top);
    g.lineTo(left + side, top);
    g.lineTo(left + side, top + side);
    g.closePath();
    g.clip();
    g.beginPath();
    for (let d = 0; d < 2 * side; d += 7) {
      g.moveTo(left + d, top);
      g.lineTo(left + d - side, top + side);
    }
  }
  g.stroke();
  g.restore();
}

/**
 * A frame around the selected row, and one around its cell.
 * @param {CanvasRenderingContext2D} g
 * @param {Picture} picture
 * @param {Inks} inks
 */
function paintChoice(g, { layout: { cell, first, n, m, edge, left, top }, source, chosen }, inks) {
  const q = chosen.query - first;
  const k = chosen.key === null ? -1 : chosen.key - first;
  if (q < 0 || q >= n) return;
  const length = source.row(chosen.query)?.length ?? m;
  g.lineWidth = 2;
  g.strokeStyle = inks.p;
  g.beginPath();
  g.roundRect(
    edge - 1,
    top + q * cell - 1,
    left - edge + Math.min(m, length - first) * cell + 2,
    Math.max(cell, 3) + 2,
    4,
  );
  g.stroke();
  if (k < 0 || k >= m) return;
  g.strokeStyle = inks.text;
  g.beginPath();
  g.roundRect(left + k * cell, top + q * cell, Math.max(cell, 4), Math.max(cell, 4), 3);
  g.stroke();
}
