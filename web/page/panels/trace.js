// panels/trace.js - one pass over the text, measured operation by operation: where the work is, and where the time
// goes.

import { el } from '../dom.js';
import { figures, si } from '../text/format.js';

const SMALL = 'Norms and sums';
/** What the operations of the engine are called here; those of one name make one row. @type {Record<string, string>} */
export const NAMES = {
  embed: 'Embedding',
  norm1: SMALL,
  'attn.qkv': 'q, k, v',
  'attn.rope': 'Rotation',
  'attn.attend': 'Scores, softmax, mix',
  'attn.o': 'Heads out',
  'attn.residual': SMALL,
  norm_cross: SMALL,
  'cross_attn.q': 'Across: q',
  'cross_attn.kv': 'Across: k, v',
  'cross_attn.attend': 'Across: scores, mix',
  'cross_attn.o': 'Across: heads out',
  'cross_attn.residual': SMALL,
  norm2: SMALL,
  'ffn.up': 'FFN, wider',
  'ffn.act': 'FFN, the bend',
  'ffn.down': 'FFN, back',
  'ffn.residual': SMALL,
  final_norm: 'Final norm',
  head: 'Head',
};
/** Browsers round their clocks to a tenth of a millisecond. */
const time = (/** @type {number} */ ms) =>
  ms < 0.05 ? '<0.1 ms' : ms < 10 ? `${ms.toFixed(1)} ms` : `${figures(ms)} ms`;

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const { state } = store;
  const about = el('small');
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', about);
  const body = el('tbody');
  const foot = el('tfoot');
  root.append(
    el(
      'table',
      {},
      el('caption', { class: 'hidden' }, 'Operations of one pass'),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'col' }, 'Operation, all layers'),
          el('th', { scope: 'col', class: 'n' }, 'FLOPs'),
          el('th', { scope: 'col', class: 'n' }, 'time'),
          el('th', { scope: 'col', class: 'share' }, 'Share of the time'),
        ),
      ),
      body,
      foot,
    ),
  );

  let seen = false;
  let shown = '';
  async function work() {
    if (!seen || !state.model || state.status === 'running' || !state.tokens.length) return;
    const key = run.textKey();
    if (shown === key) return;
    shown = key;
    const n = state.tokens.length;
    const rows = await run.trace().catch(() => []); // as when another model came meanwhile, which is asked next
    if (shown !== key) return;
    if (!rows.length) {
      about.textContent = '';
      body.replaceChildren();
      foot.replaceChildren();
      return;
    }
    const sums = new Map();
    for (const r of rows) {
      const sum = sums.get(NAMES[r.op]) ?? { flops: 0, ms: 0 };
      sums.set(NAMES[r.op], { flops: sum.flops + r.flops, ms: sum.ms + r.ms });
    }
    const total = rows.reduce((a, r) => ({ flops: a.flops + r.flops, ms: a.ms + r.ms }), { flops: 0, ms: 0 });
    about.textContent = `${n} tokens at once, by the engine’s own clock`;
    body.replaceChildren(
      ...[...sums].map(([name, { flops, ms }]) => {
        const bar = el('i');
        bar.style.inlineSize = `${(100 * ms) / (total.ms || 1)}%`;
        return el(
          'tr',
          {},
          el('th', { scope: 'row' }, name),
          el('td', { class: 'n' }, si(flops)),
          el('td', { class: 'n' }, time(ms)),
          el('td', { class: 'share' }, el('span', { class: 'track', 'aria-hidden': 'true' }, bar)),
        );
      }),
    );
    foot.replaceChildren(
      el(
        'tr',
        { class: 'total' },
        el('th', { scope: 'row' }, 'The pass'),
        el('td', { class: 'n' }, si(total.flops)),
        el('td', { class: 'n' }, time(total.ms)),
        el('td', { class: 'share num' }, total.ms ? si(total.flops / (total.ms / 1000), 'FLOP/s') : '–'),
      ),
    );
  }
  /** @type {any} */
  let timer;
  store.watch(['model', 'tokens', 'status'], () => {
    clearTimeout(timer);
    timer = setTimeout(() => void work(), 400);
  });
  new IntersectionObserver(([entry]) => {
    seen = entry.isIntersecting;
    if (seen) void work();
  }).observe(root);
}
