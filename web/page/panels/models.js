// panels/models.js - the dialog in which a model is chosen: shipped, from disk, or from an address.

import { el } from '../dom.js';
import { SHIPPED } from '../models.js';

/** @param {HTMLDialogElement} root @param {import('../store.js').Store} store @param {import('../run.js').Run} run */
export function create(root, store, run) {
  const shipped = el('ul', { class: 'shipped' }, ...SHIPPED.map((m) => el('li', {},
    el('button', { type: 'button', onclick: () => { root.close(); void run.loadModel(new URL(m.file, document.baseURI), { name: m.name, address: m.file }); } }, m.name),
    el('span', {}, m.about))));

  const files = el('input', { type: 'file', id: 'model-file', multiple: true, accept: '.gguf,.bin,.safetensors,.json' });
  files.addEventListener('change', () => { root.close(); open([...files.files]); files.value = ''; });

  const address = el('input', { type: 'url', id: 'model-address', placeholder: 'https://…/model.gguf', required: true });
  const form = el('form', { class: 'by-address', onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    const url = new URL(address.value);
    root.close();
    void run.loadModel(url, { name: url.pathname.split('/').filter(Boolean).at(-1) ?? url.host, address: url.href });
  } }, el('label', { for: 'model-address' }, 'From an address'), el('div', { class: 'line' }, address, el('button', { type: 'submit' }, 'Load')),
  el('p', { class: 'hint' }, 'Only this fetch leaves the page, and only to the address you give.'));

  root.append(
    el('button', { type: 'button', class: 'close', onclick: () => root.close(), 'aria-label': 'Close' }, '×'),
    shipped,
    el('div', { class: 'from-disk' }, el('label', { for: 'model-file' }, 'From this computer'), files,
      el('p', { class: 'hint' }, 'A .gguf, a llama2.c .bin with its tokenizer.bin, or config.json, model.safetensors and tokenizer.json together. Parsed here, sent nowhere. Dropping files on the page does the same.')),
    form);

  /** Files that belong together make one model. @param {File[]} list */
  function open(list) {
    if (!list.length) return;
    const config = list.find((f) => f.name === 'config.json');
    const tokenizer = list.find((f) => f.name === 'tokenizer.json' || /tokenizer.*\.bin$/i.test(f.name));
    const weights = list.filter((f) => f !== config && f !== tokenizer && !f.name.endsWith('.json')).sort((a, b) => a.name.localeCompare(b.name));
    if (!weights.length) return store.set({ error: `${list.map((f) => f.name).join(', ')}: there are no weights among these files` });
    const source = weights.length === 1 && !config && !tokenizer ? weights[0]
      : { weights: weights.length === 1 ? weights[0] : weights, ...(config ? { config } : {}), ...(tokenizer ? { tokenizer } : {}) };
    void run.loadModel(source, { name: weights[0].name, fileBytes: weights.reduce((n, f) => n + f.size, 0) });
  }

  addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) { event.preventDefault(); document.body.classList.add('dropping'); }
  });
  addEventListener('dragleave', (event) => { if (!event.relatedTarget) document.body.classList.remove('dropping'); });
  addEventListener('drop', (event) => {
    document.body.classList.remove('dropping');
    const dropped = [...(event.dataTransfer?.files ?? [])];
    if (dropped.length) { event.preventDefault(); open(dropped); }
  });
}
