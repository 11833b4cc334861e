// rewinding.js - the end of the text is dropped: behind a place, or back to the prompt

/**
 * @param {import('./shared.js').Shared} shared
 * @param {(prompt: string) => Promise<void>} setPrompt
 */
export function createRewinding(shared, setPrompt) {
  const { state, set } = shared;

  /** Keep so many tokens. @param {number} n */
  function cut(n) {
    if (n < 0 || n >= state.tokens.length) return;
    const { tokens, logits } = state;
    const patterns = shared.rows();
    tokens.length = n;
    patterns.truncate(n);
    state.otherPatterns?.cross.truncate(n);
    for (const p of [...logits.keys()]) if (p >= n) logits.delete(p);
    set({ tokens, patterns, logits, cursor: n - 1, key: null, hover: null, follow: true });
  }

  /** Drop everything after the prompt; one that is being read brings nothing after it. */
  function rewind() {
    if (shared.reading || !shared.model()) return;
    // branched within it
    if (state.tokens.filter((t) => t.given).length < state.promptLength) return void setPrompt(state.prompt);
    shared.turn++;
    void shared.close();
    shared.running = false;
    cut(state.tokens.findIndex((t) => !t.given));
    set({ status: 'ready', stopReason: '', branches: [], pure: true });
  }

  return { cut, rewind };
}
