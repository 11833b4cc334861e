// typed.js - takes over the text that is typed in a text area, after a short rest, or at once when something depends on
// it

const REST_MS = 150;

/** @param {(text: string) => Promise<void>} take */
export function createTyped(take) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer; // undefined: all that was typed is taken over
  let text = '';

  function stop() {
    clearTimeout(timer);
    timer = undefined;
  }
  return {
    /** @param {string} now */
    type(now) {
      stop();
      text = now;
      timer = setTimeout(() => {
        timer = undefined;
        void take(text);
      }, REST_MS);
    },
    /** Take over what was typed a moment ago. */
    async now() {
      if (timer === undefined) return;
      stop();
      await take(text);
    },
    /** Something else takes its place. */
    drop: stop,
  };
}
