// paced.svelte.js - a reading of the state that is renewed at most every so many milliseconds, for drawings that cost
// more than a frame can spare while text streams

/**
 * Call while a component is created.
 * @template {object} T
 * @param {() => T} read  reads the state; must return a new object each time
 * @param {number} ms     between two readings, at least
 * @returns {{ readonly current: T }}
 */
export function paced(read, ms) {
  let current = $state.raw(read());
  let last = -Infinity;
  $effect(() => {
    const next = read();
    const wait = last + ms - performance.now();
    if (wait <= 0) return renew(next);
    const timer = setTimeout(renew, wait, next);
    return () => clearTimeout(timer);
  });
  function renew(/** @type {T} */ next) {
    last = performance.now();
    current = next;
  }
  return {
    get current() {
      return current;
    },
  };
}
