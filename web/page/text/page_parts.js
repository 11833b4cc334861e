// page_parts.js - parts that pages of the textbook share: where they are seen, and tests that a task was done

/** @typedef {import('../state/store/state.js').State} State */

export const changed =
  (/** @type {(s: State) => any} */ of) => (/** @type {State} */ now, /** @type {State} */ before) =>
    of(now) !== of(before);
export const otherPrompt = changed((s) => s.text.prompt);
export const otherToken = changed((s) => s.text.cursor);
export const otherHead = changed((s) => `${s.attention.head.layer}.${s.attention.head.head}`);
export const otherLayer = changed((s) => s.attention.head.layer);
export const otherModel = changed((s) => s.run.model);
export const switched = changed((s) => s.attention.off.join());
export const longer = (/** @type {State} */ now, /** @type {State} */ before) =>
  now.text.tokens.length > before.text.tokens.length;

/** @param {string} stage of the anatomy */
export const anatomy = (stage) => ({
  view: /** @type {const} */ ('inside'),
  at: '.anatomy',
  set: { view: { openStage: stage } },
});
/** @param {import('../state/store/store.js').Patch['attention']} attention */
export const matrix = (attention) => ({
  view: /** @type {const} */ ('inside'),
  at: '.attention',
  set: { view: { openStage: '' }, attention },
});
