// lab_curves.js - the curves of a lab as the page's chart takes them

/** @typedef {import('glassformer/labs').Curves} Curves */
/** @typedef {import('glassformer/labs').Axis} Axis */

const KINDS = 8; // of the style sheet
const MOST = 600; // points of a drawn curve

/**
 * Least and largest value, a little apart where they are equal; from 0 where the least is near it. A logarithmic axis
 * leaves out what is not above 0.
 * @param {number[]} values
 * @param {Axis} axis
 * @returns {[number, number]}
 */
export function rangeOf(values, { log }) {
  const [low, high] = values.reduce(
    ([low, high], v) => (Number.isFinite(v) && (!log || v > 0) ? [Math.min(low, v), Math.max(high, v)] : [low, high]),
    [Infinity, -Infinity],
  );
  if (low > high) return log ? [0.1, 1] : [0, 1];
  if (log) return low === high ? [low / 2, high * 2] : [low, high];
  const from = low > 0 && low < high / 2 ? 0 : low;
  return from === high ? [from - 0.5, high + 0.5] : [from, high];
}

/** Points of a curve, few enough to be drawn often; the last one is among them. @param {Curves['curves'][number]} curve */
function pointsOf({ x, y }) {
  const step = Math.ceil(x.length / MOST);
  return x.flatMap((at, i) =>
    (i % step === 0 || i === x.length - 1) && Number.isFinite(y[i])
      ? [/** @type {[number, number]} */ ([at, y[i]])]
      : [],
  );
}

/** @param {Curves} figure */
export const chartOf = ({ x, y, curves }) => ({
  x: rangeOf(
    curves.flatMap((curve) => curve.x),
    x,
  ),
  y: rangeOf(
    curves.flatMap((curve) => curve.y),
    y,
  ),
  xLog: !!x.log,
  yLinear: !y.log,
  series: curves.map((curve, i) => ({
    name: curve.name,
    kind: `kind-${i % KINDS}`,
    points: pointsOf(curve).filter(([at]) => !x.log || at > 0),
    dots: curve.x.length <= 12,
  })),
});
