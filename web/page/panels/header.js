// panels/header.js - which model, how fast, how much memory, which engine; the theme.

import { backendName, bytes, figures, int } from '../text/format.js';
import { keep, recall } from '../state/kept.js';

const KIND = { decoder: '', encoder: 'encoder · ', encoder_decoder: 'encoder-decoder · ' };

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 */
export function create(root, store) {
  const part = (/** @type {string} */ role) => /** @type {HTMLElement} */ (root.querySelector(`[data-role="${role}"]`));
  const page = document.documentElement;

  const kept = recall('theme');
  if (kept === 'light' || kept === 'dark') show(kept);
  function show(/** @type {'light' | 'dark'} */ theme) {
    page.dataset.theme = theme;
    store.set({ theme });
  }
  part('theme').addEventListener('click', () => {
    const theme = store.state.theme === 'dark' ? 'light' : 'dark';
    keep('theme', theme);
    show(theme);
  });
  part('pick').addEventListener('click', () =>
    /** @type {HTMLDialogElement} */ (document.querySelector('dialog.models')).showModal(),
  );

  store.watch(['model', 'theme'], ({ model, theme }) => {
    part('theme-name').textContent = theme === 'dark' ? 'Light theme' : 'Dark theme';
    if (!model) return;
    const c = model.config;
    const size = model.fileBytes ? ` · ${bytes(model.fileBytes)}` : '';
    const dtype = mainType(model.parameters.rows);
    part('pick').textContent = `${model.name} · ${int(model.parameters.total)} parameters · ${dtype}${size}`;
    part('about').textContent = `${KIND[c.kind] ?? ''}${c.nLayers} layers · ${c.nHeads} heads · d_model ${c.dModel}`;
    // the kind of dot product (probe.c) and the reason for one thread are left to the tooltip
    part('backend').textContent = backendName(model.backend)
      .split(':')[0]
      .replace(/, (?:unsigned|signed|split|16-bit) dot/, '');
    part('backend').title = model.backend;
  });

  store.watch(['memory'], ({ memory }) => {
    if (memory) part('memory').textContent = bytes(memory.totalBytes);
  });

  store.watch(['speed'], ({ speed }) => {
    const { tokensPerSecond: v } = speed;
    part('speed').textContent = v ? `${v < 100 ? figures(v) : int(v)} tok/s` : '–';
  });
}

/**
 * The type that holds most of the weights.
 * @param {any[]} rows
 */
export function mainType(rows) {
  const bytesOf = new Map();
  for (const r of rows) bytesOf.set(r.dtype, (bytesOf.get(r.dtype) ?? 0) + r.bytes);
  const [type] = [...bytesOf].sort((a, b) => b[1] - a[1])[0];
  return type.toUpperCase();
}
