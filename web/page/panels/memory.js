// panels/memory.js - linear memory drawn to scale, the cache filling as tokens come, predicted bytes beside real ones.

import { el } from '../dom.js';
import { bytes, int, percent } from '../format.js';

/**
 * The regions that the library's map names, in order of address, one behind the other.
 * @type {Record<string, string>}
 */
const KIND = { 'constants and stack': 'base', weights: 'weights', 'kv cache': 'kv', scratch: 'scratch', free: 'free' };

/**
 * @param {HTMLElement} root
 * @param {import('../store.js').Store} store
 * @param {import('../run.js').Run} run
 */
export function create(root, store, run) {
  const total = el('small', { class: 'mono' });
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', total);
  const map = el('div', { class: 'map', role: 'img' });
  const legend = el('ul', { class: 'legend' });
  const table = el('tbody');
  root.append(
    map,
    legend,
    el(
      'table',
      {},
      el('caption', { class: 'hidden' }, 'Bytes predicted and real'),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'col' }, 'Bytes'),
          el('th', { scope: 'col', class: 'n' }, 'predicted'),
          el('th', { scope: 'col', class: 'n' }, 'real'),
        ),
      ),
      table,
    ),
  );

  /**
   * Positions whose keys and values are kept: of the text, and across to the source, in half of the layers' attentions
   * each.
   */
  function cached({ model, tokens, sourceTokens }) {
    const two = model.config.kind === 'encoder_decoder';
    const n = two ? (tokens.length + sourceTokens.length) / 2 : tokens.length;
    return {
      bytes: n * run.costAt(1).kvBytes,
      words: `${tokens.length} tokens${two ? ` and ${sourceTokens.length} of the source` : ''}`,
    };
  }

  /** The regions, the cache split into what is filled and what is free. */
  function pieces(s) {
    const { bytes: filled, words } = cached(s);
    return s.memory.regions
      .flatMap((r) => {
        const kind = KIND[r.name];
        if (kind !== 'kv') return [{ name: r.name, kind, bytes: r.bytes }];
        const used = Math.min(r.bytes, filled);
        return [
          { name: `${r.name}, ${words}`, kind, bytes: used },
          { name: `${r.name}, free`, kind: 'kv-free', bytes: r.bytes - used },
        ];
      })
      .filter((p) => p.bytes > 0);
  }

  store.watch(
    ['memory', 'tokens', 'sourceTokens', 'model'],
    (s) => {
      if (!s.memory || !s.model) return;
      total.textContent = `${int(s.memory.totalBytes)} bytes`;
      const list = pieces(s);
      map.replaceChildren(
        ...list.map((p) => {
          const d = el('div', { class: `piece ${p.kind}`, title: `${p.name}: ${int(p.bytes)} bytes` });
          d.style.flexGrow = String(p.bytes);
          return d;
        }),
      );
      map.setAttribute(
        'aria-label',
        `Linear memory to scale: ${list.map((p) => `${p.name} ${percent(p.bytes / s.memory.totalBytes)}`).join(', ')}`,
      );
      legend.replaceChildren(
        ...list.map((p) =>
          el(
            'li',
            {},
            el('i', { class: p.kind, 'aria-hidden': 'true' }),
            `${p.name} `,
            el('span', { class: 'num' }, bytes(p.bytes)),
          ),
        ),
      );

      const sizeOf = (/** @type {string} */ name) =>
        s.memory.regions.find((/** @type {{ name: string }} */ r) => r.name === name).bytes;
      const { bytes: kv, words } = cached(s);
      const real = (n) => (n ? int(n) : 'not open');
      table.replaceChildren(
        row('Weights', int(s.model.parameters.bytes), real(sizeOf('weights'))),
        row(`kv cache of ${words}`, int(kv), real(sizeOf('kv cache'))),
        row('All of it', '', int(s.memory.totalBytes)),
      );
    },
    { every: 150 },
  );
}

const row = (name, ...cells) =>
  el('tr', {}, el('th', { scope: 'row' }, name), ...cells.map((c) => el('td', { class: 'n' }, c)));
