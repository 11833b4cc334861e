// steering.js - a direction in the residual stream: the difference of two texts' means (activation addition, Turner et al. 2023)

/** @typedef {{ data: Float32Array, shape: number[] }} Tensor  [positions, d_model] */

/**
 * The mean over positions. The first is left out: the stream there is an outlier in most models, whatever the text.
 * @param {Tensor} tensor
 */
function meanRow({ data, shape: [n, size] }) {
  const sum = new Float32Array(size);
  const from = n > 1 ? 1 : 0;
  for (let i = from; i < n; i++) for (let j = 0; j < size; j++) sum[j] += data[i * size + j] / (n - from);
  return sum;
}
const norm = (/** @type {Float32Array} */ row) => Math.hypot(...row);

/**
 * @param {Tensor[]} streams  at the point: of the text steered towards, of the one steered away from, of the prompt
 * @param {number} strength
 * @returns {{ add: Float32Array, norms: [number, number] }} add: strength times the difference of the means; norms of
 *   the difference and of the prompt's mean
 */
export function direction([towards, away, prompt], strength) {
  const [to, from] = [meanRow(towards), meanRow(away)];
  const difference = to.map((x, i) => x - from[i]);
  return { add: difference.map((x) => strength * x), norms: [norm(difference), norm(meanRow(prompt))] };
}
