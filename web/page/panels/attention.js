// panels/attention.js - one head large: queries down, keys across, a cell cursor for mouse and keyboard.
//
// The matrix is one canvas. Near the token in hand its cells are drawn one by one, the keys before them gathered in one
// column; the whole text lies in a canvas of one pixel per cell, painted as rows come and scaled up, so 512 tokens cost
// no more than 16.

import { el, roving } from '../dom.js';
import { figures, label, percent, quoted, value } from '../text/format.js';
import { onDemand } from '../state/late.js';
import { headKey } from '../state/switches.js';
import { inView } from '../state/patterns.js';
import { csv, saveFile } from '../state/save.js';
import { Triangle, createInks, css, paletteOf, roomFor, shade } from '../draw/heatmap.js';

const LEFT = 92; // room for query labels, CSS pixels
const TOP = 78; // room for key labels
const RIGHT = 44; // room for the last of them, which lean over
const CELL = 27; // largest cell
const SPACED = 12; // smallest cell that is drawn with a gap around it
const NEAR = 24; // tokens in the near view
const NEAR_NARROW = 14;
const TALL = 660; // largest height of the cells together
const TICKS = [0, 0.01, 0.1, 0.25, 0.5, 1];
const STAGES = /** @type {const} */ ([
  ['raw', 'scores', 'hook_attn_scores_raw'],
  ['scaled', '÷ √d', 'hook_attn_scores_scaled'],
  ['masked', 'masked', 'hook_attn_scores'],
  ['pattern', 'softmax', 'hook_pattern'],
]);

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const { state } = store;
  const title = /** @type {HTMLElement} */ (root.querySelector('h2'));
  const shape = el('small', { class: 'mono' });

  const tabs = el('div', { class: 'tabs', role: 'radiogroup', 'aria-label': 'Stage of the score' });
  const stageButtons = STAGES.map(([stage, name]) => {
    const b = el('button', { type: 'button', role: 'radio', onclick: () => store.set({ stage }) }, name);
    tabs.append(b);
    return b;
  });

  const zooms = el('div', { class: 'tabs', role: 'radiogroup', 'aria-label': 'How much of the text' });
  const zoomButtons = [
    ['near', ''],
    ['whole', 'whole text'],
  ].map(([zoom, name]) => {
    const b = el(
      'button',
      { type: 'button', role: 'radio', onclick: () => store.set({ zoom: /** @type {any} */ (zoom) }) },
      name,
    );
    zooms.append(b);
    return { b, zoom };
  });
  roving(tabs, () => stageButtons);
  roving(zooms, () => zoomButtons.map(({ b }) => b));

  const canvas = el('canvas', { class: 'cells' });
  const box = el(
    'div',
    {
      class: 'matrix',
      tabindex: 0,
      role: 'application',
      'aria-label': 'Attention of the chosen head. Arrow keys move over its cells, Enter explains one.',
      'aria-describedby': 'cell',
    },
    canvas,
  );
  const out = el('output', { id: 'cell', class: 'cell mono', 'aria-live': 'polite' });
  const ramp = el('canvas', { class: 'ramp heat', width: 256, height: 1, 'aria-hidden': 'true' });
  const ticks = el('div', { class: 'ticks mono' });
  const legend = el(
    'div',
    { class: 'scale' },
    el('div', { class: 'scale-bar' }, ramp, ticks),
    el('span', { class: 'masked-key' }, el('i', { 'aria-hidden': 'true' }), 'masked'),
  );
  const table = el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table of weights' });
  const details = el('details', { class: 'as-table' }, el('summary', {}, 'As a table'), table);

  const saves = el(
    'div',
    { class: 'takes' },
    el('button', { type: 'button', class: 'quiet', onclick: savePicture }, 'Save picture'),
    el(
      'button',
      {
        type: 'button',
        class: 'quiet',
        onclick: () => {
          const n = rows();
          const { queries, keys } = inView(state);
          saveFile(
            `${fileName()}.csv`,
            csv([
              ['query \\ key', ...Array.from({ length: columns() }, (_, k) => `${k} ${keys[k]?.text ?? ''}`)],
              ...Array.from({ length: n }, (_, q) => [`${q} ${queries[q]?.text ?? ''}`, ...Array.from(rowOf(q) ?? [])]),
            ]),
            'text/csv',
          );
        },
      },
      'Save as CSV',
    ),
  );
  /** The cells with their labels, on the card's own colour. */
  function savePicture() {
    const copy = el('canvas', { width: canvas.width, height: canvas.height });
    const g = /** @type {CanvasRenderingContext2D} */ (copy.getContext('2d'));
    g.fillStyle = getComputedStyle(root).backgroundColor;
    g.fillRect(0, 0, copy.width, copy.height);
    g.drawImage(canvas, 0, 0);
    copy.toBlob((/** @type {Blob | null} */ b) => b && saveFile(`${fileName()}.png`, b));
  }
  const fileName = () => `layer-${state.head.layer}-head-${state.head.head}-${state.stage}`;
  const who = el('h3');
  const list = el('ol', { class: 'attends' });
  const side = el(
    'div',
    { class: 'side' },
    who,
    list,
    el(
      'p',
      { class: 'hint' },
      'Attention says where a head reads, not why the model answered. Switch the head off to see.',
    ),
    el(
      'button',
      {
        type: 'button',
        onclick: () => {
          const key = headKey(state.stack, state.head.layer, state.head.head);
          if (!state.off.includes(key)) store.set({ off: [...state.off, key] });
          document.querySelector('.ablate')?.scrollIntoView({ block: 'start' });
        },
      },
      'Switch this head off',
    ),
  );
  root.append(
    el('div', { class: 'tab-line' }, tabs, zooms),
    el(
      'div',
      { class: 'split' },
      el('div', { class: 'plot' }, box, out, el('div', { class: 'plot-foot' }, legend, saves), details),
      side,
    ),
  );
  title.append(' ', shape);
  const name = document.createTextNode('');
  title.firstChild?.replaceWith(name);

  const whole = new Triangle(document.createElement('canvas'));
  let colors = new Uint32Array(256);
  let epoch = -1;
  let painted = '';
  /** where the cells lie, CSS pixels */
  let at = { cell: CELL, n: 0, m: 0, first: 0, left: LEFT };
  let paintedRows = null;
  /** a stage other than the pattern, for the whole text as it was then */
  let scores = null;
  const pointNow = () => `${inView(state).point}.${STAGES.find(([s]) => s === state.stage)?.[2]}`;
  const scoresKey = () => `${pointNow()} ${run.textKey()}`;

  /** The values of one query in the stage that is shown. */
  function rowOf(q) {
    const { rows: of, causal } = inView(state);
    if (state.stage === 'pattern') return of?.row(state.head.layer, state.head.head, q) ?? null;
    if (!scores || q >= scores.n) return null;
    const from = (state.head.head * scores.n + q) * scores.keys;
    return scores.data.subarray(from, from + (causal && state.stage === 'masked' ? q + 1 : scores.keys));
  }
  function rows() {
    if (state.stage === 'pattern') return inView(state).rows?.length ?? 0;
    const now = scores && scoresKey();
    // the text may have grown since, where nothing sees what comes later
    if (scores && now !== scores.key && !(state.patterns?.causal && now.startsWith(`${scores.key},`))) scores = null;
    return scores?.n ?? 0;
  }
  const columns = () => (state.stack === 'self' ? rows() : inView(state).keys.length);
  /** Put a query in hand, in the stack that is shown. */
  const inHand = (/** @type {number} */ query) =>
    state.stack === 'encoder' ? { sourceCursor: query } : { cursor: query, follow: false };
  const scaleOf = () => {
    if (state.stage === 'pattern') return shade;
    const { min, max } = scores ?? { min: 0, max: 1 };
    return (/** @type {number} */ x) =>
      Number.isFinite(x) ? Math.max(0, Math.min(255, Math.round((255 * (x - min)) / (max - min || 1)))) : 0;
  };
  const show = (/** @type {number} */ x) => (state.stage === 'pattern' ? percent(x) : value(x));

  // -- stages before the softmax come from one forward pass over the text --------------------------------------------
  let wanted = '';
  async function fetchScores() {
    const { stage, status, tokens } = state;
    if (stage === 'pattern' || status === 'running' || !tokens.length) return;
    const point = pointNow(),
      key = scoresKey();
    if (scores?.key === key || wanted === key) return;
    wanted = key;
    try {
      const tensor = (await run.values([point]))[point];
      if (wanted !== key) return;
      if (!tensor) throw new Error(`The engine has no values at ${point}`);
      const {
        data,
        shape: [, n, keys],
      } = tensor;
      let min = Infinity;
      let max = -Infinity;
      for (let i = 0; i < data.length; i++) {
        // millions of them
        if (data[i] < min && data[i] !== -Infinity) min = data[i];
        if (data[i] > max) max = data[i];
      }
      scores = { n, keys, data, min, max, key };
      painted = wanted = '';
      store.set({ stage: state.stage });
    } catch (error) {
      if (wanted !== key) return;
      wanted = '';
      if (scoresKey() === key)
        store.set({ stage: 'pattern', error: error instanceof Error ? error.message : String(error) });
    }
  }

  // -- drawing --------------------------------------------------------------------------------------------------------
  const inks = createInks('q', 'k', 'p', 'line', 'dim', 'text');
  root.append(inks.node);
  let inkOf = inks.read();

  let wide = 0; // px that the picture may take
  let fontOf = 'sans-serif';
  const nearby = () => (wide < 480 ? NEAR_NARROW : NEAR);

  /** The positions shown: all of them, or the last few up to the one in hand. */
  function span() {
    const n = rows();
    const near = nearby();
    if (state.zoom === 'whole' || n <= near + 4 || state.stack !== 'self') return { first: 0, n };
    const last = Math.min(n, Math.max(near, Math.min(n, state.cursor + 1 + (state.follow ? 0 : 3))));
    return { first: last - near, n: near };
  }

  function draw() {
    const { first, n } = span();
    const m = first ? n : columns();
    const view = inView(state);
    const width = wide;
    if (!width) return;
    if (!n) {
      canvas.width = canvas.width; // nothing is left on it
      at = { ...at, n: 0, m: 0 };
      return;
    }
    const dpr = devicePixelRatio || 1;
    const early = first > 0 ? 1.6 : 0; // cells that the column of earlier keys takes, gap included
    const edge = Math.min(LEFT, width * 0.24);
    const cell = Math.min(CELL, (width - edge - RIGHT) / (m + early), TALL / n);
    const left = edge + early * cell;
    const height = Math.ceil(TOP + cell * n + 4);
    at = { cell, n, m, first, left };
    if (canvas.width !== Math.round(width * dpr) || canvas.height !== Math.round(height * dpr)) {
      canvas.width = Math.round(width * dpr);
      canvas.height = Math.round(height * dpr);
      canvas.style.blockSize = `${height}px`;
    }
    const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.clearRect(0, 0, width, height);
    const index = scaleOf();
    const q0 = (state.hover?.query ?? view.query) - first;
    const k0 = (state.hover?.key ?? state.key ?? -1e9) - first;
    const causal = view.causal && (state.stage === 'pattern' || state.stage === 'masked');

    if (causal) hatch(g, left, TOP, cell, n);
    if (first > 0 || cell >= SPACED || Math.max(n, m) <= NEAR + 4) {
      const gap = Math.max(0.75, cell * 0.045);
      const square = (/** @type {number} */ x, /** @type {number} */ q, /** @type {number} */ v) => {
        g.fillStyle = css(colors, index(v));
        g.beginPath();
        g.roundRect(x + gap, TOP + q * cell + gap, cell - 2 * gap, cell - 2 * gap, Math.min(3, cell * 0.12));
        g.fill();
      };
      for (let q = 0; q < n; q++) {
        const row = rowOf(first + q);
        if (!row) continue;
        for (let k = 0; k < m && first + k < row.length; k++) square(left + k * cell, q, row[first + k]);
        if (early && state.stage === 'pattern') {
          let sum = 0;
          for (let k = 0; k < first; k++) sum += row[k];
          square(edge, q, sum);
        }
      }
    } else {
      const room = roomFor(Math.max(n, m));
      const key = `${state.stage} ${state.head.layer} ${state.head.head} ${view.rows?.epoch} ${room} ${scores?.key} ${epoch}`;
      if (painted !== key || paintedRows !== view.rows) {
        whole.clear(room);
        painted = key;
        paintedRows = view.rows;
      }
      whole.paint(n, rowOf, colors, index);
      g.imageSmoothingEnabled = cell * dpr < 1;
      g.drawImage(/** @type {any} */ (whole.canvas), 0, 0, m, n, left, TOP, cell * m, cell * n);
    }

    labels(g, view, first, n, m, cell, edge, left, q0, k0);
    g.lineWidth = 2;
    if (q0 >= 0 && q0 < n) {
      g.strokeStyle = inkOf.p;
      g.beginPath();
      g.roundRect(
        edge - 1,
        TOP + q0 * cell - 1,
        left - edge + (causal ? q0 + 1 : m) * cell + 2,
        Math.max(cell, 3) + 2,
        4,
      );
      g.stroke();
      if (k0 >= 0 && k0 < m) {
        g.strokeStyle = inkOf.text;
        g.beginPath();
        g.roundRect(left + k0 * cell, TOP + q0 * cell, Math.max(cell, 4), Math.max(cell, 4), 3);
        g.stroke();
      }
    }
  }

  /** One diagonal stroke per masked cell while they are large, even hatching when they are not. */
  function hatch(g, x, y, cell, n) {
    g.strokeStyle = inkOf.line;
    g.lineWidth = 1;
    g.beginPath();
    if (cell >= SPACED) {
      for (let q = 0; q < n; q++)
        for (let k = q + 1; k < n; k++) {
          g.moveTo(x + k * cell + cell * 0.2, y + (q + 1) * cell - cell * 0.2);
          g.lineTo(x + (k + 1) * cell - cell * 0.2, y + q * cell + cell * 0.2);
        }
    } else {
      const side = cell * n;
      g.save();
      g.beginPath();
      g.moveTo(x, y);
      g.lineTo(x + side, y);
      g.lineTo(x + side, y + side);
      g.closePath();
      g.clip();
      g.beginPath();
      for (let d = 0; d < 2 * side; d += 7) {
        g.moveTo(x + d, y);
        g.lineTo(x + d - side, y + side);
      }
      g.stroke();
      g.restore();
      return;
    }
    g.stroke();
  }

  function labels(g, view, first, n, m, cell, edge, left, q0, k0) {
    const size = Math.max(10, Math.min(13, cell * 0.62));
    const font = fontOf;
    const cut = (/** @type {string} */ text, /** @type {number} */ room) => {
      let t = text;
      while (t.length > 1 && g.measureText(t === text ? t : `${t}…`).width > room) t = t.slice(0, -1);
      return t === text ? t : `${t}…`;
    };
    /** Every so many, the chosen one always, and none that would touch it. */
    const wanted = (/** @type {number} */ i, /** @type {number} */ chosen, /** @type {number} */ every) =>
      i === chosen || (i % every === 0 && !(chosen >= 0 && Math.abs(i - chosen) < every));
    const key = (/** @type {string} */ text, /** @type {number} */ x, /** @type {boolean} */ on) => {
      g.save();
      g.font = `${on ? 600 : 400} ${size}px ${font}`;
      g.textAlign = 'left';
      g.translate(x + 2, TOP - 8);
      g.rotate((-50 * Math.PI) / 180);
      g.fillText(cut(text, 82), 0, 0);
      g.restore();
    };
    const down = Math.max(1, Math.ceil((size + 1) / cell));
    const across = Math.max(1, Math.ceil((size * 1.6) / cell));
    g.textBaseline = 'middle';
    for (let i = 0; i < n; i++) {
      const token = view.queries[first + i];
      if (token && wanted(i, q0, down)) {
        g.font = `${i === q0 ? 600 : 400} ${size}px ${font}`;
        g.fillStyle = inkOf.q;
        g.textAlign = 'right';
        g.fillText(cut(label(token), edge - 14), edge - 8, TOP + (i + 0.5) * cell);
      }
    }
    g.fillStyle = inkOf.k;
    for (let i = 0; i < m; i++) {
      const token = view.keys[first + i];
      if (token && wanted(i, k0, across)) key(label(token), left + (i + 0.5) * cell, i === k0);
    }
    if (first) {
      g.fillStyle = inkOf.dim;
      key(`${first} before`, edge + cell / 2, false);
    }
  }

  function paintLegend() {
    const g = /** @type {CanvasRenderingContext2D} */ (ramp.getContext('2d'));
    const image = new ImageData(256, 1);
    new Uint32Array(image.data.buffer).set(colors);
    g.putImageData(image, 0, 0);
    const marks =
      state.stage === 'pattern'
        ? TICKS.map((v) => [Math.sqrt(v), v === 0 ? '0' : v < 1 ? `${v * 100} %` : '1'])
        : scores
          ? [
              [0, figures(scores.min)],
              [1, figures(scores.max)],
            ]
          : [];
    ticks.replaceChildren(
      ...marks.map(([x, text]) => {
        const t = el('span', {}, String(text));
        t.style.insetInlineStart = `${Number(x) * 100}%`;
        return t;
      }),
    );
  }

  // -- the cell in words ----------------------------------------------------------------------------------------------
  function read() {
    const { hover } = state;
    const view = inView(state);
    const q = hover?.query ?? view.query;
    const k = hover?.key ?? state.key;
    const query = view.queries[q];
    if (!query) {
      out.textContent = '';
      who.textContent = '';
      list.replaceChildren();
      return;
    }
    const row = q < rows() ? rowOf(q) : null;
    const none =
      state.stage !== 'pattern' && !scores
        ? 'The scores come when the text rests.'
        : 'The engine has not read this token yet.';
    if (k === null || k === undefined) {
      out.textContent = row ? 'Point at a cell, or move over the picture with the arrow keys.' : none;
    } else {
      const key = view.keys[k];
      const masked = !row || k >= row.length;
      out.textContent = !row
        ? none
        : `query ${q} ${quoted(query)} → key ${k} ${key ? quoted(key) : ''}: ${masked ? 'masked' : show(row[k])}`;
    }
    who.textContent = `${quoted(query)} attends to`;
    if (!row) return list.replaceChildren();
    const best = Array.from(row.keys())
      .sort((a, b) => row[b] - row[a])
      .slice(0, 12);
    const top = row[best[0]];
    const low = state.stage === 'pattern' ? 0 : Math.min(...best.map((i) => row[i]));
    list.replaceChildren(
      ...best.map((i) => {
        const bar = el('i');
        bar.style.inlineSize = `${Math.max(1, (100 * (row[i] - low)) / (top - low || 1))}%`;
        return el(
          'li',
          { class: i === k ? 'on' : null },
          el('span', { class: 'w' }, view.keys[i] ? label(view.keys[i]) : String(i)),
          el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
          el('span', { class: 'num' }, show(row[i])),
        );
      }),
    );
  }

  const TABLE = 24;
  function paintTable() {
    if (!details.open) return;
    const n = rows();
    const view = inView(state);
    const last = Math.min(n, Math.max(view.query + 1, Math.min(n, TABLE)));
    const from = Math.max(0, last - TABLE);
    const list = (/** @type {number} */ length, /** @type {number} */ start) =>
      Array.from({ length }, (_, i) => start + i);
    const queries = list(last - from, from);
    const keys = state.stack === 'self' ? queries : list(Math.min(TABLE, columns()), 0);
    const nameOf = (/** @type {any[]} */ tokens, /** @type {number} */ i) => (tokens[i] ? label(tokens[i]) : String(i));
    table.replaceChildren(
      el(
        'table',
        {},
        el(
          'caption',
          {},
          `Layer ${state.head.layer}, head ${state.head.head}: positions ${from} to ${last - 1}, rows are queries, columns are keys`,
        ),
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            el('th', { scope: 'col' }, 'query \\ key'),
            ...keys.map((k) => el('th', { scope: 'col' }, nameOf(view.keys, k))),
          ),
        ),
        el(
          'tbody',
          {},
          ...queries.map((q) => {
            const row = rowOf(q);
            return el(
              'tr',
              {},
              el('th', { scope: 'row' }, nameOf(view.queries, q)),
              ...keys.map((k) => el('td', {}, row && k < row.length ? show(row[k]) : 'masked')),
            );
          }),
        ),
      ),
    );
  }
  details.addEventListener('toggle', paintTable);

  // -- the cell in hand, explained: fetched when it is opened --------------------------------------------------------
  const terms = el('div');
  const explain = el('details', { class: 'as-table explain' }, el('summary', {}, 'Explain this number'), terms);
  details.before(explain);
  const explanation = onDemand(
    () => import('../explanation.svelte.js'),
    ({ createExplanation }) => {
      const made = createExplanation(state, run, 'cell');
      terms.replaceChildren(made.root);
      return made;
    },
  );
  let explained = '';
  async function paintExplanation() {
    if (!explain.open || state.status === 'running' || !state.model) return;
    const {
      head: { layer, head },
      key: index,
    } = state;
    const { point, query: position, rows: of } = inView(state);
    const now = `${point} ${state.stage} ${head} ${position} ${index} ${run.textKey()}`;
    if (explained === now) return;
    explained = now;
    const made = await explanation().catch(missing);
    if (!made || explained !== now) return;
    const { show, clear } = made;
    if (index === null || !of?.row(layer, head, position)) clear('Choose a cell of the picture.');
    else await show({ at: `${point}.${STAGES.find(([s]) => s === state.stage)?.[2]}`, position, head, index });
  }
  function missing(/** @type {Error} */ { message }) {
    explained = '';
    terms.replaceChildren(el('p', { class: 'wrong', role: 'alert' }, `${message}.`));
  }
  explain.addEventListener('toggle', () => void paintExplanation());
  store.watch(
    ['status', 'cursor', 'sourceCursor', 'key', 'head', 'stage', 'stack', 'patterns'],
    () => void paintExplanation(),
  );

  // -- mouse and keys -------------------------------------------------------------------------------------------------
  function cellAt(event) {
    const r = canvas.getBoundingClientRect();
    const key = Math.floor((event.clientX - r.left - at.left) / at.cell);
    const query = Math.floor((event.clientY - r.top - TOP) / at.cell);
    return key >= 0 && query >= 0 && key < at.m && query < at.n
      ? { query: query + at.first, key: key + at.first }
      : null;
  }
  canvas.addEventListener('pointermove', (event) => {
    const cell = cellAt(event);
    if (cell?.key !== state.hover?.key || cell?.query !== state.hover?.query) store.set({ hover: cell });
  });
  canvas.addEventListener('pointerleave', () => {
    if (state.hover) store.set({ hover: null });
  });
  canvas.addEventListener('click', (event) => {
    const cell = cellAt(event);
    if (cell) store.set({ ...inHand(cell.query), key: cell.key });
  });
  box.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && state.key !== null) {
      event.preventDefault();
      explain.open = true;
      return;
    }
    const n = rows();
    if (event.key === 'Escape') return store.set({ key: null, hover: null, follow: true });
    const move = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-10, 0],
      PageDown: [10, 0],
      Home: [0, -1e9],
      End: [0, 1e9],
    }[event.key];
    if (!move || !n) return;
    event.preventDefault();
    const clamp = (/** @type {number} */ x, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, x));
    const query = clamp(inView(state).query + (state.key === null ? 0 : move[0]), n);
    const key = clamp(state.key === null ? query : state.key + move[1], columns());
    store.set({ ...inHand(query), key, hover: null });
  });
  new ResizeObserver(() => {
    if (wide === box.clientWidth) return;
    wide = box.clientWidth;
    store.set({ hover: state.hover, zoom: state.zoom });
  }).observe(box);

  // -- watching -------------------------------------------------------------------------------------------------------
  store.watch(['theme', 'model'], () => {
    colors = paletteOf(ramp);
    fontOf = getComputedStyle(box).fontFamily;
    inkOf = inks.read();
    epoch++;
    paintLegend();
  });
  store.watch(['head', 'stage', 'stack', 'patterns', 'tokens', 'model'], (s) => {
    name.textContent = `${{ encoder: 'Encoder layer', cross: 'Across, layer', self: 'Layer' }[s.stack]} ${s.head.layer}, head ${s.head.head}`;
    const n = rows();
    const point = {
      raw: 'scores before scaling',
      scaled: 'scores, scaled',
      masked: 'scores, masked',
      pattern: 'pattern',
    }[s.stage];
    shape.textContent = n ? `${point} [${n} queries, ${columns()} keys]` : '';
    STAGES.forEach(([stage], i) => {
      stageButtons[i].setAttribute('aria-checked', String(stage === s.stage));
      stageButtons[i].tabIndex = stage === s.stage ? 0 : -1;
    });
    void fetchScores();
  });
  store.watch(['status'], () => void fetchScores());
  store.watch(['zoom', 'tokens', 'stack'], (s) => {
    zooms.hidden = s.tokens.length <= nearby() + 4 || s.stack !== 'self';
    zoomButtons[0].b.textContent = `last ${nearby()}`;
    for (const { b, zoom } of zoomButtons) {
      b.setAttribute('aria-checked', String(zoom === s.zoom));
      b.tabIndex = zoom === s.zoom ? 0 : -1;
    }
  });
  store.watch(['stage'], paintLegend);
  store.watch(
    [
      'patterns',
      'tokens',
      'cursor',
      'sourceCursor',
      'key',
      'hover',
      'head',
      'stage',
      'stack',
      'zoom',
      'theme',
      'model',
    ],
    (s) => {
      if (s.tokens.length && s.patterns && s.cursor >= s.patterns.length) void run.wantRows();
      read();
    },
  );
  store.watch(
    [
      'patterns',
      'tokens',
      'cursor',
      'sourceCursor',
      'key',
      'hover',
      'head',
      'stage',
      'stack',
      'zoom',
      'theme',
      'model',
    ],
    draw,
    { every: 60, root },
  );
  store.watch(['status', 'patterns', 'cursor', 'sourceCursor', 'head', 'stage', 'stack'], (s) => {
    if (s.status !== 'running') paintTable();
  });
  void document.fonts?.ready.then(() => store.set({ hover: state.hover }));
}
