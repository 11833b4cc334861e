// anatomy_wide.js - the picture of a forward pass whose lanes run from left to right, in units of a viewBox of 1400
import { BARS, KEYS, LEAST_TYPE, stackOf } from './anatomy.js';
import {
  BOTTOM,
  CROSS_W,
  LANES,
  PITCH,
  STEP,
  WIDTH,
  Y0,
  captionOf,
  columnsOf,
  placesOfNorms,
} from './anatomy_columns.js';
import { lanesOf } from './anatomy_lanes.js';

export { LANES };

/** @typedef {import('./anatomy.js').Picture} Picture */
/** @typedef {import('./anatomy.js').Parts} Parts */

const HEIGHT = 470;
const LARGEST_TYPE = 17; // units: with more the captions of neighbouring stages meet
const LETTER = 0.56; // width of a letter, as a share of the size of type, about
const WORD = 96; // of a next token
const BAR = 76; // the longest bar of the next token, at most
const PERCENT = 7 * 0.62; // width of its number, as a share of the size of type

const yOf = (/** @type {number} */ lane) => Y0 + lane * PITCH;

/**
 * @param {Parts} parts
 * @param {number} width  px of the screen
 * @returns {Picture | null} null where its words would have no room
 */
export function widePicture(parts, width) {
  const { stages, placement, heads } = parts;
  const has = (/** @type {string} */ id) => stages.includes(id);
  const cross = has('cross');
  const { X, more } = columnsOf(parts);
  const type = Math.ceil((100 * LEAST_TYPE * (1400 + more)) / width) / 100;
  if (type > LARGEST_TYPE) return null;
  const longest = Math.min(BAR, 1400 + more - X.bars - 17 - PERCENT * Math.max(11, type));
  const end = (/** @type {string} */ name) => X[name] + WIDTH[name];
  const slots = Object.fromEntries(
    Object.entries({ ...X, ...placesOfNorms(X, parts) }).map(([id, at]) => [id, { at, length: WIDTH[id] ?? 8 }]),
  );
  return {
    width: 1400 + more,
    height: HEIGHT,
    tall: false,
    letters: Math.min(12, Math.floor(X.label / LETTER / Math.max(13, type))),
    words: Math.min(12, Math.floor(WORD / LETTER / Math.max(13, type))),
    type,
    block: { x: 186, y: 64, width: end('resid') + 18 - 186, height: BOTTOM - 52 },
    blockName: { x: 200, y: BOTTOM + 2, anchor: 'start' },
    ...lanesOf({
      ...{ tall: false, count: LANES, parts, slots, middle: yOf },
      label: (lane) => ({ x: X.label, y: yOf(lane) + 4.5, anchor: 'end' }),
      thick: { flow: 15, full: 18, thin: 7, ffn: 28, resid: 16 },
      aside: { stream: 13, value: 7.5, beside: 17 },
      norm: placement === 'post' ? [-17, 9] : [-9, 9],
      card: {
        from: X.card,
        to: end('card') + 30,
        q: (lane) => 150 + lane * STEP,
        k: (lane) => 306 + lane * 5.2,
        v: (lane) => 372 + lane * 5.2,
      },
      cross: { at: X.cross, out: [X.cross + CROSS_W, 286] },
      head: (lane) => [X.bars - 64, yOf(lane)],
    }),
    card: {
      stack: stackOf({ x: X.card, y: 92, width: WIDTH.card, height: 262 }, Math.min(5, heads), 7, 6),
      queries: { x: X.card + WIDTH.card / 2, y: 122, anchor: 'middle' },
      keys: { x: X.card + WIDTH.card / 2, y: 150 + LANES * STEP + 14, anchor: 'middle' },
      name: { x: X.card + WIDTH.card / 2, y: 342, anchor: 'middle' },
      dots: { x: X.card + (WIDTH.card - (LANES + 1) * STEP) / 2 + STEP + 5, y: 150 },
      step: STEP,
      radius: 5.2,
    },
    cross: cross ? crossCard(X.cross, heads) : null,
    captions: stages.map((id) => {
      const caption = captionOf(id, X, parts);
      return { ...caption, sub: { ...caption.sub, y: caption.y + Math.max(17, 1.2 * type) } };
    }),
    bars: Array.from({ length: has('head') ? BARS : 0 }, (_, i) => {
      const y = Y0 - 14 + i * 31;
      return {
        word: { x: X.bars, y: y + 4.5, anchor: 'end' },
        bar: { x: X.bars + 9, y: y - 4.5, width: longest, height: 9 },
        number: { x: X.bars + 15, y: y + 4 },
      };
    }),
    leader: ({ leader }, lanes) => (leader ? `M${leader.x} ${yOf(lanes - 1) + 12}V${leader.y}` : ''),
  };
}

/** The card between the stacks: the text asks from the left, the encoder's keys and values come from below. @param {number} x @param {number} heads */
function crossCard(x, heads) {
  const y = 372;
  const ribbonUp = (/** @type {number} */ at) =>
    `M${at - 14} 322C${at - 14} 345 ${at - 9} 350 ${at - 9} ${y}H${at + 9}C${at + 9} 350 ${at + 14} 345 ${at + 14} 322Z`;
  return {
    stack: stackOf({ x, y: 92, width: CROSS_W, height: 230 }, Math.min(4, heads), 6, 5),
    queries: { x: x + CROSS_W / 2, y: 122, anchor: /** @type {const} */ ('middle') },
    keys: { x: x + CROSS_W / 2, y: 150 + LANES * STEP + 14, anchor: /** @type {const} */ ('middle') },
    dots: { x: x + (CROSS_W - KEYS * STEP) / 2 + STEP / 2, y: 150 },
    step: STEP,
    radius: 5.2,
    box: { x: x - 24, y, width: CROSS_W + 48, height: 50 },
    ribbons: [
      { hue: 'k', d: ribbonUp(x + 44) },
      { hue: 'v', d: ribbonUp(x + 108) },
    ],
  };
}
