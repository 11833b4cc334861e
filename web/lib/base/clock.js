// clock.js - computes speeds from a coarse clock: Firefox and WebKit round performance.now() to whole milliseconds in
// pages that are not cross-origin isolated, and a token of a small model takes less

/** A speed is computed from times of at least this many ticks; its error is then below a tenth. */
const TICKS = 10;
/** Number of ticks measured; the shortest counts, since a busy machine lengthens some. */
const SAMPLES = 3;
/** Most readings of the clock while waiting for a tick, in case it does not advance. */
const READINGS = 1e6;

let tick = 0;

/**
 * The smallest step of performance.now() here, in ms. Measured at the first call, which takes three such steps.
 * @returns {number}
 */
export function clockTick() {
  if (tick) return tick;
  let shortest = Infinity;
  for (let i = 0; i < SAMPLES; i++) {
    const from = performance.now();
    let now = from;
    for (let n = 0; now === from && n < READINGS; n++) now = performance.now();
    if (now > from) shortest = Math.min(shortest, now - from);
  }
  return (tick = Math.min(shortest, 1000));
}

/**
 * Whether a time of so many ms is long enough for a speed.
 * @param {number} ms
 */
const measurable = (ms) => ms > 0 && ms >= TICKS * clockTick();

/**
 * @param {number} n
 * @param {number} ms
 * @returns {number} n a second; 0 where the time is too short for this clock
 */
export function perSecond(n, ms) {
  return measurable(ms) ? (n * 1000) / ms : 0;
}

/** The current speed of repeated short work, from as few of the newest time spans as the clock can measure. */
export class Rate {
  /** The newest last. @type {{n: number, ms: number}[]} */
  #spans = [];

  /**
   * A span has ended.
   * @param {number} n what was done in it
   * @param {number} ms
   * @returns {number} n a second; 0 while all are too short together
   */
  add(n, ms) {
    this.#spans.push({ n, ms });
    let done = 0;
    let time = 0;
    for (let i = this.#spans.length - 1; i >= 0; i--) {
      done += this.#spans[i].n;
      time += this.#spans[i].ms;
      if (!measurable(time)) continue;
      this.#spans.splice(0, i); // older spans are not needed any more
      return (done * 1000) / time;
    }
    return 0;
  }
}
