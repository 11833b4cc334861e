// panels/cost.js - what one more token costs here: operations, bytes and time, the rule of thumb beside the exact
// figure.

import { el } from '../dom.js';
import { bytes, int, percent, si, time } from '../text/format.js';

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const at = el('small');
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', at);
  const body = el('tbody');
  root.append(el('table', {}, el('caption', { class: 'hidden' }, 'Cost of one token'), body));
  const later = el('tbody');
  root.append(
    el('h3', {}, 'As the text grows'),
    el(
      'table',
      {},
      el('caption', { class: 'hidden' }, 'Predicted cost of a token by position'),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'col' }, 'Position'),
          el('th', { scope: 'col', class: 'n' }, 'FLOPs'),
          el('th', { scope: 'col', class: 'n' }, 'of them attention'),
          el('th', { scope: 'col', class: 'n' }, 'kv cache'),
        ),
      ),
      later,
    ),
  );
  const row = (name, a, b) =>
    el('tr', {}, el('th', { scope: 'row' }, name), el('td', { class: 'n' }, a), el('td', { class: 'n' }, b));

  store.watch(['model'], ({ model }) => {
    if (!model) return;
    const most = model.config.contextLength;
    // without keys to look at
    const base = run.costAt(1).flopsPerToken - (run.costAt(2).flopsPerToken - run.costAt(1).flopsPerToken);
    const places = [
      ...new Set(
        [1, 16, 64, 256, 1024, 4096, 16384]
          .filter((p) => p < most)
          .slice(-4)
          .concat(most),
      ),
    ];
    later.replaceChildren(
      ...places.map((p) => {
        const cost = run.costAt(p);
        return el(
          'tr',
          {},
          el('th', { scope: 'row' }, p === most ? `${int(p)}, the end` : int(p)),
          el('td', { class: 'n' }, si(cost.flopsPerToken)),
          el('td', { class: 'n' }, percent((cost.flopsPerToken - base) / cost.flopsPerToken)),
          el('td', { class: 'n' }, bytes(cost.kvBytes)),
        );
      }),
    );
  });

  store.watch(
    ['model', 'tokens', 'speed'],
    (s) => {
      if (!s.model) return;
      const n = Math.max(1, s.tokens.length);
      const cost = run.costAt(n);
      const one = run.costAt(1);
      const read = s.model.parameters.bytes + cost.kvBytes;
      const ms = s.speed.msPerToken;
      at.textContent = `at position ${n}`;
      body.replaceChildren(
        row('FLOPs', `2N rule ${si(cost.flopsPerToken2N)}`, `exact ${si(cost.flopsPerToken)}`),
        row('kv cache', `${int(one.kvBytes)} B a token`, `${bytes(cost.kvBytes)} so far`),
        row('Bytes read', bytes(read), ms ? `${si(read / (ms / 1000), 'B/s')}` : 'not measured yet'),
        row(
          'Time',
          ms ? `${time(ms)} measured` : 'not measured yet',
          ms ? `${si(cost.flopsPerToken / (ms / 1000), 'FLOP/s')}` : '',
        ),
      );
    },
    { every: 150 },
  );
}
