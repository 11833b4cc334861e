// strip_painter.js - paints the values in the strips of the anatomy on a canvas over the picture, hundreds at a time. A
// colour is the strength of a value; the largest of its kind has the full colour.

/** @typedef {{ data: Float32Array, shape: number[] }} Tensor */
/** @typedef {import('./anatomy_geometry.js').Strip} Strip */

/**
 * The root mean square of each of so many parts of a vector.
 * @param {ArrayLike<number>} vector
 * @param {number} bins
 */
export function strengths(vector, bins) {
  const width = vector.length;
  return Array.from({ length: bins }, (_, j) => {
    const from = Math.floor((j * width) / bins);
    const to = Math.max(from + 1, Math.floor(((j + 1) * width) / bins));
    let sum = 0;
    for (let k = from; k < to; k++) sum += vector[k] ** 2;
    return Math.sqrt(sum / (to - from));
  });
}

/**
 * Strengths of the rows of a tensor, from 0 (the smallest of all) to 1 (the 98th percentile).
 * @param {Tensor} tensor  [position, ...]
 * @param {number} first   position of the first row
 * @param {number} count   rows
 * @param {number} bins
 * @returns {number[][]} [row][bin], a row beyond the tensor is empty
 */
export function relativeStrengths({ data, shape }, first, count, bins) {
  const width = data.length / shape[0];
  const rows = Array.from({ length: count }, (_, i) =>
    first + i < shape[0] ? strengths(data.subarray((first + i) * width, (first + i + 1) * width), bins) : [],
  );
  const all = rows.flat().sort((a, b) => a - b);
  const low = all[0] ?? 0;
  const most = all[Math.floor(all.length * 0.98)] || 1;
  return rows.map((row) => row.map((v) => Math.max(0, Math.min(1, (v - low) / (most - low || 1)))));
}

/**
 * Paints on a canvas that is clear.
 * @param {CanvasRenderingContext2D} g
 * @param {number} scale  pixels of the canvas for a unit of the picture
 * @param {Record<string, Strip>[]} lanes
 * @param {Record<string, Tensor | undefined>} values  by strip
 * @param {number} first  position of the first lane
 * @param {Record<string, string>} colors  by hue
 */
export function paintStrips(g, scale, lanes, values, first, colors) {
  g.setTransform(scale, 0, 0, scale, 0, 0);
  for (const [name, tensor] of Object.entries(values)) {
    const bins = lanes[0]?.[name]?.bins;
    if (!bins || !tensor) continue;
    relativeStrengths(tensor, first, lanes.length, bins).forEach((row, i) => {
      const { hue, x, y, width, height } = lanes[i][name];
      const step = (width - 2) / bins;
      g.fillStyle = colors[hue];
      row.forEach((v, j) => {
        g.globalAlpha = 0.06 + 0.94 * v;
        g.fillRect(x + 1 + j * step, y + 1, step, height - 2);
      });
    });
  }
}
