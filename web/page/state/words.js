// words.js - text into ids and ids into text, for models with a tokenizer and without.

const BEFORE = 8; // tokens that one is decoded after: of bytes, enough to hold a whole character wherever they begin

const wordless = (/** @type {any} */ error) => error?.code === 'no-tokenizer';
/** An output of some models has more rows than their tokenizer has tokens. */
const unknown = (/** @type {any} */ error) => error?.code === 'bad-token';

/**
 * @param {import('./store.js').Store} store
 * @param {(error: unknown) => void} fail
 */
export function createWords(store, fail) {
  const { state, set } = store;
  const model = () => state.model?.api;

  /**
   * A model without a tokenizer is prompted in numbers.
   * @param {string} prompt
   * @param {{ addSpecialTokens?: boolean }} [options]
   */
  async function idsOf(prompt, options) {
    try {
      return await model().encode(prompt, options);
    } catch (error) {
      const { model: of } = state;
      if (!wordless(error) || !of) throw error;
      of.wordless = true;
      if (/^[\d\s,]+$/.test(prompt))
        return prompt
          .split(/[\s,]+/)
          .filter(Boolean)
          .map(Number);
      // it has no words: bytes of the text stand in for ids, as far as its vocabulary goes
      const size = of.config.vocabSize;
      return Array.from(new TextEncoder().encode(prompt), (b) => b % size);
    }
  }

  /** What each id adds to the text, characters cut between tokens credited to the one that completes them. */
  async function textsOf(/** @type {number[]} */ ids) {
    const api = model();
    /** @type {Set<number>} places of ids that the tokenizer does not know */
    const strange = new Set();
    const added = async (/** @type {number} */ i) => {
      const whole = (/** @type {number} */ to) => {
        const known = ids.slice(from, to).filter((_, k) => !strange.has(from + k));
        return api.decode(known).then((/** @type {string} */ text) => text.replace(/\uFFFD+$/, ''));
      };
      const from = Math.max(0, i - BEFORE);
      const [before, text] = await Promise.all([i ? whole(i) : '', whole(i + 1)]);
      return text.slice(before.length);
    };
    const all = () => Promise.all(ids.map((_, i) => added(i)));
    try {
      return await all().catch(async (error) => {
        if (!unknown(error)) throw error;
        const checked = ids.map((id) => api.decode([id]).then(() => false, unknown));
        (await Promise.all(checked)).forEach((isStrange, i) => isStrange && strange.add(i));
        return await all();
      });
    } catch (error) {
      if (!wordless(error)) throw error;
      if (state.model && state.model.api === api) state.model.wordless = true;
      return ids.map(() => '');
    }
  }

  let spelling = Promise.resolve();

  /** Learn these ids' texts as they stand inside a sentence, with the blank in front if they bring one: one after the other, so that
   * whoever asks for one that is on its way has it in the end. @param {number[]} ids */
  function spell(ids) {
    return (spelling = spelling.then(() => learn(ids)));
  }
  async function learn(ids) {
    const { words, model: of } = state;
    const missing = ids.filter((id) => !words.has(id));
    if (!missing.length || !of) return;
    for (const id of missing) words.set(id, '…'); // asked for
    try {
      const anchor = (await of.api.encode('a', { addSpecialTokens: false })).slice(-1);
      const alone = await of.api.decode(anchor);
      const found = await Promise.all(
        missing.map((id) =>
          of.api.decode([...anchor, id]).catch((/** @type {unknown} */ error) => {
            if (unknown(error)) return `${alone}[${id}]`;
            throw error;
          }),
        ),
      );
      missing.forEach((id, i) => words.set(id, found[i].slice(alone.length)));
      if (state.words === words) set({ words });
    } catch (error) {
      for (const id of missing) words.set(id, '');
      if (state.words !== words) return; // the model has gone
      if (!wordless(error)) fail(error);
      set({ words });
    }
  }

  return { idsOf, textsOf, spell };
}
