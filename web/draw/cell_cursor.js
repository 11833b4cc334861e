// cell_cursor.js - moves the selected cell of a large head by keyboard

/** @type {Record<string, [number, number]>} */
const MOVES = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, -1e9],
  End: [0, 1e9],
};

/**
 * @param {string} name  of a key on the keyboard
 * @param {{ query: number, key: number | null }} at  key: null before a cell is chosen, which the first move does
 * @param {{ queries: number, keys: number }} size
 * @returns {{ query: number, key: number } | null} null: the key does not move
 */
export function step(name, at, size) {
  const move = MOVES[name];
  if (!move || !size.queries) return null;
  const within = (/** @type {number} */ x, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, x));
  const query = within(at.query + (at.key === null ? 0 : move[0]), size.queries);
  return { query, key: within(at.key === null ? query : at.key + move[1], size.keys) };
}
