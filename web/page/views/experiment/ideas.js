// ideas.js - ideas of a transformer that can be left out of a loaded model: switches of its configuration

/** @typedef {import('../../text/break.js').Idea} Idea */

/** Switches in the order in which they are offered. @type {Idea[]} */
const ALL = ['causal', 'scaleScores', 'usePosition', 'useResidual', 'useNorm', 'useFinalNorm'];

/**
 * Those that this model has and that are not off already.
 * @param {any} config
 */
export const ideasOf = (config) =>
  ALL.filter(
    (idea) => (idea !== 'usePosition' || config.position !== 'none') && (idea !== 'useFinalNorm' || config.finalNorm),
  );

/**
 * Where two texts part: the first place at which their tokens differ, -1 while one begins the other.
 * @param {{ id: number }[]} one
 * @param {{ id: number }[]} other
 */
export function partingOf(one, other) {
  const n = Math.min(one.length, other.length);
  for (let i = 0; i < n; i++) if (one[i].id !== other[i].id) return i;
  return -1;
}
