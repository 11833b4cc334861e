// tiles.js - the small triangles of all heads, painted in slices of a few milliseconds

import { Triangle, roomFor } from './heatmap.js';

const PIXELS = 128; // of a tile's side, at most
const SLICE_MS = 3;

/**
 * @typedef {object} Tile
 * @property {HTMLCanvasElement} canvas
 * @property {number} layer
 * @property {number} head
 */

/**
 * Pixels that so many rows take on a side of a tile.
 * @param {number} side  rows or columns, whichever are more
 */
export const pixelsOf = (side) => side * Math.min(1, PIXELS / roomFor(side));

export class Tiles {
  /** @typedef {{ triangle: Triangle, of: any, epoch: number }} Painted  of, epoch: which rows were painted */
  /** @type {WeakMap<HTMLCanvasElement, Painted>} */
  #painted = new WeakMap();
  #turn = 0; // whose tile is next: while text streams a slice ends before all have had one
  /** @type {Uint32Array} */
  #colors = new Uint32Array(256);

  /**
   * @param {Tile[]} tiles
   * @param {Uint32Array} colors
   */
  recolor(tiles, colors) {
    this.#colors = colors;
    for (const { canvas } of tiles) this.#paintedOn(canvas).triangle.recolor(colors);
  }

  /**
   * Paint the rows that are missing, tile by tile.
   * @param {Tile[]} tiles
   * @param {import('./pattern_store.js').PatternStore} patterns
   * @param {number} side  rows or columns, whichever are more
   * @returns {boolean} whether every tile has every row
   */
  paint(tiles, patterns, side) {
    const start = performance.now();
    const room = roomFor(side);
    for (let i = 0; i < tiles.length; i++) {
      if (performance.now() - start > SLICE_MS) return false;
      const { canvas, layer, head } = tiles[this.#turn++ % tiles.length];
      const painted = this.#paintedOn(canvas);
      const { triangle } = painted;
      if (painted.epoch !== patterns.epoch || painted.of !== patterns || triangle.capacity > room) {
        triangle.clear(room);
        Object.assign(painted, { of: patterns, epoch: patterns.epoch });
      } else if (triangle.capacity < room) triangle.grow(room, this.#colors);
      triangle.paint(patterns.known(layer), (query) => patterns.row(layer, head, query), this.#colors);
      canvas.style.setProperty('--zoom', String(room / Math.max(1, side)));
    }
    return true;
  }

  /** @param {HTMLCanvasElement} canvas */
  #paintedOn(canvas) {
    const painted = this.#painted.get(canvas) ?? { triangle: new Triangle(canvas, PIXELS), of: null, epoch: -1 };
    this.#painted.set(canvas, painted);
    return painted;
  }
}
