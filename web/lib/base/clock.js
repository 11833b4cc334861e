// clock.js - computes speeds from a coarse clock
//
// Firefox and WebKit round performance.now() to whole milliseconds in pages that are not cross-origin isolated, and one
// token of a small model takes less than that.

/** A speed is computed from times of at least this many ticks, which keeps its error below 10 %. */
const TICKS = 10;
/** Number of ticks measured. The shortest is taken, because a busy machine lengthens some of them. */
const SAMPLES = 3;
/** Most readings of the clock for one tick, in case the clock stands still. */
const READINGS = 1e6;

let tick = 0;

/**
 * The smallest step of performance.now() in this environment. The first call measures it and takes three such steps.
 * @returns {number} ms
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
 * Whether a time span is long enough to compute a speed from it.
 * @param {number} ms
 */
const measurable = (ms) => ms > 0 && ms >= TICKS * clockTick();

/**
 * The speed of work that was timed once.
 * @param {number} n   units of work
 * @param {number} ms  time that they took
 * @returns {number} units per second; 0 when the time is too short for this clock
 */
export function perSecond(n, ms) {
  return measurable(ms) ? (n * 1000) / ms : 0;
}

/** The current speed of repeated short work, computed from the newest time spans that are measurable together. */
export class Rate {
  /**
   * Time spans, the newest last.
   * @type {{n: number, ms: number}[]}
   */
  #spans = [];

  /**
   * Add a time span.
   * @param {number} n   units of work done in it
   * @param {number} ms  its length
   * @returns {number} units per second; 0 while all spans together are too short for this clock
   */
  add(n, ms) {
    this.#spans.push({ n, ms });
    let done = 0;
    let time = 0;
    for (let i = this.#spans.length - 1; i >= 0; i--) {
      done += this.#spans[i].n;
      time += this.#spans[i].ms;
      if (!measurable(time)) continue;
      this.#spans.splice(0, i); // drop the spans that were not used
      return (done * 1000) / time;
    }
    return 0;
  }
}
