// panels/notice.js - what is being loaded, and what went wrong, in the place where the page begins.

import { bytes } from '../format.js';
import { el } from '../dom.js';

const PHASE = { download: 'Loading', compile: 'Preparing the engine for', load: 'Unpacking' };

/** @param {HTMLElement} root @param {import('../store.js').Store} store */
export function create(root, store) {
  const text = el('label', { for: 'progress' });
  const bar = el('progress', { id: 'progress' });
  const loading = el('div', { class: 'loading', hidden: true }, text, bar);
  const words = el('p', { role: 'alert' });
  const close = el('button', { type: 'button', onclick: () => store.set({ error: '' }) }, 'Dismiss');
  const error = el('div', { class: 'error', hidden: true }, words, close);
  root.append(loading, error);

  store.watch(['progress'], ({ progress: p }) => {
    loading.hidden = !p;
    if (!p) return;
    const of = p.total ? ` of ${bytes(p.total)}` : '';
    text.textContent = `${PHASE[p.phase] ?? 'Loading'} ${p.name}${p.loaded ? `, ${bytes(p.loaded)}${of}` : ''}`;
    if (p.total) { bar.max = p.total; bar.value = p.loaded; } else bar.removeAttribute('value');
  });

  store.watch(['error'], (s) => {
    error.hidden = !s.error;
    words.textContent = s.error && `${s.error}${/[.!?]$/.test(s.error) ? '' : '.'}${s.model ? ` ${s.model.name} is still here and works.` : ''}`;
  });
}
