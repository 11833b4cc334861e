// words.js - text into ids and ids into text, for models with a tokenizer and without

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

const BEFORE = 8; // tokens that one is decoded after: of bytes, enough to hold a whole character wherever they begin

const wordless = (/** @type {any} */ error) => error?.code === 'no-tokenizer';
/** An output of some models has more rows than their tokenizer has tokens. */
const unknown = (/** @type {any} */ error) => error?.code === 'bad-token';

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

/**
 * What one id adds to the text.
 * @param {any} api
 * @param {number[]} ids
 * @param {number} i  its place
 * @param {Set<number>} strange  places of ids that the tokenizer does not know
 */
async function addedBy(api, ids, i, strange) {
  const from = Math.max(0, i - BEFORE);
  const whole = (/** @type {number} */ to) => {
    const known = ids.slice(from, to).filter((_, k) => !strange.has(from + k));
    return api.decode(known).then((/** @type {string} */ text) => text.replace(/\uFFFD+$/, ''));
  };
  const [before, text] = await Promise.all([i ? whole(i) : '', whole(i + 1)]);
  return text.slice(before.length);
}

/**
 * What each id adds to the text, characters cut between tokens credited to the one that completes them.
 * @param {Runtime} runtime
 * @param {number[]} ids
 */
export async function textsOf(runtime, ids) {
  const api = runtime.model();
  /** @type {Set<number>} */
  const strange = new Set();
  const all = () => Promise.all(ids.map((_, i) => addedBy(api, ids, i, strange)));
  try {
    return await all().catch(async (error) => {
      if (!unknown(error)) throw error;
      const checked = ids.map((id) => api.decode([id]).then(() => false, unknown));
      (await Promise.all(checked)).forEach((isStrange, i) => isStrange && strange.add(i));
      return await all();
    });
  } catch (error) {
    if (!wordless(error)) throw error;
    const { model } = runtime.state.run;
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
    { model } = state.run;
  const missing = ids.filter((id) => !words.has(id));
  if (!missing.length || !model) return;
  try {
    const anchor = (await model.api.encode('a', { addSpecialTokens: false })).slice(-1);
    const alone = await model.api.decode(anchor);
    const found = await Promise.all(
      missing.map((id) =>
        model.api.decode([...anchor, id]).catch((/** @type {unknown} */ error) => {
          if (unknown(error)) return `${alone}[${id}]`;
          throw error;
        }),
      ),
    );
    missing.forEach((id, i) => words.set(id, found[i].slice(alone.length)));
    if (state.text.words === words) set({ text: { words } });
  } catch (error) {
    for (const id of missing) words.set(id, '');
    if (state.text.words !== words) return; // the model has gone
    if (!wordless(error)) fail(error);
    set({ text: { words } });
  }
}
