// values.js - a tensor [position, ...] as a picture: a row per token, a column per number, any cell readable.
//
// More than zero takes the hue of what it is (q blue, k vermilion, v green, FFN ochre, else violet), less takes ink.

import { el, roving } from './dom.js';
import { label, quoted, value } from './text/format.js';
import { createInks, palette } from './draw/heatmap.js';

const ROWS = 24;
const HEIGHT = 15; // px of a row
const PAGE = 16; // numbers of a row that the table shows at once
const hueOf = (/** @type {string} */ point) =>
  /mlp/.test(point)
    ? 'f'
    : /hook_(rot_)?q$/.test(point)
      ? 'q'
      : /hook_(rot_)?k$/.test(point)
        ? 'k'
        : /hook_[vz]$/.test(point)
          ? 'v'
          : 'p';

/** @typedef {{ point: string, name: string, tensor: { data: Float32Array, shape: number[] } }} Named */

/**
 * @param {{ onchoose: (point: string, row: number, head: number | undefined, index: number) => void }} options a cell
 *   was chosen
 */
export function createValues({ onchoose }) {
  const tabs = el('div', { class: 'tabs', role: 'radiogroup', 'aria-label': 'Values of this stage' });
  roving(tabs, () => [...tabs.children]);
  const canvas = el('canvas');
  const mark = el('i', { class: 'values-mark', 'aria-hidden': 'true' });
  const box = el(
    'div',
    {
      class: 'values-box',
      tabindex: 0,
      role: 'application',
      'aria-label': 'Values. Arrow keys move over the cells, Enter explains one.',
    },
    canvas,
    mark,
  );
  const out = el('output', { class: 'cell mono', 'aria-live': 'polite' });
  const names = el('div', { class: 'values-names', 'aria-hidden': 'true' });
  const inks = createInks('card', 'text', 'p', 'q', 'k', 'v', 'f');
  const hint = el('p', { class: 'hint' }, 'Choose a value to see the terms that made it.');
  const table = el('table');
  const range = el('output', { class: 'mono' });
  const before = el('button', { type: 'button', class: 'quiet', onclick: () => turn(-1) }, 'Numbers before');
  const after = el('button', { type: 'button', class: 'quiet', onclick: () => turn(1) }, 'Numbers after');
  const details = el(
    'details',
    { class: 'as-table' },
    el('summary', {}, 'As a table'),
    el('div', { class: 'takes' }, before, range, after),
    el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Table of values' }, table),
  );
  details.addEventListener('toggle', () => tabulate());
  const root = el(
    'div',
    { class: 'values' },
    tabs,
    el('div', { class: 'values-picture' }, names, box),
    out,
    hint,
    details,
    inks.node,
  );

  /** @type {Named[]} */
  let list = [];
  let at = 0;
  let tokens = [];
  let cell = { row: 0, column: 0 };
  let width = 0;
  let first = 0; // position of the first row shown
  let shown = 0;
  let tabulated = { of: /** @type {Float32Array | null} */ (null), key: '' };

  /** Which of the tabs is chosen. */
  function choice() {
    [...tabs.children].forEach((b, i) => {
      b.setAttribute('aria-checked', String(i === at));
      b.tabIndex = i === at ? 0 : -1;
    });
  }

  function draw() {
    const item = list[at];
    box.hidden = names.hidden = hint.hidden = details.hidden = !item;
    if (!item) return;
    const { data, shape } = item.tensor;
    width = data.length / shape[0];
    shown = Math.min(ROWS, shape[0]);
    first = Math.max(0, Math.min(shape[0] - shown, cell.row - shown + 1));
    canvas.width = width;
    canvas.height = shown;
    const ink = inks.read();
    const plus = palette(ink.card, ink[hueOf(item.point)]);
    const minus = palette(ink.card, ink.text);
    const part = data.subarray(first * width, (first + shown) * width);
    const sizes = Float32Array.from(part, Math.abs).filter(Number.isFinite).sort();
    const most = sizes[Math.floor(sizes.length * 0.995)] || 1;
    const image = new ImageData(width, shown);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < part.length; i++) {
      const v = Math.max(-1, Math.min(1, part[i] / most));
      pixels[i] = v < 0 ? minus[Math.round(-v * 255)] : plus[Math.round(v * 255)];
    }
    /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')).putImageData(image, 0, 0);
    canvas.style.blockSize = `${shown * HEIGHT}px`;
    names.replaceChildren(
      ...Array.from({ length: shown }, (_, i) => {
        const s = el('span', {}, tokens[first + i] ? label(tokens[first + i]) : String(first + i));
        s.style.blockSize = `${HEIGHT}px`;
        return s;
      }),
    );
    read();
  }

  const nameOf = (/** @type {number} */ column, /** @type {number[]} */ shape) =>
    shape.length === 3 ? `head ${Math.floor(column / shape[2])}, ${column % shape[2]}` : String(column);

  /** The rows of the picture, as many columns around the one in hand as are read at once. */
  function tabulate() {
    const item = list[at];
    if (!details.open || !item) return;
    const { data, shape } = item.tensor;
    const from = Math.floor(Math.min(cell.column, width - 1) / PAGE) * PAGE;
    const columns = Array.from({ length: Math.min(PAGE, width - from) }, (_, i) => from + i);
    before.setAttribute('aria-disabled', String(from === 0));
    after.setAttribute('aria-disabled', String(from + PAGE >= width));
    range.textContent = `${from} to ${from + columns.length - 1} of ${width}`;
    const key = `${item.point} ${first} ${shown} ${from}`;
    if (tabulated.of === data && tabulated.key === key) return;
    tabulated = { of: data, key };
    table.replaceChildren(
      el('caption', { class: 'hidden' }, `${item.point}, a row for each token`),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'col' }, 'token'),
          ...columns.map((c) => el('th', { scope: 'col' }, nameOf(c, shape))),
        ),
      ),
      el(
        'tbody',
        {},
        ...Array.from({ length: shown }, (_, i) =>
          el(
            'tr',
            {},
            el('th', { scope: 'row' }, tokens[first + i] ? label(tokens[first + i]) : String(first + i)),
            ...columns.map((c) => el('td', {}, value(data[(first + i) * width + c]))),
          ),
        ),
      ),
    );
  }
  function turn(/** @type {number} */ by) {
    const column = (Math.floor(Math.min(cell.column, width - 1) / PAGE) + by) * PAGE;
    if (column < 0 || column >= width) return;
    cell = { ...cell, column };
    read();
  }

  function read() {
    const item = list[at];
    if (!item) return;
    const { data, shape } = item.tensor;
    const row = Math.min(cell.row, shape[0] - 1);
    const column = Math.min(cell.column, width - 1);
    mark.style.insetBlockStart = `${(row - first) * HEIGHT}px`;
    mark.style.insetInlineStart = `${(100 * column) / width}%`;
    mark.style.inlineSize = `${100 / width}%`;
    out.textContent = `${item.point} [${shape.join(', ')}] · ${tokens[row] ? quoted(tokens[row]) : row}, ${nameOf(column, shape)}: ${value(data[row * width + column])}`;
    tabulate();
  }

  canvas.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
    const r = canvas.getBoundingClientRect();
    const within = (/** @type {number} */ share, /** @type {number} */ n) =>
      Math.max(0, Math.min(n - 1, Math.floor(share * n)));
    cell = {
      row: first + within((event.clientY - r.top) / r.height, shown),
      column: within((event.clientX - r.left) / r.width, width),
    };
    read();
  });
  function choose() {
    const item = list[at];
    if (!item) return;
    const { shape } = item.tensor;
    const [row, column] = [Math.min(cell.row, shape[0] - 1), Math.min(cell.column, width - 1)];
    if (shape.length === 3) onchoose(item.point, row, Math.floor(column / shape[2]), column % shape[2]);
    else onchoose(item.point, row, undefined, column);
  }
  canvas.addEventListener('click', choose);
  box.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      choose();
      return;
    }
    const move = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [0, -16],
      PageDown: [0, 16],
    }[event.key];
    if (!move || !list[at]) return;
    event.preventDefault();
    cell = {
      row: Math.max(0, Math.min(list[at].tensor.shape[0] - 1, cell.row + move[0])),
      column: Math.max(0, Math.min(width - 1, cell.column + move[1])),
    };
    if (cell.row < first || cell.row >= first + shown) draw();
    else read();
  });

  return {
    root,
    /**
     * @param {Named[]} items
     * @param {any[]} ofTokens
     * @param {number} row the token in hand
     */
    show(items, ofTokens, row) {
      list = items;
      tokens = ofTokens;
      at = Math.min(at, Math.max(0, items.length - 1));
      cell = { row: Math.max(0, row), column: cell.column };
      tabs.replaceChildren(
        ...items.map((item, i) =>
          el(
            'button',
            {
              type: 'button',
              role: 'radio',
              onclick: (/** @type {Event} */ e) => {
                at = i;
                choice();
                /** @type {HTMLElement} */ (e.currentTarget).focus();
                draw();
              },
            },
            item.name,
          ),
        ),
      );
      choice();
      out.textContent = items.length ? '' : 'The engine keeps no values here.';
      draw();
    },
    /** @param {string} text */
    say(text) {
      if (out.textContent !== text) out.textContent = text;
    }, // said again it would be heard again
  };
}
