// panels/ablate.js - switch heads and FFNs off and see what becomes of the text: its loss, what comes next, how it goes on.
//
// Every answer compares two runs over the same tokens, one untouched. The text above is never changed.

import { el } from '../dom.js';
import { figures, label, percent } from '../format.js';
import { blockPoint } from '../run.js';
import { distribution } from '../sampler.js';

const MOST = 160;    // tokens of the text that are scored
const AHEAD = 32;    // tokens of the continuations
const PLAIN = { temperature: 1, topK: 0, topP: 1 };

/** @param {HTMLElement} root @param {import('../store.js').Store} store @param {import('../run.js').Run} run */
export function create(root, store, run) {
  const { state } = store;
  const about = el('small', {}, 'the same text with parts of the model off, beside the untouched run');
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', about);
  const grid = el('div', { class: 'switches', role: 'group', 'aria-label': 'Parts of the model' });
  const measure = el('button', { type: 'button', onclick: () => sweep() }, 'Measure every part');
  const reset = el('button', { type: 'button', class: 'quiet', onclick: () => set([]) }, 'All on');
  const progress = el('progress', { 'aria-label': 'Parts measured', hidden: true });
  const scale = el('p', { class: 'hint' });
  const neurons = el('div', { class: 'neurons', role: 'group', 'aria-label': 'Neurons that are off' });
  const result = el('div', { class: 'compare' });
  root.append(el('div', { class: 'ablate-split' },
    el('div', {}, grid, el('div', { class: 'buttons' }, measure, reset, progress), neurons, scale), result));

  /** @type {{ key: string, name: string, edit: any, button: HTMLElement }[]} */
  let parts = [];
  let of = null;
  /** bits per token that each part's absence costs, once measured */
  let costs = new Map();
  let costsOf = '';
  let job = new AbortController();    // of the comparison
  let sweeping = new AbortController();

  const off = () => state.off;
  const set = (/** @type {string[]} */ keys) => store.set({ off: keys });

  function build(model) {
    of = model.config;
    costs = new Map();
    parts = [];
    const { nLayers, nHeads } = model.config;
    grid.style.setProperty('--columns', String(nHeads));
    const cells = [];
    cells.push(el('span'), ...Array.from({ length: nHeads }, (_, h) => el('span', { class: 'row-label', 'aria-hidden': 'true' }, String(h))), el('span', { class: 'row-label', 'aria-hidden': 'true' }, 'FFN'));
    for (let layer = 0; layer < nLayers; layer++) {
      cells.push(el('span', { class: 'row-label', 'aria-hidden': 'true' }, `L${layer}`));
      const add = (key, name, edit) => {
        const button = el('button', { type: 'button', 'aria-pressed': 'false', onclick: () => set(off().includes(key) ? off().filter((k) => k !== key) : [...off(), key]) }, el('span', { class: 'hidden' }, name));
        parts.push({ key, name, edit, button });
        cells.push(button);
      };
      const block = blockPoint(model.config, layer);
      for (let head = 0; head < nHeads; head++) add(`${layer}.${head}`, `layer ${layer}, head ${head}`, { at: `${block}.attn.hook_z`, head, scale: 0 });
      add(`${layer}.ffn`, `layer ${layer}, FFN`, { at: `${block}.hook_mlp_out`, scale: 0 });
    }
    grid.replaceChildren(...cells);
  }

  const idsNow = () => state.tokens.slice(0, MOST).map((t) => t.id);
  /** A part of the grid, or a neuron that was chosen in the picture of the pass. @param {string} key */
  function partOf(key) {
    const [, layer, index] = /^(\d+)\.n(\d+)$/.exec(key) ?? [];
    if (!layer) return parts.find((p) => p.key === key);
    const { config } = state.model;
    if (Number(layer) >= config.nLayers || Number(index) >= config.dFf) return undefined;
    return { key, name: `layer ${layer}, neuron ${index}`, edit: { at: `${blockPoint(config, Number(layer))}.mlp.hook_post`, index: Number(index), scale: 0 } };
  }
  const editsOf = (/** @type {string[]} */ keys) => keys.map(partOf).filter((p) => p !== undefined).map((p) => p.edit);

  async function sweep() {
    sweeping.abort();
    const mine = (sweeping = new AbortController());
    const ids = idsNow();
    if (ids.length < 2) return;
    progress.hidden = false;
    progress.max = parts.length;
    progress.value = 0;
    costs = new Map();
    costsOf = ids.join();
    try {
      const base = await run.lossOf(ids, [], mine.signal);
      for (const part of parts) {
        const { mean } = await run.lossOf(ids, [part.edit], mine.signal);
        if (mine !== sweeping) return;
        costs.set(part.key, mean - base.mean);
        progress.value = costs.size;
        paintSwitches();
      }
    } catch (error) {
      if (!mine.signal.aborted) store.set({ error: error instanceof Error ? error.message : String(error) });
    } finally {
      progress.hidden = true;
    }
  }

  function paintSwitches() {
    neurons.replaceChildren(...off().filter((k) => /n/.test(k) && !k.endsWith('ffn')).map(partOf).filter((p) => p !== undefined).map(({ key, name }) =>
      el('button', { type: 'button', 'aria-pressed': 'true', onclick: () => set(off().filter((k) => k !== key)) }, `${name}, off`)));
    const most = Math.max(0.05, ...costs.values());
    for (const { key, name, button } of parts) {
      const isOff = off().includes(key);
      const cost = costs.get(key);
      button.setAttribute('aria-pressed', String(isOff));
      button.style.setProperty('--cost', cost === undefined ? '0' : String(Math.sqrt(Math.max(0, cost) / most)));
      const words = cost === undefined ? name : `${name}: ${cost >= 0 ? '+' : '−'}${figures(Math.abs(cost))} bits a token when off`;
      button.title = words;
      /** @type {HTMLElement} */ (button.firstElementChild).textContent = `${words}${isOff ? ', off' : ''}`;
    }
    if (!costs.size) {
      scale.textContent = 'Press a square to switch that part off. Measuring switches each off by itself.';
    } else {
      const [key, worst] = [...costs].sort((a, b) => b[1] - a[1])[0];
      scale.textContent = `The stronger the colour, the dearer: ${parts.find((p) => p.key === key)?.name} costs most, ${figures(worst)} bits a token.`;
    }
  }

  async function compare() {
    job.abort();
    const mine = (job = new AbortController());
    const ids = idsNow();
    const keys = [...off()];
    if (!keys.length || ids.length < 2) return result.replaceChildren(el('p', { class: 'hint' }, keys.length ? 'The text is too short to compare.' : 'Everything is on. What is switched off will be compared here with the untouched run.'));
    const edits = editsOf(keys);
    const given = Math.max(1, state.tokens.filter((t) => t.given).length);
    try {
      const [whole, cut] = [await run.lossOf(ids, [], mine.signal), await run.lossOf(ids, edits, mine.signal)];
      const [wholeText, cutText] = [await run.continuation(ids.slice(0, given), [], AHEAD, mine.signal), await run.continuation(ids.slice(0, given), edits, AHEAD, mine.signal)];
      if (mine !== job) return;
      const top = (/** @type {Float32Array} */ logits) => distribution(logits, PLAIN, 5).candidates;
      await run.spell([...top(whole.last), ...top(cut.last)].map((c) => c.id));
      if (mine === job) show({ whole, cut, wholeText, cutText, ids, keys, top });
    } catch (error) {
      if (!mine.signal.aborted) store.set({ error: error instanceof Error ? error.message : String(error) });
    }
  }

  function show(/** @type {any} */ { whole, cut, wholeText, cutText, keys, top }) {
    const parting = wholeText.findIndex((s, i) => s.id !== cutText[i]?.id);
    const text = (steps) => el('p', { class: 'story' }, ...steps.map((s, i) => el('span', { class: i === parting ? 'changed' : null }, s.text)));
    const bars = (logits) => el('ol', { class: 'small-bars' }, ...top(logits).map((c) => {
      const bar = el('i');
      bar.style.inlineSize = `${100 * c.model}%`;
      return el('li', {}, el('span', { class: 'w' }, label({ id: c.id, text: state.words.get(c.id) ?? '' })), el('span', { class: 'track', 'aria-hidden': 'true' }, bar), el('span', { class: 'num' }, percent(c.model)));
    }));
    const worst = cut.bits.map((b, i) => [b - whole.bits[i], i + 1]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([d]) => d > 0.1);
    const column = (name, run_, steps, note) => el('div', {}, el('h3', {}, name),
      el('p', {}, el('span', { class: 'num' }, `${figures(run_.mean)} bits a token`), note),
      el('h4', {}, 'The prompt goes on, greedily'), text(steps), el('h4', {}, 'After the whole text'), bars(run_.last));
    const change = cut.mean - whole.mean;
    result.replaceChildren(
      column('Untouched', whole, wholeText, ''),
      column(`Without ${keys.length === 1 ? partOf(keys[0])?.name : `${keys.length} parts`}`, cut, cutText, `, ${change >= 0 ? '+' : '−'}${figures(Math.abs(change))}`),
      el('p', { class: 'hint whole-line' }, worst.length ? `Hardest hit: ${worst.map(([d, p]) => `“${label(state.tokens[p])}” (+${figures(d)} bits)`).join(', ')}.` : 'No token of the text became much harder to predict.'));
  }

  store.watch(['model'], ({ model }) => { if (model && of !== model.config) build(model); });
  store.watch(['model', 'off'], paintSwitches);
  store.watch(['model', 'off', 'status', 'tokens'], (s) => {
    if (!s.model || s.status === 'running') return;
    if (costs.size && costsOf !== idsNow().join()) {
      sweeping.abort();
      costs = new Map(); paintSwitches(); }
    void compare();
  });

  // Measured when it is first seen with a text at rest, so that the grid says something before it is touched.
  let seen = false;
  const maybe = () => {
    if (seen && state.status !== 'running' && state.tokens.length > 8 && !costs.size && !off().length) void sweep();
  };
  new IntersectionObserver(([entry]) => { seen = entry.isIntersecting; maybe(); }, { threshold: 0.4 }).observe(grid);
  /** @type {any} */
  let timer;
  store.watch(['status', 'tokens'], () => { clearTimeout(timer); timer = setTimeout(maybe, 600); });
}
