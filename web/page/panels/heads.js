// panels/heads.js - every layer and head as a small triangle that gains a row with each token.

import { el, roving } from '../dom.js';
import { figures, percent } from '../text/format.js';
import { inView } from '../state/patterns.js';
import { Triangle, paletteOf, roomFor } from '../draw/heatmap.js';

const PIXELS = 128; // of a tile's side, at most
const SLICE_MS = 3; // of painting in one frame

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 */
export function create(root, store) {
  const { state } = store;
  const about = el('small');
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', about);
  const grid = el('div', { class: 'grid', role: 'radiogroup', 'aria-label': 'Layer and head' });
  const profile = el('dl', { class: 'profile' });
  const profileOf = el('h3');
  root.append(grid, el('div', { class: 'head-profile' }, profileOf, profile));

  /** @type {{ layer: number, head: number, button: HTMLElement, triangle: Triangle, store?: any, epoch?: number }[]} */
  let tiles = [];
  let colors = new Uint32Array(256);
  let of = ''; // what the grid was built for
  let tileSize = 0;
  let turn = 0; // whose tile is next: while text streams the slice ends before all have had one
  new ResizeObserver(() => {
    tileSize = tiles[0]?.button.clientWidth ?? 0;
  }).observe(grid);

  const stacks = el(
    'div',
    { class: 'tabs', role: 'radiogroup', 'aria-label': 'Which attention', hidden: true },
    ...[
      ['encoder', 'encoder'],
      ['self', 'decoder'],
      ['cross', 'across'],
    ].map(([stack, name]) =>
      el(
        'button',
        {
          type: 'button',
          role: 'radio',
          'data-stack': stack,
          onclick: () =>
            store.set({ stack: /** @type {any} */ (stack), key: null, hover: null, head: { ...state.head, layer: 0 } }),
        },
        name,
      ),
    ),
  );
  grid.before(stacks);
  roving(stacks, () => [...stacks.children]);
  store.watch(['model', 'stack'], (s) => {
    stacks.hidden = s.model?.config.kind !== 'encoder_decoder';
    for (const b of stacks.children) {
      b.setAttribute('aria-checked', String(b.dataset.stack === s.stack));
      b.tabIndex = b.dataset.stack === s.stack ? 0 : -1;
    }
  });
  // one stack may have more layers than the other
  store.watch(['model', 'stack', 'head'], (s) => {
    const { layers } = inView(s);
    if (s.model && s.head.layer >= layers) store.set({ head: { ...s.head, layer: layers - 1 } });
  });

  store.watch(['model', 'stack'], (s) => {
    const { model } = s;
    const nLayers = inView(s).layers;
    if (!model || of === `${model.name} ${nLayers} ${model.config.nHeads} ${model.parameters.total}`) return;
    of = `${model.name} ${nLayers} ${model.config.nHeads} ${model.parameters.total}`;
    const { nHeads } = model.config;
    about.textContent = `${nLayers} layers × ${nHeads} heads, a row per token`;
    grid.style.setProperty('--columns', String(nHeads));
    tiles = [];
    grid.replaceChildren();
    for (let layer = 0; layer < nLayers; layer++) {
      grid.append(el('span', { class: 'row-label', 'aria-hidden': 'true' }, `L${layer}`));
      for (let head = 0; head < nHeads; head++) {
        const canvas = el('canvas', { width: 16, height: 16 });
        const button = el(
          'button',
          {
            type: 'button',
            role: 'radio',
            class: 'tile',
            'aria-label': `layer ${layer}, head ${head}`,
            tabindex: -1,
            onclick: () => store.set({ head: { layer, head } }),
          },
          el('span', { class: 'crop' }, canvas),
        );
        tiles.push({ layer, head, button, triangle: new Triangle(canvas, PIXELS) });
        grid.append(button);
      }
    }
  });

  roving(
    grid,
    () => tiles.map((t) => t.button),
    () => state.model?.config.nHeads ?? 1,
  );

  store.watch(['model', 'head', 'stack'], ({ head }) => {
    for (const t of tiles) {
      const on = t.layer === head.layer && t.head === head.head;
      t.button.setAttribute('aria-checked', String(on));
      t.button.tabIndex = on ? 0 : -1;
    }
  });

  store.watch(['theme', 'model', 'stack'], () => {
    const sample = grid.querySelector('.crop');
    if (sample) colors = paletteOf(sample);
    for (const { triangle } of tiles) triangle.recolor(colors);
  });

  store.watch(
    ['patterns', 'stack', 'model'],
    (s) => {
      const { rows: patterns, keys } = inView(s);
      if (!patterns || !tiles.length) return '';
      const start = performance.now();
      const n = patterns.length;
      const side = Math.max(n, s.stack === 'self' ? n : keys.length);
      const room = roomFor(side);
      for (let i = 0; i < tiles.length; i++) {
        const t = tiles[turn++ % tiles.length];
        const { triangle } = t;
        if (t.epoch !== patterns.epoch || t.store !== patterns || triangle.capacity > room) {
          triangle.clear(room);
          Object.assign(t, { store: patterns, epoch: patterns.epoch });
        } else if (triangle.capacity < room) {
          triangle.grow(room, colors);
        } else if (triangle.painted === n) {
          continue;
        }
        triangle.paint(n, (q) => patterns.row(t.layer, t.head, q), colors);
        t.button.style.setProperty('--zoom', String(room / Math.max(1, side)));
        if (performance.now() - start > SLICE_MS) return 'more';
      }
      grid.classList.toggle('dense', side / 2 ** tiles[0].triangle.shift > tileSize * devicePixelRatio);
      return '';
    },
    { every: 60, root },
  );

  // What a head does here, in numbers: the mean over queries of the weight on some keys.
  const HABITS = /** @type {[string, (row: Float32Array, q: number, ids: number[]) => number][]} */ ([
    ['on itself', (row, q) => row[q]],
    ['on the token before', (row, q) => row[q - 1]],
    ['on the first token', (row) => row[0]],
    [
      'on the same token earlier',
      (row, q, ids) => row.reduce((sum, w, k) => sum + (k < q && ids[k] === ids[q] ? w : 0), 0),
    ],
    [
      'after the same token earlier',
      (row, q, ids) => row.reduce((sum, w, k) => sum + (k > 0 && k < q && ids[k - 1] === ids[q] ? w : 0), 0),
    ],
  ]);

  store.watch(['head', 'patterns', 'stack', 'model', 'status'], ({ head, patterns, tokens, status, stack }) => {
    const n = patterns?.length ?? 0;
    profileOf.parentElement.hidden = n < 3 || stack !== 'self';
    if (n < 3 || stack !== 'self' || (status === 'running' && n % 8)) return;
    const ids = tokens.map((t) => t.id);
    const sums = HABITS.map(() => 0);
    let bits = 0;
    for (let q = 1; q < n; q++) {
      const row = patterns.row(head.layer, head.head, q);
      HABITS.forEach(([, of], i) => {
        sums[i] += of(row, q, ids);
      });
      for (const w of row) if (w > 0) bits -= w * Math.log2(w);
    }
    profileOf.textContent = `Layer ${head.layer}, head ${head.head} puts`;
    profile.replaceChildren(
      ...HABITS.flatMap(([name], i) => {
        const bar = el('i');
        bar.style.inlineSize = `${(100 * sums[i]) / (n - 1)}%`;
        return [
          el('dt', {}, name),
          el(
            'dd',
            {},
            el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
            el('span', { class: 'num' }, percent(sums[i] / (n - 1))),
          ),
        ];
      }),
      el('dt', {}, 'reads about'),
      el('dd', {}, el('span', { class: 'num' }, `${figures(2 ** (bits / (n - 1)))} tokens at a time`)),
    );
  });
}
