// curve.js - the losses of a training run as files: loss.csv and loss.svg

/**
 * One step: number, tokens so far, loss, norm of the gradient; of a validation nats a token and bits a byte, else ''.
 * Losses are rounded as in the file, so that a curve that is read back is the same.
 * @typedef {(number | string)[]} Point
 */
const HEADING = 'step,tokens,loss,norm,valid_nats,valid_bits_per_byte';

/**
 * @param {import('../web/lib/train/train_worker.js').Score | null} score
 * @param {{step: number, tokens: number, loss: number, norm: number}} step
 * @returns {Point}
 */
export const pointOf = ({ step, tokens, loss, norm }, score) => [
  ...[step, tokens, loss.toFixed(6), norm.toFixed(4)],
  ...(score ? [score.nats.toFixed(5), score.bitsPerByte.toFixed(5)] : ['', '']),
];

/** @param {Point[]} points */
export const csv = (points) => [HEADING, ...points.map((point) => point.join())].join('\n') + '\n';

/**
 * The points of a file up to a step.
 * @param {string} text
 * @param {number} last
 * @returns {Point[]}
 */
export const readCsv = (text, last) =>
  text
    .split('\n')
    .slice(1)
    .map((line) => line.split(','))
    .filter(([step]) => step && Number(step) <= last);

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 360, 56, 16, 34, 44];

/**
 * The mean over each `group` of neighbouring points, of the losses in a column that are there.
 * @param {Point[]} points
 * @param {number} column
 * @param {number} group
 * @returns {{tokens: number, loss: number}[]}
 */
function means(points, column, group) {
  const out = [];
  for (let i = 0; i < points.length; i += group) {
    const losses = points.slice(i, i + group).flatMap((point) => (point[column] === '' ? [] : Number(point[column])));
    if (losses.length) out.push({ tokens: Number(points[i][1]), loss: losses.reduce((a, b) => a + b) / losses.length });
  }
  return out;
}

/**
 * A drawing of training loss (means over 1/200 of the run) and validation loss over tokens.
 * @param {Point[]} points  at least one
 * @param {string} title
 */
export function svg(points, title) {
  const last = Number(points[points.length - 1][1]);
  const low = Math.floor(points.reduce((least, point) => Math.min(least, Number(point[2])), Infinity) * 2) / 2;
  const high = low + 3; // the first steps, near ln V, lie along the upper edge
  const x = (/** @type {number} */ tokens) => (LEFT + ((WIDTH - LEFT - RIGHT) * tokens) / last).toFixed(1);
  const y = (/** @type {number} */ loss, by = 0) =>
    (Math.max(TOP, TOP + ((HEIGHT - TOP - BOTTOM) * (high - loss)) / (high - low)) + by).toFixed(1);
  const line = (/** @type {number} */ column, /** @type {number} */ group, /** @type {string} */ colour) =>
    `<polyline fill="none" stroke="${colour}" stroke-width="1.5" points="${means(points, column, group)
      .map(({ tokens, loss }) => `${x(tokens)},${y(loss)} `)
      .join('')}"/>\n`;
  const grid = Array.from({ length: 7 }, (_, i) => low + i / 2).map(
    (loss) =>
      `<path d="M${LEFT} ${y(loss)}H${WIDTH - RIGHT}" stroke="#ddd"/>` +
      `<text x="${LEFT - 6}" y="${y(loss, 4)}" text-anchor="end">${loss.toFixed(1)}</text>\n`,
  );
  const ticks = Array.from({ length: 5 }, (_, i) => (last * i) / 4).map(
    (tokens) =>
      `<text x="${x(tokens)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${(tokens / 1e6).toFixed(1)}M</text>\n`,
  );
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">\n` +
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>\n` +
    `<text x="${LEFT}" y="20" font-size="14">${title}: loss in nats a token over tokens seen</text>\n` +
    `${grid.join('')}${ticks.join('')}` +
    `${line(2, Math.floor(points.length / 200) + 1, '#2563eb')}${line(4, 1, '#dc2626')}` +
    `<text x="${WIDTH - 190}" y="${TOP + 14}" fill="#2563eb">training</text>` +
    `<text x="${WIDTH - 110}" y="${TOP + 14}" fill="#dc2626">validation</text>\n</svg>\n`
  );
}
