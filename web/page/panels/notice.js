// panels/notice.js - what is being loaded, what went wrong and what a visitor has to know, in the place where the page
// begins.

import { bytes } from '../text/format.js';
import { el } from '../dom.js';
import { nameOf } from '../state/models.js';

const PHASE = { download: 'Loading', compile: 'Preparing the engine for', load: 'Unpacking' };

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const text = el('label', { for: 'progress' });
  const bar = el('progress', { id: 'progress' });
  const loading = el('div', { class: 'loading', hidden: true }, text, bar);
  const words = el('p', { role: 'alert' });
  const close = el('button', { type: 'button', onclick: () => store.set({ error: '' }) }, 'Dismiss');
  const error = el('div', { class: 'error', hidden: true }, words, close);
  const told = el('p', { role: 'status' });
  const fetchIt = el(
    'button',
    {
      type: 'button',
      onclick: () => {
        const { address } = store.state.note;
        store.set({ note: { text: '', address: '' } });
        void run.loadModel(new URL(address), { name: nameOf(address), address });
      },
    },
    'Load that model',
  );
  const note = el(
    'div',
    { class: 'told', hidden: true },
    told,
    fetchIt,
    el('button', { type: 'button', onclick: () => store.set({ note: { text: '', address: '' } }) }, 'Dismiss'),
  );
  root.append(loading, error, note);

  store.watch(['note'], (s) => {
    note.hidden = !s.note.text;
    fetchIt.hidden = !s.note.address;
    told.textContent = s.note.text;
  });

  store.watch(['progress'], ({ progress: p }) => {
    loading.hidden = !p;
    if (!p) return;
    const of = p.total ? ` of ${bytes(p.total)}` : '';
    text.textContent = `${PHASE[p.phase] ?? 'Loading'} ${p.name}${p.loaded ? `, ${bytes(p.loaded)}${of}` : ''}`;
    if (p.total) {
      bar.max = p.total;
      bar.value = p.loaded;
    } else bar.removeAttribute('value');
  });

  store.watch(['error'], (s) => {
    error.hidden = !s.error;
    words.textContent =
      s.error &&
      `${s.error}${/[.!?]$/.test(s.error) ? '' : '.'}${s.model ? ` ${s.model.name} is still here and works.` : ''}`;
  });
}
