// long_prompt.js - a prompt for which the context has no room: it stays as it was typed, and may be cut to its end
import { LETTERS, idsOf, textsOf } from './ids_and_texts.js';
import { setPrompt } from './read_prompt.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

/**
 * How many of its last tokens are kept when a prompt is cut: the start token and the text to write need the rest of the
 * context.
 * @param {import('../store/state.js').State['engine']} engine
 */
export const keptOf = ({ model, maxTokens }) => {
  const { contextLength } = model?.api ?? { contextLength: 0 };
  return contextLength - 1 - Math.min(maxTokens, Math.floor(contextLength / 2));
};

/** Cuts the prompt that is too long to its end, and reads it. @param {Runtime} runtime */
export async function cutPrompt(runtime) {
  const { text, engine } = runtime.state;
  if (!text.over) return;
  const end = text.prompt.slice(-LETTERS * runtime.model().contextLength);
  const ids = await idsOf(runtime, end, { addSpecialTokens: false });
  const kept = ids.slice(-keptOf(engine));
  const texts = await textsOf(runtime, kept);
  await setPrompt(runtime, runtime.loaded().wordless ? kept.join(' ') : texts.join('').trimStart());
}
