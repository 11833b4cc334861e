// tensor.js - paints a matrix of numbers as pixels, a pixel per number. Positive and negative numbers have two colours;
// the largest magnitudes (the 99.5th percentile and above) have the full colour.
import { palette } from './heatmap.js';

/**
 * @param {HTMLCanvasElement} canvas  takes the size of the matrix; CSS scales it
 * @param {Float32Array} part  [rows, width]
 * @param {number} width
 * @param {{ zero: string, plus: string, minus: string }} colors  CSS colours
 */
export function paintTensor(canvas, part, width, colors) {
  const rows = part.length / width;
  const plus = palette(colors.zero, colors.plus);
  const minus = palette(colors.zero, colors.minus);
  const sizes = Float32Array.from(part, Math.abs).filter(Number.isFinite).sort();
  const most = sizes[Math.floor(sizes.length * 0.995)] || 1;
  canvas.width = width;
  canvas.height = rows;
  const image = new ImageData(width, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < part.length; i++) {
    const v = Math.max(-1, Math.min(1, part[i] / most));
    pixels[i] = v < 0 ? minus[Math.round(-v * 255)] : plus[Math.round(v * 255)];
  }
  /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')).putImageData(image, 0, 0);
}
