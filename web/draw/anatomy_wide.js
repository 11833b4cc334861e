// anatomy_wide.js - the picture of a forward pass whose lanes run from left to right, in units of a viewBox of 1400
import { BARS, BINS, HUES, KEYS, LEAST_TYPE, plus, ribbonAcross as ribbon, stackOf } from './anatomy.js';
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

export { LANES };

/** @typedef {import('./anatomy.js').Picture} Picture */
/** @typedef {import('./anatomy.js').Parts} Parts */
/** @typedef {import('./anatomy_columns.js').How} How */

const HEIGHT = 470;
const LARGEST_TYPE = 17; // units: with more the captions of neighbouring stages meet
const LETTER = 0.56; // width of a letter, as a share of the size of type, about
const WORD = 96; // of a next token
const BAR = 76; // the longest bar of the next token, at most
const PERCENT = 7 * 0.62; // width of its number, as a share of the size of type
/** Height of each strip, and its distance from the lane's middle. @type {Record<string, [number, number]>} */
const STRIP = {
  embed: [18, -9],
  q: [7, -11],
  k: [7, -3.5],
  v: [7, 4],
  out: [18, -9],
  added: [18, -9],
  ffn: [28, -14],
  resid: [16, -8],
  more: [18, -9],
};

const yOf = (/** @type {number} */ lane) => Y0 + lane * PITCH;
const valueY = (/** @type {number} */ lane) => 372 + lane * 5.2;

/**
 * @param {Parts} parts
 * @param {number} width  px of the screen
 * @returns {Picture | null} null where its words would have no room
 */
export function widePicture(parts, width) {
  const { stages, placement, parallel, heads } = parts;
  const has = (/** @type {string} */ id) => stages.includes(id);
  const cross = has('cross');
  const { X, more } = columnsOf(parts);
  const type = Math.ceil((100 * LEAST_TYPE * (1400 + more)) / width) / 100;
  if (type > LARGEST_TYPE) return null;
  const longest = Math.min(BAR, 1400 + more - X.bars - 17 - PERCENT * Math.max(11, type));
  const how = { has, placement, parallel, cross, first: has('before') };
  const end = (/** @type {string} */ name) => X[name] + WIDTH[name];
  const last = has('final') ? 'final' : has('more') ? 'more' : 'resid';
  const valuesOut = end('card') + 30;
  return {
    width: 1400 + more,
    height: HEIGHT,
    tall: false,
    letters: Math.min(12, Math.floor(X.label / LETTER / Math.max(13, type))),
    words: Math.min(12, Math.floor(WORD / LETTER / Math.max(13, type))),
    type,
    block: { x: 186, y: 64, width: end('resid') + 18 - 186, height: BOTTOM - 52 },
    blockName: { x: 200, y: BOTTOM + 2, anchor: 'start' },
    lanes: Array.from({ length: LANES }, (_, i) => laneOf(i, X, how)),
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
      const caption = captionOf(id, X, how);
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
    mix: (lane, here, at, size) => ribbon([valuesOut, valueY(lane), 4.4], [X.out, yOf(here) + at, size]),
    toHead: (lane, lit) =>
      !has('head') ? '' : ribbon([end(last), yOf(lane), 14], [X.bars - 64, yOf(lane), lit ? 14 : 3]),
    leader: ({ leader }, lanes) => (leader ? `M${leader.x} ${yOf(lanes - 1) + 12}V${leader.y}` : ''),
  };
}

/**
 * The vectors of a lane as strips of blocks.
 * @param {Record<string, number>} X
 * @param {number} y
 * @param {How['has']} has
 * @param {any} cross
 */
function stripsOf(X, y, has, cross) {
  const strip = (/** @type {string} */ name, place = name) => {
    const [height, dy] = STRIP[name];
    return {
      x: X[place],
      y: y + dy,
      width: WIDTH[place],
      height,
      hue: HUES[name],
      bins: /** @type {any} */ (BINS)[name],
    };
  };
  return {
    embed: strip('embed'),
    q: strip('q', 'qkv'),
    k: strip('k', 'qkv'),
    v: strip('v', 'qkv'),
    out: strip('out'),
    ...(cross && { added: strip('added') }),
    ...(has('ffn') && { ffn: strip('ffn') }),
    resid: strip('resid'),
    ...(has('more') && { more: strip('more') }),
  };
}

/**
 * @param {number} i
 * @param {Record<string, number>} X
 * @param {How} how
 * @returns {import('./anatomy.js').Lane}
 */
function laneOf(i, X, { has, placement, parallel, cross }) {
  const y = yOf(i),
    qy = 150 + i * STEP,
    ky = 306 + i * 5.2,
    vy = valueY(i);
  const end = (/** @type {string} */ name) => X[name] + WIDTH[name];
  const post = placement === 'post';
  const before = placement === 'pre' || placement === 'sandwich';
  const shared = parallel && has('norm1'); // a shared norm stands before both
  const pre = (/** @type {string} */ id) => before && (has(id) || (shared && id === 'norm2'));
  const valuesOut = end('card') + 30;
  const feed = () => [
    parallel // from the stream, to which the heads have added nothing yet
      ? { hue: 'f', d: ribbon([end('out') + 2, y - 13, 2], [X.norm2, y, 15]) }
      : { hue: 'f', d: ribbon([end(cross ? 'added' : 'out'), y, 18], [pre('norm2') ? X.norm2 : X.ffn, y, 15]) },
    ...(parallel ? besideOf(X, y) : []),
    ...(pre('norm2') ? [{ hue: 'f', d: ribbon([end('norm2'), y, 15], [X.ffn, y, 26]) }] : []),
    { hue: 'f', d: ribbon([end('ffn'), y, 27], [X.resid, y, 16]) },
  ];
  /** @type {{ d: string, hue: string }[]} */
  const flow = [
    { hue: 'ink', d: ribbon([end('embed'), y, 18], [pre('norm1') ? X.norm1 : X.qkv, y, 15]) },
    ...(pre('norm1') ? [{ hue: 'ink', d: ribbon([end('norm1'), y, 15], [X.qkv, y, 20]) }] : []),
    { hue: 'v faint', d: ribbon([valuesOut, vy, 4.4], [X.out, y, 14]) },
    ...(cross ? [{ hue: 'v faint', d: ribbon([X.cross + CROSS_W, 286, 40], [X.added, y, 14]) }] : []),
    ...(!has('ffn') ? [{ hue: 'ink', d: ribbon([end(cross ? 'added' : 'out'), y, 18], [X.resid, y, 16]) }] : feed()),
    ...(has('more') || has('final')
      ? [{ hue: 'ink', d: ribbon([end('resid'), y, 16], [has('more') ? X.more : X.final, y, 16]) }]
      : []),
    ...(has('more') && has('final') ? [{ hue: 'ink', d: ribbon([end('more'), y, 16], [X.final, y, 14]) }] : []),
  ];
  const norm = (/** @type {number} */ x, tall = false) => ({
    x,
    y: y - (tall ? 17 : 9),
    width: 8,
    height: tall ? 26 : 18,
  });
  const normX = placesOfNorms(X, { placement });
  return {
    labels: [{ x: X.label, y: y + 4.5, anchor: 'end' }],
    stream: `M${end('embed')} ${y - 13}H${X.final}`,
    flow,
    q: ribbon([end('qkv'), y - 7.5, 6.5], [X.card, qy, 6]),
    k: ribbon([end('qkv'), y, 6.5], [X.card, ky, 4.4]),
    v: ribbon([end('qkv'), y + 7.5, 6.5], [X.card, vy, 4.4]),
    through: `M${X.card} ${vy - 2.2}H${valuesOut}V${vy + 2.2}H${X.card}Z`,
    ...(cross && { asks: ribbon([end('out'), y, 15], [X.cross, qy, 6]) }),
    strips: stripsOf(X, y, has, cross),
    norms: Object.entries(normX)
      .filter(([id]) => has(id) || (shared && id === 'norm2'))
      .map(([id, x]) => ({ id, ...norm(x, post && id !== 'final') })),
    pluses: [...(parallel ? [] : ['out']), ...(cross ? ['added'] : []), ...(has('ffn') ? ['resid'] : [])]
      .map((name) => plus(X[name] + WIDTH[name] / 2, y - 13))
      .join(''),
  };
}

/** The output of the heads on its way past the FFN of a parallel block, below it. @param {Record<string, number>} X @param {number} y */
function besideOf(X, y) {
  const [from, to, low] = [X.out + WIDTH.out, X.resid, y + 17];
  return [
    { hue: 'ink', d: ribbon([from, y, 16], [X.norm2, low, 3]) },
    { hue: 'ink', d: ribbon([X.norm2, low, 3], [to - 30, low, 3]) },
    { hue: 'ink', d: ribbon([to - 30, low, 3], [to, y + 5, 6]) },
  ];
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
