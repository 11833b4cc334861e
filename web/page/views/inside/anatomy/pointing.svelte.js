// pointing.svelte.js - finds the part of the anatomy that is pointed at by mouse, finger or keys. Only what rests on a
// part for a moment chooses it, so that the way from a part to its card may cross others.

/**
 * @typedef {object} Part
 * @property {string} name   a row of text/parts_text.js
 * @property {number} lane   of its token, of a weight that of the query
 * @property {number} index  of a weight's key, or of a next token
 * @property {boolean} onLane  it stands in the lane of one token
 * @property {DOMRect} box   on the screen
 * @property {{ x: number, y: number, width: number, height: number }} mark  in the picture
 */

const REST_MS = 120;
const LEAVE_MS = 400;

/**
 * The part that an element draws.
 * @param {EventTarget | null} target
 * @returns {Part | null}
 */
export function partAt(target) {
  const drawn = /** @type {SVGGraphicsElement | null} */ (
    /** @type {Element | null} */ (target)?.closest?.('[data-part]') ?? null
  );
  if (!drawn) return null;
  const lane = /** @type {SVGElement | null} */ (drawn.closest('[data-lane]'))?.dataset.lane;
  const { part: name = '', index } = drawn.dataset;
  const { x, y, width, height } = drawn.getBBox();
  return {
    name,
    lane: Number(lane ?? 0),
    index: Number(index ?? 0),
    onLane: lane !== undefined && !drawn.matches('.stage'),
    box: drawn.getBoundingClientRect(),
    mark: { x, y, width, height },
  };
}

const middle = (/** @type {DOMRect} */ { left, top, width, height }) => [left + width / 2, top + height / 2];

/**
 * The nearest of some boxes in a direction: what lies aside counts three times.
 * @param {DOMRect} from
 * @param {DOMRect[]} boxes
 * @param {[number, number]} direction  [1, 0]: to the right
 * @returns {number}  -1: none lies there
 */
export function nearest(from, boxes, [dx, dy]) {
  const [x, y] = middle(from);
  const distances = boxes.map((box) => {
    const [toX, toY] = middle(box);
    const along = (toX - x) * dx + (toY - y) * dy,
      aside = Math.abs((toX - x) * dy) + Math.abs((toY - y) * dx);
    return along > 1 ? along + 3 * aside : Infinity;
  });
  const least = Math.min(...distances);
  return least === Infinity ? -1 : distances.indexOf(least);
}

/** @type {Record<string, [number, number]>} */
const DIRECTIONS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

/**
 * Where an arrow key leads, from the first part where none is chosen: not to ribbons, whose strips have the same cards.
 * @param {HTMLElement} region
 * @param {Part | null} part
 * @param {string} key
 * @returns {Part | null}
 */
export function partBeside(region, part, key) {
  const direction = DIRECTIONS[key];
  if (!direction) return null;
  const drawn = [...region.querySelectorAll('[data-part]:not(path, .stack > rect)')];
  const boxes = drawn.map((element) => element.getBoundingClientRect());
  const to = part ? nearest(part.box, boxes, direction) : 0;
  drawn[to]?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  return partAt(drawn[to] ?? null) ?? part;
}

/** Call while a component is created. */
export function pointing() {
  let part = $state.raw(/** @type {Part | null} */ (null));
  let open = $state(/** @type {'' | 'explain' | 'code'} */ ('')); // what the card shows below: it stays then
  /** @type {any} */
  let timer;
  /** @param {Part | null} next @param {number} ms */
  function later(next, ms) {
    clearTimeout(timer);
    if (!open) timer = setTimeout(() => (part = next), ms);
  }
  /** Opens a part at once. @param {Part | null} next */
  function choose(next) {
    clearTimeout(timer);
    open = '';
    part = next;
  }
  $effect(() => () => clearTimeout(timer));
  return {
    get part() {
      return part;
    },
    get open() {
      return open;
    },
    choose,
    over: (/** @type {Part} */ next) => later(next, REST_MS),
    leave: () => later(null, LEAVE_MS),
    /** The pointer or the focus is on the card. */
    stay: () => clearTimeout(timer),
    /** @param {'explain' | 'code'} what */
    show: (what) => (open = open === what ? '' : what),
  };
}
