// anatomy_tall.js - the picture of a forward pass for narrow screens, whose lanes run from top to bottom, in px of the
// screen. Each stage is a row: its caption over the whole width, below it its values, a strip for each lane.
import { BAR, CAPTION, GAP, NAME, rowsOf } from './anatomy_rows.js';
import { BARS, BINS, HUES, KEYS, LEAST_TYPE, plus, ribbonDown as ribbon, stackOf } from './anatomy.js';

/** @typedef {import('./anatomy.js').Picture} Picture */
/** @typedef {import('./anatomy_rows.js').Row} Row */

const MOST = 9; // lanes
const PITCH = 62; // of a lane, at least
const WORD = 104; // of a row of the next token: its words, px
const NUMBER = 62; // and its numbers

/** How many lanes fit. @param {number} width px */
export const lanesFor = (width) => Math.max(4, Math.min(MOST, Math.floor((width - 8) / PITCH)));

/**
 * @param {import('./anatomy.js').Parts} parts
 * @param {number} width px
 * @returns {Picture}
 */
export function tallPicture(parts, width) {
  const { stages, placement, parallel, heads } = parts;
  const post = placement === 'post';
  const count = lanesFor(width);
  const pitch = (width - 8) / count;
  const step = Math.min(24, (width - 120) / (count + 1));
  const crossStep = Math.min(step, (width - 60) / KEYS);
  const card = 44 + count * step + 30;
  const { rows, ways, captions, height, cards } = rowsOf(parts, width, {
    heads: card,
    cross: 42 + count * crossStep + 26,
  });
  const grid = { count, pitch, step, width, rows, ways, cards, parallel, cross: stages.includes('cross') };
  const xOf = (/** @type {number} */ lane) => 4 + pitch * (lane + 0.5);
  const top = Math.min(rows.norm1?.y ?? rows.qkv.y, rows.qkv.y);
  const first = { x: 10, y: cards.heads, width: width - 44 - count * 6, height: card }; // values pass to its right
  const middle = first.x + first.width / 2;
  const last = rows.final ?? rows.more ?? (post && rows.norm2) ?? rows.resid;
  const end = post && rows.norm2 ? rows.norm2 : rows.resid; // of the block
  const at = height - BARS * BAR;
  return {
    width,
    height,
    tall: true,
    letters: Math.floor(pitch / 6.6),
    words: 12,
    type: LEAST_TYPE,
    block: {
      x: 1,
      y: top - CAPTION - 6,
      width: width - 2,
      height: end.y + end.height + NAME + 8 - top + CAPTION,
    },
    blockName: { x: width - 10, y: end.y + end.height + NAME - 3, anchor: 'end' },
    lanes: Array.from({ length: count }, (_, i) => laneOf(i, grid)),
    card: {
      stack: stackOf(first, Math.min(4, heads), 4, 3),
      queries: { x: first.x + 10, y: first.y + 30, anchor: 'start' },
      keys: { x: middle, y: first.y + 46 + count * step, anchor: 'middle' },
      name: { x: first.x + 10, y: first.y + card - 8, anchor: 'start' },
      dots: { x: middle - ((count - 2) / 2) * step, y: first.y + 44 },
      step,
      radius: step * 0.36,
    },
    cross: grid.cross ? crossCard(grid, Math.min(3, heads), crossStep) : null,
    captions,
    bars: Array.from({ length: stages.includes('head') ? BARS : 0 }, (_, i) => ({
      word: { x: WORD, y: at + i * BAR + 15, anchor: 'end' },
      bar: { x: WORD + 8, y: at + i * BAR + 5, width: width - WORD - 8 - NUMBER, height: 12 },
      number: { x: WORD + 14, y: at + i * BAR + 15 },
    })),
    mix: (lane, here, x, size) =>
      ribbon([valueX(lane, grid), cards.heads + card, 5], [xOf(here) + x, rows[ways.block[0]].y, size]),
    toHead: (lane, lit) =>
      stages.includes('head')
        ? ribbon([xOf(lane), last.y + last.height, 14], [WORD + 8 + lane * 4, at, lit ? 14 : 3])
        : '',
    leader: () => '',
  };
}

/** @typedef {{ count: number, pitch: number, step: number, width: number, rows: Record<string, Row>, ways: import('./anatomy_rows.js').Ways, cards: Record<string, number>, parallel: boolean, cross: boolean }} Grid */

/** Where a value passes the pattern. @param {number} lane @param {Grid} grid */
const valueX = (lane, { width, count }) => width - 6 - (count - 1 - lane) * 6;

/**
 * The vectors of a lane as strips of blocks.
 * @param {number} x
 * @param {number} thin  width of q, k and v
 * @param {number} full  of the others
 * @param {Grid} grid
 */
function stripsOf(x, thin, full, { pitch, rows, cross }) {
  const strip = (/** @type {string} */ name, width = full, dx = 0, row = name) => ({
    x: x - width / 2 + dx,
    y: rows[row].y,
    width,
    height: rows[row].height,
    hue: HUES[name],
    bins: /** @type {any} */ (BINS)[name],
  });
  return {
    embed: strip('embed'),
    q: strip('q', thin, -thin - 2, 'qkv'),
    k: strip('k', thin, 0, 'qkv'),
    v: strip('v', thin, thin + 2, 'qkv'),
    out: strip('out'),
    ...(cross && { added: strip('added') }),
    ...(rows.ffn && { ffn: strip('ffn', Math.min(58, pitch - 6)) }),
    resid: strip('resid', full * 0.7),
    ...(rows.more && { more: strip('more') }),
  };
}

/**
 * @param {number} i
 * @param {Grid} grid
 * @returns {import('./anatomy.js').Lane}
 */
function laneOf(i, grid) {
  const { pitch, step, count, width, rows, ways, cards, parallel, cross } = grid;
  const x = 4 + pitch * (i + 0.5);
  const thin = Math.min(16, (pitch - 12) / 3);
  const full = Math.min(46, pitch - 14);
  const bottom = (/** @type {string} */ id) => rows[id].y + rows[id].height;
  const join = (/** @type {string} */ from, /** @type {string} */ to, hue = 'ink') => ({
    hue,
    d: ribbon([x, bottom(from), 18], [x, rows[to].y, 18]),
  });
  const cardBottom = cards.heads + 44 + count * step + 30;
  const vx = valueX(i, grid);
  const { attention, block, rest } = ways;
  const joined = (/** @type {string[]} */ ids, /** @type {string} */ hue) =>
    ids.slice(1).flatMap((id, k) => (id === 'added' || (parallel && ids[k] === 'out') ? [] : [join(ids[k], id, hue)]));
  return {
    labels: [{ x, y: 13, anchor: 'middle' }],
    stream: `M${x - full / 2 - 4} ${bottom('embed')}V${bottom(rest[rest.length - 1])}`,
    flow: [
      ...joined(attention, 'ink'),
      { hue: 'v faint', d: ribbon([vx, cardBottom, 5], [x, rows[block[0]].y, 14]) },
      ...(cross ? [{ hue: 'v faint', d: ribbon([width / 2, rows.added.y - GAP - 4, 40], [x, rows.added.y, 14]) }] : []),
      ...joined(block, rows.ffn ? 'f' : 'ink'),
      ...(parallel ? besideOf(x, full, grid) : []),
      ...joined(rest, 'ink'),
    ],
    q: ribbon([x - thin - 2, bottom('qkv'), thin - 4], [30 + i * 7, cards.heads, 5]),
    k: ribbon([x, bottom('qkv'), thin - 4], [width / 2 + (i - count / 2) * 6, cards.heads, 5]),
    v: ribbon([x + thin + 2, bottom('qkv'), thin - 4], [vx, cards.heads, 5]),
    through: `M${vx - 2.5} ${cards.heads}V${cardBottom}H${vx + 2.5}V${cards.heads}Z`,
    ...(cross && {
      asks: ribbon([x, bottom(block[block.indexOf('added') - 1]), 15], [30 + i * 7, cards.cross, 5]),
    }),
    strips: stripsOf(x, thin, full, grid),
    norms: [
      ...['norm1', 'norm2', 'post1', 'post2', 'final'].filter((id) => rows[id]).map((id) => ({ id, y: rows[id].y })),
      ...(parallel && rows.norm1 && !rows.norm2 ? [{ id: 'norm2', y: rows.ffn.y - CAPTION - 8 }] : []), // a shared norm stands before both
    ].map(({ id, y }) => ({ id, x: x - 12, y, width: 24, height: 6 })),
    pluses: [...(parallel ? [] : ['out']), ...(cross ? ['added'] : []), ...(rows.ffn ? ['resid'] : [])]
      .map((id) => plus(x - full / 2 - 4, rows[id].y + 8))
      .join(''),
  };
}

/**
 * Of a parallel block: the stream into the FFN, to which the heads have added nothing yet, and the output of the heads on
 * its way past the FFN.
 * @param {number} x
 * @param {number} full  width of a strip
 * @param {Grid} grid
 */
function besideOf(x, full, { rows, ways, pitch }) {
  const ffn = ways.block[ways.block.indexOf('out') + 1];
  const [from, to, aside] = [rows.out.y + rows.out.height, rows.resid.y, x + pitch / 2 - 3];
  return [
    { hue: 'f', d: ribbon([x - full / 2 - 4, from, 3], [x, rows[ffn].y, 18]) },
    { hue: 'ink', d: ribbon([x, from, 18], [aside, from + GAP + 12, 3]) },
    { hue: 'ink', d: ribbon([aside, from + GAP + 12, 3], [aside, to - GAP, 3]) },
    { hue: 'ink', d: ribbon([aside, to - GAP, 3], [x + 4, to, 8]) },
  ];
}

/** The card of cross-attention: queries from the lanes above, keys and values from the encoder's caption. @param {Grid} grid @param {number} heads @param {number} step */
function crossCard({ cards, count, width }, heads, step) {
  const y = cards.cross;
  const box = { x: 2, y: y - 14 - 2 * CAPTION - GAP + 1, width: width - 4, height: CAPTION };
  const from = box.y + box.height;
  return {
    stack: stackOf({ x: 16, y, width: width - 40, height: 42 + count * step + 26 }, heads, 4, 3),
    queries: { x: 26, y: y + 20, anchor: /** @type {const} */ ('start') },
    keys: { x: width / 2, y: y + 46 + count * step, anchor: /** @type {const} */ ('middle') },
    dots: { x: width / 2 - 8 - ((KEYS - 1) / 2) * step, y: y + 42 },
    step,
    radius: step * 0.36,
    box,
    ribbons: [
      { hue: 'k', d: ribbon([width - 90, from, 18], [width - 90, y, 18]) },
      { hue: 'v', d: ribbon([width - 55, from, 18], [width - 55, y, 18]) },
    ],
  };
}
