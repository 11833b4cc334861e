// panels/models.js - the dialog in which a model is chosen: shipped, from disk, or from an address.

import { el } from '../dom.js';
import { SHIPPED, nameOf } from '../models.js';

/** @param {HTMLDialogElement} root @param {import('../store.js').Store} _store @param {import('../run.js').Run} run */
export function create(root, _store, run) {
  const shipped = el('ul', { class: 'shipped' }, ...SHIPPED.map((m) => el('li', {},
    el('button', { type: 'button', onclick: () => { root.close(); void run.loadModel(new URL(m.file, document.baseURI), { name: m.name, address: m.file, opens: m.opens }).then(() => run.greet()); } }, m.name),
    el('span', {}, m.about))));

  const files = el('input', { type: 'file', id: 'model-file', multiple: true, accept: '.gguf,.bin,.safetensors,.json' });
  files.addEventListener('change', () => { root.close(); open([...files.files]); files.value = ''; });

  const address = el('input', { type: 'url', id: 'model-address', placeholder: 'https://…/model.gguf', required: true });
  const form = el('form', { class: 'by-address', onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    const url = new URL(address.value);
    root.close();
    void run.loadModel(url, { name: nameOf(url.href), address: url.href });
  } }, el('label', { for: 'model-address' }, 'From an address'), el('div', { class: 'line' }, address, el('button', { type: 'submit' }, 'Load')),
  el('p', { class: 'hint' }, 'Only this fetch leaves the page, and only to the address you give.'));

  root.append(
    el('button', { type: 'button', class: 'close', onclick: () => root.close(), 'aria-label': 'Close' }, '×'),
    shipped,
    el('div', { class: 'from-disk' }, el('label', { for: 'model-file' }, 'From this computer'), files,
      el('p', { class: 'hint' }, 'A .gguf, a llama2.c .bin with its tokenizer.bin, or config.json, model.safetensors and tokenizer.json together. Parsed here, sent nowhere. Dropping files on the page does the same.')),
    form);

  /** Files that belong together make one model: one file by itself, a folder's files, or llama2.c's pair.
   * @param {File[]} list */
  function open(list) {
    if (!list.length) return;
    const weights = list.filter((f) => /\.(gguf|safetensors|bin)$/i.test(f.name) && !/^tokenizer/i.test(f.name));
    const tokenizer = list.find((f) => /^tok.*\.bin$/i.test(f.name));
    const source = list.length === 1 ? list[0]
      : tokenizer && weights.length === 1 && !list.some((f) => f.name === 'config.json') ? { weights: weights[0], tokenizer } : list;
    void run.loadModel(source, { name: (weights[0] ?? list[0]).name, fileBytes: weights.reduce((n, f) => n + f.size, 0) || null });
  }

  addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) { event.preventDefault(); document.body.classList.add('dropping'); }
  });
  addEventListener('dragleave', (event) => { if (!event.relatedTarget) document.body.classList.remove('dropping'); });
  addEventListener('drop', (event) => {
    document.body.classList.remove('dropping');
    const dropped = [...(event.dataTransfer?.files ?? [])];
    if (dropped.length && !event.defaultPrevented) { event.preventDefault(); open(dropped); }
  });
}
