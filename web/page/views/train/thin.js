// thin.js - a strip of looks at a run that stays short however many are taken.

const MOST = 40;

/** Which of too many looks is to go: the one with the nearest neighbours, the older of equals, so that what stays is spread evenly over
 * the steps; first and newest stay. Null while there are few. @param {{ step: number }[]} looks oldest first */
export function superfluous(looks) {
  if (looks.length <= MOST) return null;
  let best = 1;
  const gap = (/** @type {number} */ i) => looks[i + 1].step - looks[i - 1].step;
  for (let i = 2; i + 1 < looks.length; i++) if (gap(i) < gap(best)) best = i;
  return best;
}
