// measurement.svelte.js - runs the work of a panel, and stops it when the visitor ends it, new work begins or the panel
// goes

import { untrack } from 'svelte';

/**
 * Made while a component is created.
 * @param {(error: unknown) => void} fail  hears of nothing that was ended
 * @param {() => unknown} [subject]  what is measured; nothing is heard of another one
 */
export function measurement(fail, subject = () => null) {
  /** @type {AbortController | null} */
  let job = $state.raw(null);
  const stop = () => untrack(() => job?.abort());
  $effect(() => stop);
  return {
    get busy() {
      return job !== null;
    },
    stop,
    /** Whether it was not ended. @param {(signal: AbortSignal) => Promise<unknown>} work */
    async start(work) {
      stop();
      const mine = (job = new AbortController());
      const of = untrack(subject);
      try {
        await work(mine.signal);
      } catch (error) {
        if (!mine.signal.aborted && of === untrack(subject)) fail(error);
      } finally {
        if (job === mine) job = null;
      }
      return !mine.signal.aborted;
    },
  };
}
