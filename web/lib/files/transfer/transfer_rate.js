// transfer_rate.js - the rate of a transfer over its last seconds

/** Time over which the rate is measured. */
const WINDOW_MS = 5000;
/** Shortest time from which a rate follows; browsers round their clocks to a millisecond. */
const SHORTEST_MS = 200;

/**
 * A function that gets the bytes that have arrived, at a time, and returns their rate.
 * @returns {(bytes: number, ms: number) => number | null} bytes per second; null while it is not known
 */
export function transferRate() {
  /** @type {{bytes: number, ms: number}[]} oldest first */
  const seen = [];
  return (bytes, ms) => {
    seen.push({ bytes, ms });
    while (seen.length > 2 && ms - seen[1].ms >= WINDOW_MS) seen.shift();
    const [first] = seen;
    return ms - first.ms >= SHORTEST_MS ? ((bytes - first.bytes) * 1000) / (ms - first.ms) : null;
  };
}
