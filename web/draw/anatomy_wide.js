// anatomy_wide.js - the picture of a forward pass whose lanes run from left to right, in units of a viewBox of 1400
import { BARS, KEYS, LEAST_TYPE, stackOf } from './anatomy_geometry.js';
import { endOf, lanesOf } from './anatomy_lanes.js';

/** @typedef {import('./anatomy_geometry.js').Picture} Picture */
/** @typedef {import('./anatomy_geometry.js').Parts} Parts */
/** @typedef {import('./anatomy_lanes.js').Slot} Slot */

export const LANES = 9;
const Y0 = 92; // first lane
const PITCH = 29;
const STEP = 18; // of the pattern
const RADIUS = 6.2;
const DOTS = 122; // its first row
const BOTTOM = Y0 + (LANES - 1) * PITCH + 42;
const BOX = 44; // of the encoder, below the card of cross-attention
const ACROSS = 300; // what cross-attention takes, between the heads and the FFN
const OUTPUT_NORM = 26; // what a norm of an output takes, before the output
const CROSS_W = 152;
/** Left edge and width of each column. @type {Record<string, [number, number]>} */
const COLUMNS = {
  label: [104, 0],
  embed: [114, 44],
  norm1: [200, 8],
  qkv: [252, 32],
  card: [406, 196],
  out: [716, 44],
  norm2: [798, 8],
  cross: [840, CROSS_W],
  ffn: [858, 56],
  resid: [950, 28],
  more: [1034, 44],
  added: [1052, 44],
  final: [1110, 8],
  bars: [1206, 0],
};
/** Columns of stages that have another's name. @type {Record<string, string>} */
const AT = { before: 'embed', heads: 'card', encoder: 'cross', head: 'bars' };
const AFTER_FFN = ['resid', 'more', 'final', 'bars'];
const AFTER_CROSS = ['norm2', 'ffn', ...AFTER_FFN];
const HEIGHT = BOTTOM + 40;
const LARGEST_TYPE = 17; // units: with more the captions of neighbouring stages meet
const LETTER = 0.56; // width of a letter, as a share of the size of type, about
const WORD = 74; // of a next token
const BAR = 60; // its longest bar, at most
const PERCENT = 7 * 0.62; // width of its number, as a share of the size of type

const middleOf = (/** @type {Slot} */ { at, length }) => at + length / 2;
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
  const { slots, more } = columnsOf(parts);
  const [card, bars] = [slots.card, slots.bars.at];
  const below = cross ? BOX : 0;
  const type = Math.ceil((100 * LEAST_TYPE * (1400 + more)) / width) / 100;
  if (type > LARGEST_TYPE) return null;
  const longest = Math.min(BAR, 1400 + more - bars - WORD - 14 - PERCENT * Math.max(11, type));
  return {
    width: 1400 + more,
    height: HEIGHT + below,
    tall: false,
    letters: Math.min(12, Math.floor(slots.label.at / LETTER / Math.max(13, type))),
    words: Math.min(12, Math.floor(WORD / LETTER / Math.max(13, type))),
    type,
    block: { x: 182, y: 58, width: endOf(slots.resid) + 18 - 182, height: BOTTOM - 50 + below },
    blockName: { x: 196, y: BOTTOM + below, anchor: 'start' },
    ...lanesOf({
      ...{ tall: false, count: LANES, parts, slots, middle: yOf },
      label: (lane) => ({ x: slots.label.at, y: yOf(lane) + 4.5, anchor: 'end' }),
      thick: { flow: 14, full: 17, thin: 6.5, ffn: 25, resid: 15 },
      aside: { stream: 12, value: 7, beside: 14 },
      norm: placement === 'post' ? [-15, 8] : [-8, 8],
      card: {
        from: card.at,
        to: endOf(card) + 30,
        q: (lane) => DOTS + lane * STEP,
        k: (lane) => DOTS + LANES * STEP + 4 + lane * 4.2,
        v: (lane) => 328 + lane * 4.2,
      },
      cross: { at: slots.cross.at, out: [endOf(slots.cross), 258] },
      head: (lane) => [bars - 62, yOf(lane)],
    }),
    card: {
      stack: stackOf({ x: card.at, y: 78, width: card.length, height: 246 }, Math.min(5, heads), 7, 5),
      queries: { x: middleOf(card), y: 102, anchor: 'middle' },
      keys: { x: middleOf(card), y: DOTS + LANES * STEP + 9, anchor: 'middle' },
      name: { x: middleOf(card), y: 313, anchor: 'middle' },
      dots: { x: card.at + (card.length - (LANES + 1) * STEP) / 2 + 1.5 * STEP, y: DOTS },
      step: STEP,
      radius: RADIUS,
    },
    cross: cross ? crossCard(slots.cross.at, heads) : null,
    captions: stages.map((id) => {
      const caption = captionOf(id, slots, parts);
      return { ...caption, sub: { ...caption.sub, y: caption.y + Math.max(17, 1.2 * type) } };
    }),
    bars: has('head') ? barsAt(bars, longest) : [],
    leader: ({ leader }, lanes) => (leader ? `M${leader.x} ${yOf(lanes - 1) + 12}V${leader.y}` : ''),
  };
}

/** The rows of the next token. @param {number} x @param {number} longest @returns {Picture['bars']} */
const barsAt = (x, longest) =>
  Array.from({ length: BARS }, (_, i) => {
    const y = Y0 - 14 + i * PITCH;
    return {
      at: { x: x - 7, y },
      word: { x, y: y + 4.5, anchor: 'start' },
      bar: { x: x + WORD, y: y - 4.5, width: longest, height: 9 },
      number: { x: x + WORD + 6, y: y + 4 },
    };
  });

/** The card between the stacks: the text asks from the left, the encoder's keys and values come from below. @param {number} x @param {number} heads */
function crossCard(x, heads) {
  const y = 340;
  const ribbonUp = (/** @type {number} */ at) =>
    `M${at - 14} 300C${at - 14} 316 ${at - 9} 322 ${at - 9} ${y}H${at + 9}C${at + 9} 322 ${at + 14} 316 ${at + 14} 300Z`;
  return {
    stack: stackOf({ x, y: 78, width: CROSS_W, height: 222 }, Math.min(4, heads), 6, 5),
    queries: { x: x + CROSS_W / 2, y: 102, anchor: /** @type {const} */ ('middle') },
    keys: { x: x + CROSS_W / 2, y: DOTS + LANES * STEP + 9, anchor: /** @type {const} */ ('middle') },
    dots: { x: x + (CROSS_W - KEYS * STEP) / 2 + STEP / 2, y: DOTS },
    step: STEP,
    radius: RADIUS,
    box: { x: x - 24, y, width: CROSS_W + 48, height: BOX + 6 },
    ribbons: [
      { hue: 'k', d: ribbonUp(x + 44) },
      { hue: 'v', d: ribbonUp(x + 108) },
    ],
  };
}

/**
 * Where each column begins, and how much wider the picture is than with an FFN, without cross-attention and norms of
 * outputs.
 * @param {Parts} parts
 */
function columnsOf({ stages, placement }) {
  /** @type {Record<string, Slot>} */
  const slots = Object.fromEntries(Object.entries(COLUMNS).map(([name, [at, length]]) => [name, { at, length }]));
  const move = (/** @type {string[]} */ names, /** @type {number} */ by) => {
    for (const name of names) slots[name].at += by;
    return by;
  };
  const outputs = placement === 'sandwich' || placement === 'output';
  const more =
    move(AFTER_CROSS, stages.includes('cross') ? ACROSS : 0) +
    move(['out', ...AFTER_CROSS], outputs ? OUTPUT_NORM : 0) +
    move(AFTER_FFN, stages.includes('ffn') ? 0 : COLUMNS.norm2[0] - COLUMNS.resid[0]) +
    move(AFTER_FFN, outputs ? 2 * OUTPUT_NORM : 0);
  const norm = (/** @type {number} */ at) => ({ at, length: COLUMNS.norm1[1] });
  const [post1, post2] = [norm(slots.out.at - 16), norm(slots.resid.at - 22)]; // before the output is added
  const norms = {
    pre: {},
    sandwich: { post1, post2 },
    output: { norm1: post1, norm2: post2 },
    post: { norm1: norm(endOf(slots.out) + 8), norm2: norm(endOf(slots.resid) + 8) }, // after the sum
  };
  Object.assign(slots, norms[placement]);
  return { slots, more };
}

/**
 * Captions stand above the lanes; those of norms and of the stream below, with a dotted line.
 * @param {string} id
 * @param {Record<string, Slot>} slots
 * @param {Parts} parts
 * @returns {import('./anatomy_geometry.js').Caption}
 */
function captionOf(id, slots, { placement, stages }) {
  const first = stages.includes('before'); // then the embedding is not drawn, the blocks before are
  const post = placement === 'post';
  /** How far a caption stands aside where captions would meet. @type {Record<string, number>} */
  const aside = {
    embed: first ? 36 : 0,
    norm1: post ? 2 : first ? 12 : 0,
    post2: -14,
    heads: 10,
    norm2: post ? 30 : placement === 'output' ? -14 : 0,
    resid: post ? (stages.includes('ffn') ? -26 : 26) : placement === 'pre' ? 0 : 22,
    head: 90,
    cross: 8,
  };
  const x = middleOf(slots[AT[id] ?? id]) + (aside[id] ?? 0);
  const small = ['norm1', 'norm2', 'post1', 'post2', 'final', 'resid'].includes(id) || (id === 'embed' && first);
  const y = id === 'encoder' ? 360 : small ? BOTTOM + 26 + (stages.includes('cross') ? BOX : 0) : 20;
  return {
    id,
    x,
    y,
    anchor: id === 'embed' && first ? 'end' : 'middle', // it is long where positions are added
    small,
    sub: { x, y: y + 17, anchor: 'middle' },
    back: { x: x - 32, y: y - 16, width: 64, height: 40 }, // as wide as the words, see Captions.svelte
    leader: small
      ? { x: id === 'embed' ? slots.embed.at + 10 : id === 'norm1' ? middleOf(slots.norm1) : x, y: y - 14 }
      : null,
  };
}
