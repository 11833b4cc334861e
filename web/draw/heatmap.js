// heatmap.js - weights as pixels: one palette of 256 colours, one pass per row into ImageData, scaled by CSS.

/** '#rrggbb' or 'rgb(r, g, b)' -> [r, g, b] */
function rgb(/** @type {string} */ css) {
  if (css.startsWith('#')) return [1, 3, 5].map((i) => parseInt(css.slice(i, i + 2), 16));
  return (css.match(/[\d.]+/g) ?? ['0', '0', '0']).slice(0, 3).map(Number);
}

// sRGB <-> OKLab (Ottosson 2020): equal steps of L look like equal steps of lightness.
const toLinear = (/** @type {number} */ c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const toGamma = (/** @type {number} */ c) => (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);

function oklab(/** @type {number[]} */ color) {
  const [r, g, b] = color.map((c) => toLinear(c / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function srgb(/** @type {number[]} */ [L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((c) => Math.round(255 * Math.min(1, Math.max(0, toGamma(Math.max(0, c))))));
}

/** 256 opaque colours from `zero` to `full`, even in lightness, packed for a Uint32Array over ImageData.
 * @param {string} zero @param {string} full CSS colours */
export function palette(zero, full) {
  const from = oklab(rgb(zero));
  const to = oklab(rgb(full));
  const packed = new Uint32Array(256);
  const view = new DataView(packed.buffer);
  for (let i = 0; i < 256; i++) {
    const [r, g, b] = srgb(from.map((c, j) => c + ((to[j] - c) * i) / 255));
    view.setUint32(i * 4, ((r << 24) | (g << 16) | (b << 8) | 255) >>> 0);
  }
  return packed;
}

/**
 * The palette that CSS gives this element: `background-color` for zero, `color` for full.
 * @param {Element} element
 */
export function paletteOf(element) {
  const style = getComputedStyle(element);
  return palette(style.backgroundColor, style.color);
}

/**
 * A packed colour as CSS.
 * @param {Uint32Array} colors
 * @param {number} i
 */
export function css(colors, i) {
  const v = new DataView(colors.buffer).getUint32(i * 4);
  return `rgb(${v >>> 24} ${(v >>> 16) & 255} ${(v >>> 8) & 255})`;
}

/** Attention weights run over three decades; the square root keeps 1 % visible. 0..1 -> 0..255
 * @param {number} weight */
export const shade = (weight) => Math.min(255, Math.round(255 * Math.sqrt(weight)));

/**
 * The triangle of one head on one canvas, a row appended at a time. It has room for `capacity` queries and keys; CSS
 * shows the part in use (custom property `--zoom` = capacity / rows on an ancestor), so that appending never clears
 * what is painted. A cell is a pixel as long as that makes at most `limit` pixels a side; beyond it a pixel stands for
 * 2 x 2, 4 x 4 ... cells and shows the largest, so that a thin line stays to be seen. Pixels that no row reached stay
 * transparent: the hatching below shows.
 */
export class Triangle {
  /**
   * @param {HTMLCanvasElement | OffscreenCanvas} canvas
   * @param {number} [limit] a power of two
   */
  constructor(canvas, limit = Infinity) {
    this.canvas = canvas;
    this.limit = limit;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.painted = 0; // rows
    this.capacity = 0;
    this.shift = 0; // a pixel is 2^shift cells wide
    this.size = 0; // pixels a side
    /** of each pixel the place in the palette and one, 0: no row reached it */
    this.pixels = new Uint16Array(0);
  }

  /**
   * Start again with room for this many queries.
   * @param {number} capacity
   */
  clear(capacity) {
    this.#room(capacity);
    this.painted = 0;
  }

  /**
   * More room, what is painted staying.
   * @param {number} capacity
   * @param {Uint32Array} colors
   */
  grow(capacity, colors) {
    const { size, shift } = this;
    const pixels = this.pixels.slice();
    this.#room(capacity);
    const fold = this.shift - shift;
    for (let y = 0; y < size; y++) {
      const to = (y >> fold) * this.size;
      for (let x = 0; x < size; x++) {
        const at = to + (x >> fold);
        if (pixels[y * size + x] > this.pixels[at]) this.pixels[at] = pixels[y * size + x];
      }
    }
    this.#show(0, this.size, colors);
  }

  /** @param {number} capacity */
  #room(capacity) {
    this.capacity = capacity;
    this.shift = 0;
    while (capacity >> this.shift > this.limit) this.shift++;
    const size = Math.ceil(capacity / 2 ** this.shift);
    if (size === this.size) {
      this.pixels.fill(0);
      this.context.clearRect(0, 0, size, size);
      return;
    }
    this.size = this.canvas.width = this.canvas.height = size;
    this.pixels = new Uint16Array(size ** 2);
  }

  /** Paint the rows up to `rows` that are missing.
   * @param {number} rows @param {(query: number) => Float32Array | null} rowOf @param {Uint32Array} colors
   * @param {(weight: number) => number} [toIndex] */
  paint(rows, rowOf, colors, toIndex = shade) {
    const first = this.painted;
    if (rows <= first) return;
    const { pixels, size, shift } = this;
    for (let q = first; q < rows; q++) {
      const row = rowOf(q);
      if (!row) continue;
      const from = (q >> shift) * size;
      for (let k = 0; k < row.length; k++) {
        const index = toIndex(row[k]) + 1;
        if (index > pixels[from + (k >> shift)]) pixels[from + (k >> shift)] = index;
      }
    }
    this.painted = rows;
    this.#show(first >> shift, ((rows - 1) >> shift) + 1, colors);
  }

  /**
   * Draws the weights again in other colours.
   * @param {Uint32Array} colors
   */
  recolor(colors) {
    if (this.painted) this.#show(0, ((this.painted - 1) >> this.shift) + 1, colors);
  }

  /**
   * @param {number} first
   * @param {number} end rows of pixels
   * @param {Uint32Array} colors
   */
  #show(first, end, colors) {
    if (end <= first) return;
    const image = new ImageData(this.size, end - first);
    const out = new Uint32Array(image.data.buffer);
    const from = first * this.size;
    for (let i = 0; i < out.length; i++) {
      const index = this.pixels[from + i];
      if (index) out[i] = colors[index - 1];
    }
    this.context.putImageData(image, 0, first);
  }
}

/**
 * Room to keep for this many rows: the next power of two, at least 16.
 * @param {number} rows
 */
export const roomFor = (rows) => Math.max(16, 2 ** Math.ceil(Math.log2(Math.max(1, rows))));
