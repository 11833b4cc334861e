// matrix_labels.js - the tokens beside and above the cells of a large head

const LENGTH = 82; // px of a key's label, which leans

const CACHED = 4000; // labels whose cut is cached
let cuts = /** @type {Map<string, string>} */ (new Map()); // labels as they fit, by font, room and text
/** The style that they were measured in: a new one may have other fonts. @type {object | null} */
let measuredIn = null;

/**
 * @param {CanvasRenderingContext2D} g
 * @param {string} text
 * @param {number} room  px
 * @param {string} font  that `g` has
 */
function cut(g, text, room, font) {
  const key = `${font} ${room} ${text}`;
  let fitting = cuts.get(key);
  if (fitting !== undefined) return fitting;
  fitting = measured(g, text, room);
  if (cuts.size >= CACHED) cuts.clear();
  cuts.set(key, fitting);
  return fitting;
}

/**
 * @param {CanvasRenderingContext2D} g
 * @param {string} text
 * @param {number} room
 */
function measured(g, text, room) {
  let t = text;
  while (t.length > 1 && g.measureText(t === text ? t : `${t}…`).width > room) t = t.slice(0, -1);
  return t === text ? t : `${t}…`;
}

/**
 * Every so many, the chosen one always, and none that would touch it.
 * @param {number} i
 * @param {number} chosen
 * @param {number} every
 */
const wanted = (i, chosen, every) =>
  i === chosen || (i % every === 0 && !(chosen >= 0 && Math.abs(i - chosen) < every));

/**
 * @param {CanvasRenderingContext2D} g
 * @param {import('./matrix.js').Picture} picture
 * @param {{ inks: import('./matrix.js').Inks, font: string }} style
 */
export function paintLabels(g, { layout, source, chosen, queries, keys, earlier }, { inks, font }) {
  if (measuredIn !== inks) cuts = new Map();
  measuredIn = inks;
  const { cell, first, n, m, edge, left, top } = layout;
  const size = Math.max(10, Math.min(13, cell * 0.62));
  const fontOf = (/** @type {boolean} */ on) => `${on ? 600 : 400} ${size}px ${font}`;
  const q0 = chosen.query - first;
  const k0 = chosen.key === null ? -1 : chosen.key - first;
  const down = Math.max(1, Math.ceil((size + 1) / cell));
  const across = Math.max(1, Math.ceil((size * 1.6) / cell));
  g.textBaseline = 'middle';
  g.textAlign = 'right';
  g.fillStyle = inks.q;
  for (let i = 0; i < n; i++) {
    if (!queries[i] || !wanted(i, q0, down)) continue;
    const own = (g.font = fontOf(i === q0));
    g.fillText(cut(g, queries[i], edge - 14, own), edge - 8, top + (i + 0.5) * cell);
  }
  g.textAlign = 'left';
  /** @param {string} text @param {number} x @param {boolean} on @param {number} [room] */
  const leaning = (text, x, on, room = LENGTH) => {
    g.save();
    const own = (g.font = fontOf(on));
    g.translate(x + 2, top - 8);
    g.rotate((-50 * Math.PI) / 180);
    g.fillText(cut(g, text, room, own), 0, 0);
    g.restore();
  };
  g.fillStyle = inks.k;
  for (let i = 0; i < m; i++) if (keys[i] && wanted(i, k0, across)) leaning(keys[i], left + (i + 0.5) * cell, i === k0);
  if (!first || !source.sums) return;
  g.fillStyle = inks.dim;
  earlier.forEach((line, i) => leaning(line, edge + cell / 2 + (i - 0.5) * size * 1.35, false, LENGTH + 14));
}
