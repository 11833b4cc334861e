// panels/break.js - the same weights without one of the ideas that hold the model up: what each is worth, on a fixed
// text of our own or on the text above.
//
// The engine is asked for a second model of the same weights with a switch of its configuration turned; the one in hand
// is not touched.

import { create as createModel, load } from 'glassformer';
import { el } from '../dom.js';
import { far } from '../text/format.js';

const MOST = 120;
const AHEAD = 24;
const FIXED = [
  'Anna had a little red boat.',
  ' She put it on the pond, and the wind carried it far away. A duck saw the boat and pushed it back with its beak. Anna laughed and said thank you. Then she gave the duck a piece of her bread, and they were friends.',
];
const SWITCHES = /** @type {[string, string, string][]} */ ([
  [
    'causal',
    'without the mask',
    'every token sees the ones after it, the one to be guessed too, which it never did in training',
  ],
  ['scaleScores', 'without ÷ √d', 'scores are as large as the products, and the softmax nearly picks one key'],
  ['usePosition', 'without positions', 'nothing but the mask tells one place from another'],
  ['useResidual', 'without the stream', 'each part of a block hands on only what it made itself'],
  ['useNorm', 'without norms in the blocks', 'vectors keep the size they have grown to'],
  ['useFinalNorm', 'without the final norm', 'the head reads the stream at its full length'],
]);

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const { state } = store;
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(
    ' ',
    el('small', {}, 'the same weights without one of the ideas that hold them up'),
  );
  const go = el('button', { type: 'button', onclick: () => work() }, 'Break it, one idea at a time');
  const text = el(
    'select',
    { id: 'break-text' },
    el('option', { value: 'fixed' }, 'a fixed text'),
    el('option', { value: 'own' }, 'the text above'),
  );
  const choice = el('span', { class: 'control' }, el('label', { for: 'break-text' }, 'on'), text);
  const progress = el('progress', { 'aria-label': 'Broken models tried', hidden: true });
  const on = el('p', { class: 'hint', role: 'status' });
  const body = el('tbody');
  const goesOn = el('th', { scope: 'col' });
  const table = el(
    'table',
    { class: 'broken', hidden: true },
    el('caption', { class: 'hidden' }, 'Loss and continuation with one switch off'),
    el(
      'thead',
      {},
      el('tr', {}, el('th', { scope: 'col' }, 'Model'), el('th', { scope: 'col', class: 'n' }, 'bits a token'), goesOn),
    ),
    body,
  );
  const tools = el('div', { class: 'buttons' }, go, choice, progress);
  root.append(
    tools,
    on,
    el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Broken models' }, table),
  );

  let job = new AbortController();
  let shown = ''; // the text above that was tried, '' where it was the fixed one
  const reading = () => state.model?.config.kind === 'encoder_decoder';
  const fixed = () => text.value === 'fixed' && !reading();

  /** What is scored, and its beginning, which goes on. */
  async function texts() {
    const most = Math.min(MOST, state.model?.config.contextLength ?? MOST);
    if (fixed()) {
      const [ids, first] = [await run.idsOf(FIXED.join('')), await run.idsOf(FIXED[0])];
      return { ids: ids.slice(0, most), given: first.slice(0, most - 1) };
    }
    const ids = state.tokens.slice(0, most).map((t) => t.id);
    return { ids, given: ids.slice(0, Math.max(1, state.tokens.filter((t) => t.given).length)).slice(0, most - 1) };
  }

  async function work() {
    job.abort();
    const mine = (job = new AbortController());
    const { model } = state;
    if (!model) return;
    const { config, made, source } = model;
    if (!fixed() && state.status === 'running') {
      on.textContent = 'The text above is still being written: stop it, or wait for its end.';
      return;
    }
    shown = fixed() ? '' : run.textKey();
    body.replaceChildren();
    try {
      const { ids, given } = await texts();
      if (mine !== job) return;
      tell();
      if (ids.length < 2) {
        on.textContent = 'The text above is too short to be scored: let the model write some.';
        return;
      }
      const wanted = SWITCHES.filter(
        ([name]) =>
          (name !== 'usePosition' || config.position !== 'none') && (name !== 'useFinalNorm' || config.finalNorm),
      );
      goesOn.textContent = `${fixed() ? 'The first sentence' : 'The prompt'} goes on, greedily`;
      table.hidden = progress.hidden = false;
      progress.max = wanted.length + 1;
      progress.value = 0;
      const line = async (name, why, api) => {
        const { mean } = await run.lossOf(ids, [], mine.signal, api);
        const steps = await run.continuation(given, [], AHEAD, mine.signal, api);
        if (mine !== job) return;
        body.append(
          el(
            'tr',
            {},
            el('th', { scope: 'row' }, name, el('span', { class: 'why' }, why)),
            el('td', { class: 'n' }, far(mean)),
            el(
              'td',
              { class: 'story' },
              steps
                .map((s) => s.text)
                .join('')
                .trim() || '(no text)',
            ),
          ),
        );
        progress.value++;
      };
      await line('as it is', 'for comparison', undefined);
      for (const [name, title, why] of wanted) {
        const api = await (made
          ? createModel({ ...made.config, [name]: false }, { seed: made.seed, signal: mine.signal })
          : load(source, { switches: { [name]: false }, signal: mine.signal }));
        try {
          await line(title, why, api);
        } finally {
          api.dispose();
        }
        if (mine !== job) return;
      }
    } catch (error) {
      if (!mine.signal.aborted && state.model === model)
        store.set({ error: error instanceof Error ? error.message : String(error) });
    } finally {
      if (mine === job) progress.hidden = true;
    }
  }

  function tell() {
    const { kind } = state.model?.config ?? {};
    tools.hidden = kind === 'encoder';
    choice.hidden = reading();
    on.textContent =
      kind === 'encoder'
        ? 'An encoder predicts no token: there is no loss by which to tell what an idea was worth.'
        : reading()
          ? 'A model that reads one text and writes another is tried on the two above.'
          : `${fixed() ? `The fixed text: “${FIXED.join('')}”` : 'What is above: its prompt and what was written.'}${state.model?.made ? ' With random weights no idea is worth anything yet.' : ''}`;
  }
  function reset() {
    job.abort();
    shown = '';
    table.hidden = progress.hidden = true;
    body.replaceChildren();
    tell();
  }
  text.addEventListener('change', reset);
  store.watch(['model'], ({ model }) => {
    root.hidden = !model;
    reset();
  });
  store.watch(['tokens', 'sourceTokens'], () => {
    if (shown && shown !== run.textKey()) reset();
  });
}
