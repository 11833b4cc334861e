// anatomy_lanes.js - the lane of a token in both pictures of a forward pass: its rows of values in the order of the
// pass, and the ribbons between them. Along: the direction of the pass. Across: from lane to lane.
import { STRIPS, plus, ribbonAcross, ribbonDown } from './anatomy_geometry.js';

/** @typedef {import('./anatomy_geometry.js').Parts} Parts */
/** @typedef {{ at: number, length: number }} Slot  of a row of values or a norm, along */
/**
 * Rows of values in the order in which a token passes them: up to the heads, from them to the end of the block, and
 * after it.
 * @typedef {{ attention: string[], block: string[], rest: string[] }} Ways
 */
/**
 * @typedef {object} Track
 * @property {boolean} tall   runs from top to bottom
 * @property {number} count   of lanes
 * @property {Parts} parts
 * @property {Record<string, Slot>} slots  by the name of the row, see waysOf
 * @property {(lane: number) => number} middle  across
 * @property {(lane: number) => import('./anatomy_geometry.js').Text} label
 * @property {Record<'flow' | 'full' | 'thin' | 'ffn' | 'resid', number>} thick  ribbons; strips: most, q k v, the others
 * @property {Record<'stream' | 'value' | 'beside', number>} aside  distances from the middle: of the residual stream
 *   before it, of q before it and v behind it, of what passes the FFN of a parallel block behind it
 * @property {[number, number]} norm  from and to, from the middle
 * @property {{ from: number, to: number } & Record<'q' | 'k' | 'v', (lane: number) => number>} card
 *   of heads, along, and where ribbons reach it, across
 * @property {{ at: number, out: [along: number, across: number] }} cross  card of cross-attention
 * @property {(lane: number) => [along: number, across: number]} head
 */

const VALUE = 5; // thickness of a ribbon at the card of heads
export const endOf = (/** @type {Slot} */ { at, length }) => at + length;
export const NORMS = ['norm1', 'norm2', 'post1', 'post2', 'final'];

/** The stages of a block by where its norms are. The values of `out` are those that are added. */
const BLOCK = {
  pre: 'norm1 qkv heads out encoder cross norm2 ffn resid',
  sandwich: 'norm1 qkv heads post1 out encoder cross norm2 ffn post2 resid',
  output: 'qkv heads norm1 out encoder cross ffn norm2 resid',
  post: 'qkv heads out norm1 encoder cross ffn resid norm2',
};

const inOrder = (/** @type {string} */ ids, /** @type {Parts} */ { stages }) =>
  ids.split(' ').filter((id) => stages.includes(id));
/** The stages in order. @param {Parts} parts */
export const orderOf = (parts) => inOrder(`embed before ${BLOCK[parts.placement]} more final head`, parts);
/** The last row of the block. @param {Parts} parts */
export const lastOfBlock = (parts) => inOrder(BLOCK[parts.placement], parts).at(-1) ?? '';

/** @param {Parts} parts @returns {Ways} */
function waysOf(parts) {
  const { stages, parallel } = parts;
  /** @type {Record<string, string[]>} */
  const rows = { heads: [], encoder: [], head: [], before: ['embed'], cross: ['added'] };
  if (stages.includes('before')) rows.embed = []; // is not drawn
  if (parallel && stages.includes('norm1') && !stages.includes('norm2')) rows.ffn = ['norm2', 'ffn']; // one norm for both
  const ids = orderOf(parts).flatMap((id) => rows[id] ?? [id]);
  const [heads, end] = [ids.indexOf('qkv') + 1, ids.indexOf(lastOfBlock(parts))];
  return { attention: ids.slice(0, heads), block: ids.slice(heads, end + 1), rest: ids.slice(end) };
}

/** @typedef {(from: import('./anatomy_geometry.js').End, to: import('./anatomy_geometry.js').End) => string} Ribbon  along, across, thickness */
/** @typedef {(slot: Slot, from: number, to: number) => import('./anatomy_geometry.js').Rect} Rect  from, to: across */

/** Lanes, and the ribbons that depend on what is chosen. @param {Track} track */
export function lanesOf(track) {
  const { tall, count, parts, slots, middle, card, head } = track;
  const ways = waysOf(parts);
  /** @type {Ribbon} */
  const ribbon = ([a, b, size], [c, d, last]) =>
    tall ? ribbonDown([b, a, size], [d, c, last]) : ribbonAcross([a, b, size], [c, d, last]);
  const last = slots[ways.rest[ways.rest.length - 1]];
  const [first, joins] = [slots[ways.attention[0]].at, slots[ways.block[0]].at];
  return {
    lanes: Array.from({ length: count }, (_, lane) => laneOf(lane, track, ways, ribbon)),
    /** @type {import('./anatomy_geometry.js').Picture['mix']} */
    mix: (lane, here, at, size) =>
      ribbon([card.to, card.v(lane), VALUE], [slots[ways.block[0]].at, middle(here) + at, size]),
    /** @type {import('./anatomy_geometry.js').Picture['pulse']} */
    pulse: (lane, to) => {
      const c = middle(lane),
        query = card.q(lane);
      const way = wayOf(tall, [first, c]);
      way.line([endOf(slots.qkv), c]);
      way.bend([card.from, query]);
      way.line([card.to, query]);
      way.bend([joins, c]);
      way.line([endOf(last), c]);
      if (to) way.bend(tall ? [to.y, to.x] : [to.x, to.y]);
      return way.path();
    },
    /** @type {import('./anatomy_geometry.js').Picture['fan']} */
    fan: tall
      ? null
      : (lane, to, by, size) => ribbon([endOf(last), middle(lane) + by, size], [to.x, to.y, Math.max(1.2, size)]),
    /** @type {import('./anatomy_geometry.js').Picture['toHead']} */
    toHead: (lane, lit) =>
      parts.stages.includes('head') ? ribbon([endOf(last), middle(lane), 14], [...head(lane), lit ? 14 : 3]) : '',
  };
}

/** @typedef {[along: number, across: number]} Place */
/** A line of straight and bent parts along the pass. @param {boolean} tall @param {Place} start */
function wayOf(tall, start) {
  const point = (/** @type {Place} */ [along, across]) => (tall ? [across, along] : [along, across]).join(' ');
  let [at, d] = [start, `M${point(start)}`];
  return {
    line(/** @type {Place} */ to) {
      d += `L${point(to)}`;
      at = to;
    },
    bend(/** @type {Place} */ to) {
      const between = (at[0] + to[0]) / 2;
      d += `C${point([between, at[1]])} ${point([between, to[1]])} ${point(to)}`;
      at = to;
    },
    path: () => d,
  };
}

/**
 * @param {number} lane
 * @param {Track} track
 * @param {Ways} ways
 * @param {Ribbon} ribbon
 * @returns {import('./anatomy_geometry.js').Lane}
 */
function laneOf(lane, track, ways, ribbon) {
  const { tall, parts, slots, thick, aside, norm, card, cross } = track;
  const { attention, block, rest } = ways;
  const ids = [...attention, ...block, ...rest];
  const has = (/** @type {string} */ id) => ids.includes(id);
  const c = track.middle(lane);
  const stream = c - aside.stream;
  /** @type {Rect} */
  const rect = ({ at, length }, from, to) =>
    tall ? { x: from, y: at, width: to - from, height: length } : { x: at, y: from, width: length, height: to - from };
  const end = (/** @type {string} */ id) => endOf(slots[id]);
  const size = (/** @type {string} */ id) => (id === 'ffn' ? thick.ffn - 2 : thick.flow);
  const joined = (/** @type {string[]} */ way, /** @type {string} */ hue) =>
    way
      .map((id, i) => [way[i - 1], id])
      .filter(([from, id]) => from && id !== 'added' && !(parts.parallel && from === 'out'))
      .map(([from, id]) => ({ hue, d: ribbon([end(from), c, size(from)], [slots[id].at, c, size(id)]) }));
  const intoCard = (/** @type {'q' | 'k' | 'v'} */ name, /** @type {number} */ by) =>
    ribbon([end('qkv'), c + by * aside.value, thick.thin * 0.8], [card.from, card[name](lane), VALUE]);
  const [from, to] = [end('embed'), end(ids[ids.length - 1])];
  return {
    label: track.label(lane),
    stream: tall ? `M${stream} ${from}V${to}` : `M${from} ${stream}H${to}`,
    flow: [
      ...joined(attention, 'ink'),
      { hue: 'v faint', d: ribbon([card.to, card.v(lane), VALUE], [slots[block[0]].at, c, 14]) },
      ...(has('added') ? [{ hue: 'v faint', d: ribbon([...cross.out, 40], [slots.added.at, c, 14]) }] : []),
      ...joined(block, has('ffn') ? 'f' : 'ink'),
      ...(parts.parallel ? besideOf(c, track, ways, ribbon) : []),
      ...joined(rest, 'ink'),
    ],
    q: intoCard('q', -1),
    k: intoCard('k', 0),
    v: intoCard('v', 1),
    through: ribbon([card.from, card.v(lane), VALUE], [card.to, card.v(lane), VALUE]),
    ...(has('added') && {
      asks: ribbon([end(block[block.indexOf('added') - 1]), c, 15], [cross.at, card.q(lane), VALUE]),
    }),
    strips: stripsOf(c, track, ids, rect),
    norms: NORMS.filter(has).map((id) => ({ id, ...rect(slots[id], c + norm[0], c + norm[1]) })),
    pluses: [...(parts.parallel ? [] : ['out']), 'added', ...(has('ffn') ? ['resid'] : [])]
      .filter(has)
      .map((id) => slots[id].at + slots[id].length / 2)
      .map((at) => (tall ? plus(stream, at) : plus(at, stream)))
      .join(''),
  };
}

/**
 * The vectors of a lane as strips of blocks.
 * @param {number} c  its middle
 * @param {Track} track
 * @param {string[]} ids  of its rows
 * @param {Rect} rect
 */
function stripsOf(c, { slots, thick, aside }, ids, rect) {
  const own = /** @type {Record<string, [row: string, size: number, by: number]>} */ ({
    q: ['qkv', thick.thin, -aside.value],
    k: ['qkv', thick.thin, 0],
    v: ['qkv', thick.thin, aside.value],
    ffn: ['ffn', thick.ffn, 0],
    resid: ['resid', thick.resid, 0],
  });
  const rows = Object.entries(STRIPS).map(([name, strip]) => ({
    name,
    strip,
    own: own[name] ?? [name, thick.full, 0],
  }));
  return Object.fromEntries(
    rows
      .filter(({ own: [row] }) => ids.includes(row))
      .map(({ name, strip, own: [row, size, by] }) => [
        name,
        { ...strip, ...rect(slots[row], c + by - size / 2, c + by + size / 2) },
      ]),
  );
}

/**
 * Adds the ribbons of a parallel block: the stream into the FFN, to which the heads have added nothing yet, and the
 * output of the heads on its way past the FFN.
 * @param {number} c
 * @param {Track} track
 * @param {Ways} ways
 * @param {Ribbon} ribbon
 */
function besideOf(c, { slots, thick, aside }, { block }, ribbon) {
  const [from, to, past] = [endOf(slots.out), slots.resid.at, c + aside.beside];
  const into = slots[block[block.indexOf('out') + 1]];
  return [
    { hue: 'f', d: ribbon([from + 2, c - aside.stream, 3], [into.at, c, thick.flow]) },
    { hue: 'ink', d: ribbon([from, c, thick.flow], [from + 32, past, 3]) },
    { hue: 'ink', d: ribbon([from + 32, past, 3], [to - 24, past, 3]) },
    { hue: 'ink', d: ribbon([to - 24, past, 3], [to, c + 4, 6]) },
  ];
}
