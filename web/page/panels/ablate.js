// panels/ablate.js - switch heads and FFNs off and see what becomes of the text: its loss, what comes next, how it goes
// on.
//
// Every answer compares two runs over the same tokens, one untouched. The text above is never changed.

import { el } from '../dom.js';
import { far, figures, label, percent } from '../text/format.js';
import { editsOf, headKey, partOf } from '../state/switches.js';
import { distribution } from '../state/sampler.js';

const MOST = 160; // tokens of the text that are scored
const AHEAD = 32; // tokens of the continuations
const ABOUT = 'the same text with parts of the model off, beside the untouched run';
const PLAIN = { temperature: 1, topK: 0, topP: 1 };

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const { state } = store;
  const about = el('small', {}, ABOUT);
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', about);
  const grid = el('div', { class: 'switches', role: 'group', 'aria-label': 'Parts of the model' });
  const measure = el('button', { type: 'button', onclick: () => sweep() }, 'Measure every part');
  const reset = el('button', { type: 'button', class: 'quiet', onclick: () => set([]) }, 'All on');
  const progress = el('progress', { 'aria-label': 'Parts measured', hidden: true });
  const scale = el('p', { class: 'hint' });
  const rows = el('p', { class: 'hint' });
  const neurons = el('div', { class: 'neurons', role: 'group', 'aria-label': 'Neurons that are off' });
  const result = el('div', { class: 'compare' });
  const split = el(
    'div',
    { class: 'ablate-split' },
    el('div', {}, grid, rows, el('div', { class: 'buttons' }, measure, reset, progress), neurons, scale),
    result,
  );
  root.append(split);

  /** @type {(import('../state/switches.js').Part & { button: HTMLElement })[]} */
  let parts = [];
  let of = null;
  /** bits per token that each part's absence costs, once measured */
  let costs = new Map();
  let costsOf = '';
  let job = new AbortController(); // of the comparison
  let sweeping = new AbortController();

  const off = () => state.off;
  const set = (/** @type {string[]} */ keys) => store.set({ off: keys });

  function build(model) {
    of = model.config;
    sweeping.abort();
    costs = new Map();
    parts = [];
    const { kind, nLayers, nEncoderLayers, nHeads } = model.config;
    grid.style.setProperty('--columns', String(nHeads));
    const mark = (/** @type {string} */ text) => el('span', { class: 'row-label', 'aria-hidden': 'true' }, text);
    const cells = [el('span'), ...Array.from({ length: nHeads }, (_, h) => mark(String(h))), mark('FFN')];
    const add = (/** @type {string} */ key) => {
      const { name, edit } = /** @type {import('../state/switches.js').Part} */ (partOf(model.config, key));
      const button = el(
        'button',
        {
          type: 'button',
          'aria-pressed': 'false',
          onclick: () => set(off().includes(key) ? off().filter((k) => k !== key) : [...off(), key]),
        },
        el('span', { class: 'hidden' }, name),
      );
      parts.push({ key, name, edit, button });
      cells.push(button);
    };
    const row = (
      /** @type {string} */ name,
      /** @type {import('../state/patterns.js').Stack} */ stack,
      /** @type {number} */ layer,
    ) => {
      cells.push(mark(name));
      for (let head = 0; head < nHeads; head++) add(headKey(stack, layer, head));
      if (stack === 'cross') cells.push(el('span'));
      else add(`${stack === 'encoder' ? 'e' : ''}${layer}.ffn`);
    };
    const two = kind === 'encoder_decoder';
    if (two) for (let layer = 0; layer < nEncoderLayers; layer++) row(`E${layer}`, 'encoder', layer);
    for (let layer = 0; layer < nLayers; layer++) {
      row(`L${layer}`, 'self', layer);
      if (two) row('↔', 'cross', layer);
    }
    rows.textContent = two
      ? 'E: layers of the encoder, L: of the decoder, ↔: its heads across, which read what the encoder made.'
      : '';
    rows.hidden = !two;
    const mute = kind === 'encoder';
    about.textContent = mute ? 'an encoder predicts no token, so there is no loss to compare' : ABOUT;
    split.hidden = mute;
    grid.replaceChildren(...cells);
  }

  const named = (/** @type {string} */ key) => partOf(state.model?.config, key);
  async function sweep() {
    sweeping.abort();
    const mine = (sweeping = new AbortController());
    const ids = state.tokens.slice(0, MOST).map((t) => t.id);
    if (ids.length < 2 || state.model?.config.kind === 'encoder') return;
    progress.hidden = false;
    progress.max = parts.length;
    progress.value = 0;
    costs = new Map();
    const key = (costsOf = run.textKey());
    try {
      const base = await run.lossOf(ids, [], mine.signal);
      for (const part of parts) {
        const { mean } = await run.lossOf(ids, [part.edit], mine.signal);
        if (mine.signal.aborted || key !== run.textKey()) return;
        costs.set(part.key, mean - base.mean);
        progress.value = costs.size;
        paintSwitches();
      }
    } catch (error) {
      if (!mine.signal.aborted && key === run.textKey())
        store.set({ error: error instanceof Error ? error.message : String(error) });
    } finally {
      if (mine === sweeping) progress.hidden = true;
    }
  }

  let listed = '';
  /** Those that are off, each with a button that goes away when it is pressed: the next one has the focus then. */
  function paintNeurons() {
    const list = off()
      .filter((k) => /\.n/.test(k))
      .map(named)
      .filter((p) => p !== undefined);
    const names = list.map((p) => p.name).join('; ');
    if (names === listed) return;
    listed = names;
    const at = [...neurons.children].indexOf(/** @type {any} */ (document.activeElement));
    neurons.replaceChildren(
      ...list.map(({ key, name }) =>
        el(
          'button',
          { type: 'button', 'aria-pressed': 'true', onclick: () => set(off().filter((k) => k !== key)) },
          `${name}, off`,
        ),
      ),
    );
    if (at >= 0) (neurons.children[Math.min(at, list.length - 1)] ?? reset).focus();
  }

  function paintSwitches() {
    paintNeurons();
    const most = Math.max(0.05, ...costs.values());
    for (const { key, name, button } of parts) {
      const isOff = off().includes(key);
      const cost = costs.get(key);
      button.setAttribute('aria-pressed', String(isOff));
      button.style.setProperty('--cost', cost === undefined ? '0' : String(Math.sqrt(Math.max(0, cost) / most)));
      const words =
        cost === undefined ? name : `${name}: ${cost >= 0 ? '+' : '−'}${far(Math.abs(cost))} bits a token when off`;
      button.title = words;
      /** @type {HTMLElement} */ (button.firstElementChild).textContent = `${words}${isOff ? ', off' : ''}`;
    }
    if (!costs.size) {
      scale.textContent = 'Press a square to switch that part off. Measuring switches each off by itself.';
    } else {
      const [key, worst] = [...costs].sort((a, b) => b[1] - a[1])[0];
      scale.textContent = `The stronger the colour, the dearer: ${parts.find((p) => p.key === key)?.name} costs most, ${far(worst)} bits a token.`;
    }
  }

  async function compare() {
    job.abort();
    const mine = (job = new AbortController());
    const tokens = state.tokens.slice(0, MOST);
    const ids = tokens.map((t) => t.id);
    const keys = [...off()];
    const key = run.textKey();
    if (!keys.length || ids.length < 2)
      return result.replaceChildren(
        el(
          'p',
          { class: 'hint' },
          keys.length
            ? 'The text is too short to compare.'
            : 'Everything is on. What is switched off will be compared here with the untouched run.',
        ),
      );
    const edits = editsOf(state.model?.config, keys);
    const given = Math.max(1, tokens.filter((t) => t.given).length);
    try {
      const [whole, cut] = [await run.lossOf(ids, [], mine.signal), await run.lossOf(ids, edits, mine.signal)];
      const [wholeText, cutText] = [
        await run.continuation(ids.slice(0, given), [], AHEAD, mine.signal),
        await run.continuation(ids.slice(0, given), edits, AHEAD, mine.signal),
      ];
      if (mine !== job || key !== run.textKey()) return;
      const top = (/** @type {Float32Array} */ logits) => distribution(logits, PLAIN, 5).candidates;
      await run.spell([...top(whole.last), ...top(cut.last)].map((c) => c.id));
      if (mine === job && key === run.textKey()) show({ whole, cut, wholeText, cutText, tokens, keys, top });
    } catch (error) {
      if (!mine.signal.aborted && key === run.textKey())
        store.set({ error: error instanceof Error ? error.message : String(error) });
    }
  }

  function show(/** @type {any} */ { whole, cut, wholeText, cutText, tokens, keys, top }) {
    const parting = wholeText.findIndex((s, i) => s.id !== cutText[i]?.id);
    const text = (steps) =>
      el(
        'p',
        { class: 'story' },
        ...steps.map((s, i) => el('span', { class: i === parting ? 'changed' : null }, s.text)),
      );
    const bars = (logits) =>
      el(
        'ol',
        { class: 'small-bars' },
        ...top(logits).map((c) => {
          const bar = el('i');
          bar.style.inlineSize = `${100 * c.model}%`;
          return el(
            'li',
            {},
            el('span', { class: 'w' }, label({ id: c.id, text: state.words.get(c.id) ?? '' })),
            el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
            el('span', { class: 'num' }, percent(c.model)),
          );
        }),
      );
    const worst = cut.bits
      .map((b, i) => [b - whole.bits[i], i + 1])
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3)
      .filter(([d]) => d > 0.1);
    const column = (name, run_, steps, note) =>
      el(
        'div',
        {},
        el('h3', {}, name),
        el('p', {}, el('span', { class: 'num' }, `${far(run_.mean)} bits a token`), note),
        el('h4', {}, 'The prompt goes on, greedily'),
        text(steps),
        el('h4', {}, 'After the whole text'),
        bars(run_.last),
      );
    const change = cut.mean - whole.mean;
    result.replaceChildren(
      column('Untouched', whole, wholeText, ''),
      column(
        `Without ${keys.length === 1 ? named(keys[0])?.name : `${keys.length} parts`}`,
        cut,
        cutText,
        `, ${change >= 0 ? '+' : '−'}${far(Math.abs(change))}`,
      ),
      el(
        'p',
        { class: 'hint whole-line' },
        worst.length
          ? `Hardest hit: ${worst.map(([d, p]) => `“${label(tokens[p])}” (+${figures(d)} bits)`).join(', ')}.`
          : 'No token of the text became much harder to predict.',
      ),
    );
  }

  store.watch(['model'], ({ model }) => {
    if (model && of !== model.config) build(model);
  });
  store.watch(['model', 'off'], paintSwitches);
  store.watch(['model', 'off', 'status', 'tokens'], (s) => {
    if (!s.model || s.status === 'running' || s.model.config.kind === 'encoder') return;
    if (costsOf !== run.textKey()) {
      sweeping.abort();
      costs = new Map();
      paintSwitches();
    }
    void compare();
  });

  // Measured when it is first seen with a text at rest, so that the grid says something before it is touched.
  let seen = false;
  const maybe = () => {
    if (seen && state.status !== 'running' && state.tokens.length > 8 && !costs.size && !off().length) void sweep();
  };
  new IntersectionObserver(
    ([entry]) => {
      seen = entry.isIntersecting;
      maybe();
    },
    { threshold: 0.4 },
  ).observe(grid);
  /** @type {any} */
  let timer;
  store.watch(['status', 'tokens'], () => {
    clearTimeout(timer);
    timer = setTimeout(maybe, 600);
  });
}
