// panels/memory.js - linear memory drawn to scale, the cache filling as tokens come, predicted bytes beside real ones.

import { el } from '../dom.js';
import { bytes, int, percent } from '../format.js';

const KIND = /** @type {[RegExp, string][]} */ ([[/weight|model|tensor/i, 'weights'], [/kv|cache/i, 'kv'], [/scratch|activation|buffer|session|capture/i, 'scratch'], [/stack|data|code|static/i, 'base'], [/^free/i, 'free']]);

/** @param {HTMLElement} root @param {import('../store.js').Store} store @param {import('../run.js').Run} run */
export function create(root, store, run) {
  const total = el('small', { class: 'mono' });
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', total);
  const map = el('div', { class: 'map', role: 'img' });
  const legend = el('ul', { class: 'legend' });
  const table = el('tbody');
  root.append(map, legend, el('table', {}, el('caption', { class: 'hidden' }, 'Bytes predicted and real'),
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Bytes'), el('th', { scope: 'col', class: 'n' }, 'predicted'), el('th', { scope: 'col', class: 'n' }, 'real'))), table));

  /** Regions in order of address, the cache split into what is filled and what is free, gaps named. */
  function pieces({ memory, tokens }) {
    const list = [];
    const perToken = run.costAt(1).kvBytes;
    let end = 0;
    for (const r of [...memory.regions].sort((a, b) => a.start - b.start)) {
      if (r.start > end) list.push({ name: 'free', kind: 'free', bytes: r.start - end });
      const kind = KIND.find(([word]) => word.test(r.name))?.[1] ?? 'other';
      if (kind === 'kv') {
        const used = Math.min(r.bytes, perToken * tokens.length);
        list.push({ name: `${r.name}, ${tokens.length} tokens`, kind, bytes: used }, { name: `${r.name}, free`, kind: 'kv-free', bytes: r.bytes - used });
      } else list.push({ name: r.name, kind, bytes: r.bytes });
      end = Math.max(end, r.start + r.bytes);
    }
    if (memory.totalBytes > end) list.push({ name: 'free', kind: 'free', bytes: memory.totalBytes - end });
    return list.filter((p) => p.bytes > 0);
  }

  store.watch(['memory', 'tokens', 'model'], (s) => {
    if (!s.memory || !s.model) return;
    total.textContent = `${int(s.memory.totalBytes)} bytes`;
    const list = pieces(s);
    map.replaceChildren(...list.map((p) => {
      const d = el('div', { class: `piece ${p.kind}`, title: `${p.name}: ${int(p.bytes)} bytes` });
      d.style.flexGrow = String(p.bytes);
      return d;
    }));
    map.setAttribute('aria-label', `Linear memory to scale: ${list.map((p) => `${p.name} ${percent(p.bytes / s.memory.totalBytes)}`).join(', ')}`);
    legend.replaceChildren(...list.map((p) => el('li', {}, el('i', { class: p.kind, 'aria-hidden': 'true' }), `${p.name} `, el('span', { class: 'num' }, bytes(p.bytes)))));

    const sum = (kind) => s.memory.regions.filter((r) => (KIND.find(([w]) => w.test(r.name))?.[1]) === kind).reduce((n, r) => n + r.bytes, 0);
    const cost = run.costAt(Math.max(1, s.tokens.length));
    const real = (n) => (n ? int(n) : 'not open');
    table.replaceChildren(
      row('Weights', int(s.model.parameters.bytes), real(sum('weights'))),
      row(`kv cache of ${s.tokens.length} tokens`, int(cost.kvBytes), real(sum('kv'))),
      row('All of it', '', int(s.memory.totalBytes)));
  }, 150);
}

const row = (name, ...cells) => el('tr', {}, el('th', { scope: 'row' }, name), ...cells.map((c) => el('td', { class: 'n' }, c)));
