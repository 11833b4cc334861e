// arcs.js - the selected attention row, drawn over the text: an arc to each strongly weighted key on the same line, and a
// bar under each such key, on every line

const FAINTEST = 0.02; // weights below are not drawn
const MOST = 12;
const SAME_LINE = 14; // px
const LIFT = [7, 15]; // px: an arc stays between its line and the one above

/**
 * The keys that are drawn, strongest first.
 * @param {Float32Array} row  weights by key
 * @param {number} query      its own key is left out
 */
export const strongest = (row, query) =>
  Array.from(row.keys())
    .filter((key) => key !== query && row[key] > FAINTEST)
    .sort((a, b) => row[b] - row[a])
    .slice(0, MOST);

/** @typedef {{ left: number, right: number, top: number, bottom: number }} Box  px */

/**
 * @param {Box} query
 * @param {{ box: Box, weight: number }[]} keys
 */
export function arcsOf(query, keys) {
  const middle = (/** @type {Box} */ box) => (box.left + box.right) / 2;
  const a = middle(query),
    y = query.top + 3;
  return {
    arcs: keys
      .filter(({ box }) => Math.abs(box.top - query.top) < SAME_LINE)
      .map(({ box, weight }) => {
        const b = middle(box);
        const up = y - Math.min(LIFT[1], LIFT[0] + Math.abs(a - b) / 20) / 0.75; // a cubic reaches 3/4 of its handles
        return {
          d: `M${a} ${y}C${a} ${up} ${b} ${up} ${b} ${y}`,
          width: (0.75 + 3 * weight).toFixed(2),
          opacity: opacity(weight),
        };
      }),
    bars: keys.map(({ box, weight }) => {
      const height = 1.5 + 4 * weight;
      return { x: box.left, y: box.bottom - 2, width: box.right - box.left, height, opacity: opacity(weight) };
    }),
  };
}

const opacity = (/** @type {number} */ weight) => (0.3 + 0.7 * Math.sqrt(weight)).toFixed(2);
