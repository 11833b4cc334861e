// speed.js - the speed of writing: how fast one reads, and what single steps take. Some browsers' clocks tick in whole
// milliseconds, which is longer than a step, so a step alone measures 0 or 1.

/** Per token, at reading speed: about 225 words a minute with tokens of three quarters of a word. */
export const READING_MS = 200;

const ENOUGH_MS = 20; // of steps together, or
const ENOUGH_TICKS = 10; // so many times the shortest that was measured

/**
 * The mean time of a step. Steps that something else interrupted are left out.
 * @param {number[]} recent  ms of the newest steps
 * @returns {number} ms; 0: too few steps for this clock
 */
export function stepMs(recent) {
  const sorted = [...recent].sort((a, b) => a - b);
  const shortest = sorted.find((ms) => ms > 0);
  if (shortest === undefined) return 0;
  const most = 3 * sorted[sorted.length >> 1] + 2 * shortest;
  const whole = sorted.filter((ms) => ms <= most),
    sum = whole.reduce((a, b) => a + b, 0);
  return sum >= Math.min(ENOUGH_MS, ENOUGH_TICKS * shortest) ? sum / whole.length : 0;
}

/**
 * The mean speed of steps of equal size; steps of unknown speed (0) are left out.
 * @param {number[]} speeds
 * @returns {number} 0: none is known
 */
export function meanSpeed(speeds) {
  const known = speeds.filter((v) => v > 0 && Number.isFinite(v));
  return known.length ? known.length / known.reduce((sum, v) => sum + 1 / v, 0) : 0;
}
