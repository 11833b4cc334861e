// anatomy_geometry.js - geometry that the wide picture of a forward pass (anatomy_wide.js) and the tall one for narrow
// screens (anatomy_tall.js) share

/** @typedef {{ x: number, y: number }} Point */
/** @typedef {Point & { anchor: 'start' | 'middle' | 'end' }} Text */
/** @typedef {Point & { width: number, height: number }} Rect */
/** @typedef {Rect & { hue: string, bins: number }} Strip  hue: class of its ground; a vector is drawn in so many bins */
/** @typedef {Text & { id: string, small: boolean, sub: Text, back: Rect, leader: Point | null }} Caption leader: where a dotted line from the lowest lane ends */
/**
 * One token's lane.
 * @typedef {object} Lane
 * @property {Text} label
 * @property {string} stream              path of the residual stream past everything
 * @property {{ d: string, hue: string }[]} flow  ribbons that never change
 * @property {string} q                   ribbons into the card of heads
 * @property {string} k
 * @property {string} v
 * @property {string} through             the value's way past the pattern
 * @property {string} [asks]              ribbon into the card of cross-attention
 * @property {Record<string, Strip>} strips  by the name of what they show, see STRIPS
 * @property {(Rect & { id: string })[]} norms  id: their stage
 * @property {string} pluses              where the block adds to the stream
 */
/**
 * The card of heads, or of cross-attention: dots of a pattern, one row for each query.
 * @typedef {object} Card
 * @property {Rect[]} stack   the last first
 * @property {Text} queries
 * @property {Text} keys
 * @property {Text} [name]
 * @property {Point} dots     centre of the first query's first key
 * @property {number} step    between two dots
 * @property {number} radius
 */
/**
 * @typedef {object} Picture
 * @property {number} width
 * @property {number} height
 * @property {boolean} tall
 * @property {number} letters       of a label, at most
 * @property {number} words         letters of a next token, at most
 * @property {number} type          least size of type in units of the picture: LEAST_TYPE px of the screen
 * @property {Rect} block
 * @property {Text} blockName
 * @property {Lane[]} lanes
 * @property {Card} card
 * @property {(Card & { box: Rect, ribbons: { d: string, hue: string }[] }) | null} cross  box: the encoder
 * @property {Caption[]} captions
 * @property {{ at: Point, word: Text, bar: Rect, number: Point }[]} bars  of the next token; at: where the pass arrives.
 *   bar.width: the longest
 * @property {(lane: number, here: number, at: number, size: number) => string} mix  a value on its way into the
 *   selected lane, where it arrives `at` of the lane's middle, `size` thick
 * @property {(lane: number, lit: boolean) => string} toHead
 * @property {((lane: number, to: Point, aside: number, size: number) => string) | null} fan  a share of the selected
 *   lane's end on its way to a bar, `aside` of the lane's middle
 * @property {(lane: number, to: Point | null) => string} pulse  the middle of the way of one token through the picture,
 *   from its embedding over its query, the card and the mixture to a bar of the next token
 * @property {(caption: Caption, lanes: number) => string} leader
 */
/**
 * What a picture depends on besides its size.
 * @typedef {object} Parts
 * @property {string[]} stages
 * @property {'pre' | 'post' | 'sandwich' | 'output'} placement  of the norms
 * @property {boolean} parallel  the FFN reads the stream that the heads read
 * @property {number} heads
 */

/** Least size of type, px of the screen. */
export const LEAST_TYPE = 11;

export const KEYS = 8; // tokens of the source on the card of cross-attention
export const BARS = 10;
/** Each kind of strip: the class of its ground, and in how many bins its vector is drawn. */
export const STRIPS = {
  embed: { hue: 'ink', bins: 11 },
  q: { hue: 'q', bins: 8 },
  k: { hue: 'k', bins: 8 },
  v: { hue: 'v', bins: 8 },
  out: { hue: 'p', bins: 11 },
  added: { hue: 'p', bins: 11 },
  ffn: { hue: 'f', bins: 14 },
  resid: { hue: 'ink', bins: 7 },
  more: { hue: 'ink', bins: 11 },
};

/** @typedef {[number, number, number]} End  x, y, thickness */

const round = (/** @type {number} */ x) => Math.round(x * 10) / 10;

/**
 * The path of a ribbon between two ends: what d3-shape's `area` with `curveBumpX` or `curveBumpY` gives for two points.
 * d3-shape itself would be 4 kB of the first screen's script.
 * @param {End} from
 * @param {End} to
 * @param {0 | 1} along  the coordinate in whose direction it runs
 */
function ribbon(from, to, along) {
  const half = (/** @type {End} */ end) => end[2] / 2;
  const [a, b] = [from[along], to[along]];
  const middle = (a + b) / 2;
  const point = (/** @type {number} */ at, /** @type {number} */ aside) =>
    (along ? [aside, at] : [at, aside]).map(round).join();
  const edge = (/** @type {number} */ side) => [from[1 - along] + side * half(from), to[1 - along] + side * half(to)];
  const [near, far] = [edge(1), edge(-1)];
  return (
    `M${point(a, near[0])}C${point(middle, near[0])},${point(middle, near[1])},${point(b, near[1])}` +
    `L${point(b, far[1])}C${point(middle, far[1])},${point(middle, far[0])},${point(a, far[0])}Z`
  );
}

/**
 * A ribbon from left to right, as thick as its ends.
 * @param {End} from
 * @param {End} to
 */
export const ribbonAcross = (from, to) => ribbon(from, to, 0);
/**
 * A ribbon from top to bottom.
 * @param {End} from
 * @param {End} to
 */
export const ribbonDown = (from, to) => ribbon(from, to, 1);

/** A plus sign. @param {number} x @param {number} y */
export const plus = (x, y) => `M${x - 3} ${y}h6m-3 -3v6`;

/**
 * Rectangles of a stack of cards, the last first.
 * @param {Rect} front
 * @param {number} cards
 * @param {number} dx
 * @param {number} dy
 * @returns {Rect[]}
 */
export const stackOf = (front, cards, dx, dy) =>
  Array.from({ length: cards }, (_, i) => {
    const k = cards - 1 - i;
    return { ...front, x: front.x + k * dx, y: front.y - k * dy };
  });
