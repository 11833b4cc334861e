// rewinding.js - drops the end of the text: behind a position, or back to the prompt
import { setPrompt } from './read_prompt.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

/** Keep so many tokens. @param {Runtime} runtime @param {number} n */
export function cut(runtime, n) {
  const { state, set } = runtime;
  const { tokens, logits } = state.text;
  if (n < 0 || n >= tokens.length) return;
  const patterns = runtime.rows();
  tokens.length = n;
  patterns.truncate(n);
  state.attention.otherPatterns?.cross.truncate(n);
  for (const p of [...logits.keys()]) if (p >= n) logits.delete(p);
  set({ text: { tokens, logits, cursor: n - 1, follow: true }, attention: { patterns, key: null, hover: null } });
}

/** Drop everything after the prompt; one that is being read brings nothing after it. @param {Runtime} runtime */
export function rewind(runtime) {
  const { tokens, promptLength, prompt } = runtime.state.text;
  if (runtime.reading || !runtime.model()) return;
  // branched within it
  if (tokens.filter((t) => t.given).length < promptLength) return void setPrompt(runtime, prompt);
  runtime.turn++;
  void runtime.close();
  cut(
    runtime,
    tokens.findIndex((t) => !t.given),
  );
  runtime.set({
    engine: { status: 'ready', stopReason: '' },
    text: { branches: [], pure: !runtime.state.engine.adapter },
  });
}
