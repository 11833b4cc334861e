// panels/break.js - the same weights without one of the ideas that hold the model up: what each is worth, on this text.
//
// The engine is asked for a second model from the same file with a switch of its configuration turned; the one in hand
// is not touched.

import { load } from '../../lib/index.js';
import { el } from '../dom.js';
import { figures } from '../format.js';

const MOST = 120;
const AHEAD = 24;
const SWITCHES = /** @type {[string, string, string][]} */ ([
  ['causal', 'without the mask', 'every token sees the ones after it, which it never did in training'],
  ['scaleScores', 'without ÷ √d', 'scores are as large as the products, and the softmax nearly picks one key'],
  ['usePosition', 'without positions', 'the text becomes a bag of words'],
  ['useResidual', 'without the stream', 'each half block hands on only what it made itself'],
  ['useNorm', 'without norms in the blocks', 'vectors keep the size they have grown to'],
  ['useFinalNorm', 'without the final norm', 'the head reads the stream at its full length'],
]);

/** @param {HTMLElement} root @param {import('../store.js').Store} store @param {import('../run.js').Run} run */
export function create(root, store, run) {
  const { state } = store;
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', el('small', {}, 'the same weights without one of the ideas that hold them up'));
  const go = el('button', { type: 'button', onclick: () => work() }, 'Break it, one idea at a time');
  const progress = el('progress', { 'aria-label': 'Broken models tried', hidden: true, max: SWITCHES.length + 1 });
  const body = el('tbody');
  const table = el('table', { class: 'broken', hidden: true }, el('caption', { class: 'hidden' }, 'Loss and continuation with one switch off'), el('thead', {}, el('tr', {},
    el('th', { scope: 'col' }, 'Model'), el('th', { scope: 'col', class: 'n' }, 'bits a token'), el('th', { scope: 'col' }, 'The prompt goes on, greedily'))), body);
  root.append(el('div', { class: 'buttons' }, go, progress), el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Broken models' }, table));

  let job = new AbortController();

  async function work() {
    job.abort();
    const mine = (job = new AbortController());
    const ids = state.tokens.slice(0, MOST).map((t) => t.id);
    if (ids.length < 2 || !state.model) return;
    const given = ids.slice(0, Math.max(1, state.tokens.filter((t) => t.given).length));
    body.replaceChildren();
    table.hidden = progress.hidden = false;
    progress.value = 0;
    try {
      const line = async (name, why, api) => {
        const { mean } = await run.lossOf(ids, [], mine.signal, api);
        const steps = await run.continuation(given, [], AHEAD, mine.signal, api);
        if (mine !== job) return;
        body.append(el('tr', {}, el('th', { scope: 'row' }, name, el('span', { class: 'why' }, why)), el('td', { class: 'n' }, figures(mean)), el('td', { class: 'story' }, steps.map((s) => s.text).join('').trim() || '(it ends at once)')));
        progress.value++;
      };
      await line('as it is', 'for comparison', undefined);
      for (const [name, title, why] of SWITCHES) {
        if (name === 'usePosition' && state.model.config.position === 'none') continue;
        const api = await load(state.model.source, /** @type {any} */ ({ switches: { [name]: false }, signal: mine.signal }));
        try {
          await line(title, why, api);
        } finally {
          api.dispose();
        }
        if (mine !== job) return;
      }
    } catch (error) {
      if (!mine.signal.aborted) store.set({ error: error instanceof Error ? error.message : String(error) });
    } finally {
      if (mine === job) progress.hidden = true;
    }
  }

  // The engine says by itself whether it knows switches; bytes that are no model cost nothing to refuse.
  let known = null;
  const ask = () => (known ??= load(new Uint8Array(8), /** @type {any} */ ({ switches: {} })).then(() => true, (error) => error.code !== 'bad-option'));
  store.watch(['model'], async ({ model }) => {
    job.abort();
    table.hidden = progress.hidden = true;
    body.replaceChildren();
    root.hidden = true;
    if (model?.source && model.config.kind === 'decoder' && await ask()) root.hidden = state.model !== model;
  });
}
