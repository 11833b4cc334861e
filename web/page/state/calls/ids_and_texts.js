// ids_and_texts.js - text into ids and ids into text, for models with a tokenizer and without

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

const wordless = (/** @type {any} */ error) => error?.code === 'no-tokenizer';

/**
 * A model without a tokenizer is prompted in numbers.
 * @param {Runtime} runtime
 * @param {string} prompt
 * @param {{ addSpecialTokens?: boolean }} [options]
 */
export async function idsOf(runtime, prompt, options) {
  try {
    return await runtime.model().encode(prompt, options);
  } catch (error) {
    if (!wordless(error)) throw error;
    const model = runtime.loaded();
    model.wordless = true;
    if (/^[\d\s,]+$/.test(prompt))
      return prompt
        .split(/[\s,]+/)
        .filter(Boolean)
        .map(Number);
    // it has no words: bytes of the text stand in for ids, as far as its vocabulary goes
    const size = model.config.vocabSize;
    return Array.from(new TextEncoder().encode(prompt), (b) => b % size);
  }
}

export const LETTERS = 16; // per token, more than any text has on average

/**
 * The tokens of a text, or its first ones where even those are more than the context holds.
 * @param {Runtime} runtime
 * @param {string} text
 * @param {{ addSpecialTokens?: boolean }} [options]
 * @returns {Promise<{ ids: number[], more: boolean }>}  more: the text goes on after them
 */
export async function boundedIds(runtime, text, options) {
  const { contextLength } = runtime.model();
  const most = LETTERS * contextLength;
  if (text.length > most) {
    const ids = await idsOf(runtime, text.slice(0, most), options);
    if (ids.length > contextLength) return { ids, more: true };
  }
  return { ids: await idsOf(runtime, text, options), more: false };
}

/**
 * What each id adds to the text, characters cut between tokens credited to the one that completes them.
 * @param {Runtime} runtime
 * @param {number[]} ids
 * @returns {Promise<string[]>} '' for all without a tokenizer
 */
export async function textsOf(runtime, ids) {
  const api = runtime.model();
  try {
    return (await api.tokens(ids)).map((/** @type {{text: string}} */ { text }) => text);
  } catch (error) {
    if (!wordless(error)) throw error;
    const { model } = runtime.state.engine;
    if (model && model.api === api) model.wordless = true;
    return ids.map(() => '');
  }
}

/**
 * A text's tokens with what each adds to it.
 * @param {Runtime} runtime
 * @param {string} text
 */
export async function piecesOf(runtime, text) {
  const ids = await idsOf(runtime, text);
  const texts = await textsOf(runtime, ids);
  const { bos } = runtime.model().special;
  return ids.map((/** @type {number} */ id, /** @type {number} */ i) => ({ id, text: id === bos ? '' : texts[i] }));
}

/** Learn these ids' texts as they stand inside a sentence, with the blank in front if they bring one: one call after the
 * other, so that none is asked for twice. @param {Runtime} runtime @param {number[]} ids */
export function spell(runtime, ids) {
  return (runtime.spelling = runtime.spelling.then(() => learn(runtime, ids)));
}

/** @param {Runtime} runtime @param {number[]} ids */
async function learn({ state, set, fail }, ids) {
  const { words } = state.text,
    { model } = state.engine;
  const missing = ids.filter((id) => !words.has(id));
  if (!missing.length || !model) return;
  try {
    // an output of some models has more rows than their tokenizer has tokens
    for (const { id, text } of await model.api.tokens(missing, { alone: true })) words.set(id, text || `[${id}]`);
    if (state.text.words === words) set({ text: { words } });
  } catch (error) {
    for (const id of missing) words.set(id, '');
    if (state.text.words !== words) return; // the model has gone
    if (!wordless(error)) fail(error);
    set({ text: { words } });
  }
}
