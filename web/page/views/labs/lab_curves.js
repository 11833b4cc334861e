// lab_curves.js - the curves of a lab as the page's chart takes them
import { extent } from 'd3-array';

/** @typedef {import('glassformer/labs').Curves} Curves */
/** @typedef {import('glassformer/labs').Axis} Axis */

/**
 * Least and largest value, a little apart where they are equal; from 0 where the least is near it. A logarithmic axis
 * leaves out what is not above 0.
 * @param {number[]} values
 * @param {Axis} axis
 * @returns {[number, number]}
 */
export function rangeOf(values, { log }) {
  const [low = 0.1, high = 1] = extent(values.filter((v) => Number.isFinite(v) && (!log || v > 0)));
  if (log) return low === high ? [low / 2, high * 2] : [low, high];
  const from = low > 0 && low < high / 2 ? 0 : low;
  return from === high ? [from - 0.5, high + 0.5] : [from, high];
}

/** @param {Curves} figure @param {string[]} names  of its curves */
export function chartOf({ x, y, curves }, names) {
  const all = (/** @type {'x' | 'y'} */ axis) => curves.flatMap((curve) => curve[axis]);
  return {
    x: rangeOf(all('x'), x),
    y: rangeOf(all('y'), y),
    xLog: !!x.log,
    yLinear: !y.log,
    series: curves.map((curve, i) => ({
      name: names[i],
      points: curve.x
        .map((at, place) => /** @type {[number, number]} */ ([at, curve.y[place]]))
        .filter(([at, value]) => Number.isFinite(value) && (!x.log || at > 0)),
      dots: curve.x.length <= 12,
    })),
  };
}
