// panels/models.js - the dialog in which a model is chosen: shipped, from disk, or from an address.

import { el } from '../dom.js';
import { SHIPPED, nameOf } from '../state/models.js';

/**
 * @param {HTMLDialogElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const shipped = el(
    'ul',
    { class: 'shipped' },
    ...SHIPPED.map((m) =>
      el(
        'li',
        {},
        el(
          'button',
          {
            type: 'button',
            onclick: () => {
              root.close();
              void run
                .loadModel(new URL(m.file, document.baseURI), { name: m.name, address: m.file, opens: m.opens })
                .then(() => run.greet());
            },
          },
          m.name,
        ),
        el('span', {}, m.about),
      ),
    ),
  );

  const files = el('input', {
    type: 'file',
    id: 'model-file',
    multiple: true,
    accept: '.gguf,.bin,.safetensors,.json',
  });
  files.addEventListener('change', () => {
    root.close();
    open([...files.files]);
    files.value = '';
  });

  const folder = el('input', { type: 'file', id: 'model-folder', webkitdirectory: true });
  folder.addEventListener('change', () => {
    const list = [...folder.files];
    root.close();
    folder.value = '';
    // the files in it, not those of folders in it
    openFolder(
      list.filter((f) => f.webkitRelativePath.split('/').length <= 2),
      list[0]?.webkitRelativePath.split('/')[0] ?? 'The folder',
    );
  });

  const address = el('input', {
    type: 'url',
    id: 'model-address',
    placeholder: 'https://…/model.gguf',
    required: true,
  });
  const form = el(
    'form',
    {
      class: 'by-address',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const url = new URL(address.value);
        root.close();
        void run.loadModel(url, { name: nameOf(url.href), address: url.href });
      },
    },
    el('h3', {}, el('label', { for: 'model-address' }, 'From an address')),
    el('div', { class: 'line' }, address, el('button', { type: 'submit' }, 'Load')),
    el('p', { class: 'hint' }, 'Only this fetch leaves the page, and only to the address you give.'),
  );

  root.append(
    el('button', { type: 'button', class: 'close', onclick: () => root.close(), 'aria-label': 'Close' }, '×'),
    shipped,
    el(
      'div',
      { class: 'from-disk' },
      el('h3', {}, 'From this computer'),
      el('label', { for: 'model-file' }, 'files'),
      files,
      'webkitdirectory' in folder && el('label', { for: 'model-folder' }, 'a folder'),
      'webkitdirectory' in folder && folder,
      el(
        'p',
        { class: 'hint' },
        'A .gguf, a llama2.c .bin with its tokenizer.bin, or a folder with config.json, model.safetensors and tokenizer.json; its files chosen together will do. Parsed here, sent nowhere. Dropping files or a folder on the page does the same.',
      ),
    ),
    form,
  );

  /** Files that belong together make one model: one file by itself, a folder's files, or llama2.c's pair.
   * @param {File[]} list @param {string} [name] of the folder */
  function open(list, name) {
    if (!list.length) return;
    const weights = list.filter((f) => /\.(gguf|safetensors|bin)$/i.test(f.name) && !/^tokenizer/i.test(f.name));
    const tokenizer = list.find((f) => /^tok.*\.bin$/i.test(f.name));
    const source =
      list.length === 1
        ? list[0]
        : tokenizer && weights.length === 1 && !list.some((f) => f.name === 'config.json')
          ? { weights: weights[0], tokenizer }
          : list;
    void run.loadModel(source, {
      name: name ?? (weights[0] ?? list[0]).name,
      fileBytes: weights.reduce((n, f) => n + f.size, 0) || null,
    });
  }

  /**
   * @param {File[]} list
   * @param {string} name
   */
  function openFolder(list, name) {
    if (list.length) open(list, name);
    else
      store.set({ error: `${name}: no file lies in this folder itself; choose the one that holds the model's files` });
  }

  addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) {
      event.preventDefault();
      document.body.classList.add('dropping');
    }
  });
  addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) document.body.classList.remove('dropping');
  });
  addEventListener('drop', async (event) => {
    document.body.classList.remove('dropping');
    const { files: dropped = [], items = [] } = event.dataTransfer ?? {};
    if (!dropped.length || event.defaultPrevented) return;
    event.preventDefault();
    const list = [...dropped]; // and entries: both are gone after this turn
    const directory = [...items].map((item) => item.webkitGetAsEntry()).find((entry) => entry?.isDirectory);
    if (!directory) return open(list);
    try {
      openFolder(await filesIn(/** @type {FileSystemDirectoryEntry} */ (directory)), directory.name);
    } catch (error) {
      store.set({ error: `${directory.name} could not be read: ${error instanceof Error ? error.message : error}` });
    }
  });
}

/**
 * The files that lie in a dropped folder; browsers tell them in parts.
 * @param {FileSystemDirectoryEntry} directory
 * @returns {Promise<File[]>}
 */
async function filesIn(directory) {
  const reader = directory.createReader();
  const files = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (!part.length) return Promise.all(files);
    for (const entry of part)
      if (entry.isFile)
        files.push(
          new Promise((resolve, reject) => {
            entry.file(resolve, reject);
          }),
        );
  }
}
