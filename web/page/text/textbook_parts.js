// textbook_parts.js - parts that pages of the textbook share: where they are seen, and things to do, each with a button
// that does it
import { headKey, toggled } from '../state/facts/switchable_parts.js';
import { shownAttention } from '../state/calls/shown_attention.js';
import { say } from '../state/base/language.js';

/**
 * @typedef {import('../state/store/state.js').State} State
 * @typedef {import('../state/store/context.js').PageContext} PageContext
 * @typedef {object} Task
 * @property {(now: State, before: State) => boolean} done  before: as the page was opened
 * @property {(s: State) => string} [label]  of the button that does it; where there is none, the page's prompt does it
 * @property {(context: PageContext) => any} [act]  what the button does
 * @property {string} [presses]  the control of a view that it presses
 */

const changed = (/** @type {(s: State) => any} */ of) => (/** @type {State} */ now, /** @type {State} */ before) =>
  of(now) !== of(before);
/** Another part of the chosen head's address. @param {'layer' | 'head'} which @returns {Task['act']} */
const onward =
  (which) =>
  ({ page, set }) => {
    const { head } = page.attention;
    const next = (head[which] + 1) % shownAttention(page)[/** @type {const} */ (`${which}s`)];
    set({ attention: { head: { ...head, [which]: next } } });
  };
const [COLD, HOT] = [0.2, 2];
const otherTemperature = (/** @type {State} */ { sampler }) => (sampler.temperature > 1 ? COLD : HOT);

/** @type {Task} */
export const OTHER_PROMPT = { done: changed((s) => s.text.prompt) };
/** @type {Task} */
export const OTHER_TOKEN = {
  label: () => say`Choose another token`,
  act: ({ page: { text }, set }) => {
    const cursor = (text.cursor > 0 ? text.cursor : text.tokens.length) - 1;
    set({ text: { cursor, follow: false }, attention: { key: null } });
  },
  done: changed((s) => s.text.cursor),
};
/** @type {Task} */
export const OTHER_HEAD = {
  label: () => say`Choose another head`,
  act: onward('head'),
  done: changed((s) => `${s.attention.head.layer}.${s.attention.head.head}`),
};
/** @type {Task} */
export const OTHER_LAYER = {
  label: () => say`Go to the next layer`,
  act: onward('layer'),
  done: changed((s) => s.attention.head.layer),
};
/** @type {Task} */
export const SCALED = {
  label: (s) => (s.attention.form === 'scaled' ? say`Show q · k` : say`Show the scaled scores`),
  act: ({ page, set }) => set({ attention: { form: page.attention.form === 'scaled' ? 'raw' : 'scaled' } }),
  done: (now) => now.attention.form === 'scaled',
};
/** @type {Task} */
export const CELL = {
  label: () => say`Select a cell`,
  act: ({ page: { text, attention }, set }) =>
    set({ attention: { key: attention.key ? attention.key - 1 : Math.max(0, text.cursor) } }),
  done: changed((s) => s.attention.key),
};
/** @type {Task} */
export const TEMPERATURE = {
  label: (s) => say`Set the temperature to ${otherTemperature(s)}`,
  act: ({ page, calls }) => calls.setSampler({ temperature: otherTemperature(page) }),
  done: changed((s) => s.sampler.temperature),
};
/** @type {Task} */
export const LONGER = {
  label: () => say`Write one more token`,
  act: ({ calls }) => calls.step(),
  done: (now, before) => now.text.tokens.length > before.text.tokens.length,
};
/** @type {Task} */
export const OTHER_MODEL = {
  label: () => say`Choose another model`,
  act: ({ go }) => go('models'),
  done: changed((s) => s.engine.model),
};
/** @type {Task} */
export const TRAINED = { ...OTHER_MODEL, label: () => say`Train on the text`, presses: '.train-choice .primary' };
/** @type {Task} */
export const SWITCHED = {
  label: () => say`Switch the chosen head off or on`,
  act: ({ page, set, calls }) => {
    const { attention } = page;
    const { layer, head } = attention.head;
    if (page.engine.status === 'running') calls.stop(); // what is measured is a text at rest
    set({ attention: { off: toggled(attention.off, headKey(attention.stack, layer, head)) } });
  },
  done: changed((s) => s.attention.off.join()),
};

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
