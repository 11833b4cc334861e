// panels/parameters.js - every parameter counted: by component, with the formula, the numbers put in, and each tensor.

import { el, roving } from '../dom.js';
import { int, percent } from '../text/format.js';
import { csv, saveFile } from '../state/save.js';

export const ORDER = ['embedding', 'position', 'attention', 'cross_attention', 'ffn', 'norm', 'final_norm', 'head'];
const FFN = { swiglu: 'SwiGLU FFN', relu: 'ReLU FFN', gelu_erf: 'GELU-erf FFN', gelu_tanh: 'GELU-tanh FFN' };

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 */
export function create(root, store) {
  const check = el('small');
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', check);
  const choice = el('div', { class: 'tabs', role: 'radiogroup', 'aria-label': 'Rows of the table' });
  let by = 'component';
  const buttons = [
    ['component', 'by component'],
    ['block', 'by block'],
  ].map(([key, name]) => {
    const b = el(
      'button',
      {
        type: 'button',
        role: 'radio',
        onclick: () => {
          by = key;
          store.set({ model: store.state.model });
        },
      },
      name,
    );
    choice.append(b);
    return { b, key };
  });
  roving(choice, () => buttons.map(({ b }) => b));
  const body = el('tbody');
  const foot = el('tfoot');
  const head = el(
    'thead',
    {},
    el(
      'tr',
      {},
      el('th', { scope: 'col' }, 'Component'),
      el('th', { scope: 'col' }, 'Formula'),
      el('th', { scope: 'col', class: 'n' }, 'Count'),
      el('th', { scope: 'col', class: 'n' }, 'Bytes'),
      el('th', { scope: 'col', class: 'share' }, 'Share'),
    ),
  );
  const table = el(
    'table',
    { class: 'by-component' },
    el('caption', { class: 'hidden' }, 'Parameters by component'),
    head,
    body,
    foot,
  );
  const COLUMNS = [
    'name',
    'component',
    'stack',
    'layer',
    'shape',
    'dtype',
    'count',
    'bytes',
    'formula',
    'tiedTo',
    'address',
    'memoryBytes',
  ];
  const cells = (/** @type {any} */ r) => COLUMNS.map((c) => (c === 'shape' ? r.shape.join(' × ') : (r[c] ?? '')));
  root.append(
    choice,
    el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Table of parameters' }, table),
    el(
      'div',
      { class: 'takes' },
      el(
        'button',
        {
          type: 'button',
          class: 'quiet',
          onclick: () =>
            saveFile('parameters.csv', csv([COLUMNS, ...store.state.model.parameters.rows.map(cells)]), 'text/csv'),
        },
        'Save as CSV',
      ),
      el(
        'button',
        {
          type: 'button',
          class: 'quiet',
          onclick: () =>
            saveFile('parameters.json', JSON.stringify(store.state.model.parameters, null, 1), 'application/json'),
        },
        'Save as JSON',
      ),
    ),
  );

  store.watch(['model'], ({ model }) => {
    if (!model) return;
    const { parameters: p, counted, config } = model;
    const inFile = p.rows.reduce((/** @type {number} */ n, /** @type {any} */ r) => n + r.count, 0);
    const same = inFile === counted && inFile === p.total;
    check.textContent = same
      ? `${int(inFile)} in the file, ${int(counted)} counted ✓`
      : `${int(inFile)} in the file, ${int(counted)} counted from its config: they differ`;
    check.classList.toggle('wrong', !same);
    check.dataset.total = String(inFile);

    for (const { b, key } of buttons) {
      b.setAttribute('aria-checked', String(key === by));
      b.tabIndex = key === by ? 0 : -1;
    }
    body.replaceChildren(
      ...(by === 'component' ? groups : blocks)(p.rows, config).flatMap((g) => groupRows(g, p.total)),
    );
    const dtypes = [...new Set(p.rows.map((/** @type {any} */ r) => r.dtype.toUpperCase()))].join(', ');
    foot.replaceChildren(
      el(
        'tr',
        { class: 'total' },
        el('th', { scope: 'row' }, 'Total'),
        el('td', { class: 'formula' }, `non-embedding ${int(p.nonEmbedding)} · ${dtypes}`),
        el('td', { class: 'n', 'data-role': 'total' }, int(p.total)),
        el('td', { class: 'n' }, int(p.bytes)),
        el('td', { class: 'share' }),
      ),
    );
  });
}

/** Where a tensor lies; several that are multiplied with the same input are packed as one matrix. */
function place(r, rows) {
  const others = rows
    .filter((o) => o !== r && o.address === r.address && !o.tiedTo)
    .map((o) => o.name.split('.').at(-2));
  return `at ${int(r.address)} in linear memory, ${int(r.memoryBytes)} bytes there${others.length ? `, one matrix with ${others.join(' and ')}` : ''}`;
}

/** A row for the component, and below it, folded, one for each of its tensors. */
function groupRows(g, total) {
  const bar = el('i');
  bar.style.inlineSize = `${(100 * g.count) / total}%`;
  const tensors = g.rows.map((r) =>
    el(
      'tr',
      { class: 'tensor', hidden: true },
      el('th', { scope: 'row' }, r.name),
      el(
        'td',
        { class: 'formula' },
        `[${r.shape.join(', ')}] ${r.tiedTo ? `= ${r.tiedTo}` : r.dtype.toUpperCase()}`,
        r.address ? el('span', { class: 'numbers' }, place(r, g.rows)) : null,
      ),
      el('td', { class: 'n' }, r.tiedTo ? '0' : int(r.count)),
      el('td', { class: 'n' }, int(r.tiedTo ? 0 : r.bytes)),
      el('td', { class: 'share' }),
    ),
  );
  const button = el(
    'button',
    {
      type: 'button',
      class: 'fold',
      'aria-expanded': 'false',
      onclick: () => {
        const open = button.getAttribute('aria-expanded') !== 'true';
        button.setAttribute('aria-expanded', String(open));
        for (const t of tensors) t.hidden = !open;
      },
    },
    g.name,
  );
  return [
    el(
      'tr',
      { class: 'group' },
      el('th', { scope: 'row' }, button),
      el('td', { class: 'formula' }, g.formula, g.numbers ? el('span', { class: 'numbers' }, `= ${g.numbers}`) : null),
      el('td', { class: 'n' }, g.tied ? '0' : int(g.count)),
      el('td', { class: 'n' }, int(g.bytes)),
      el(
        'td',
        { class: 'share' },
        el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
        el('span', { class: 'num' }, g.tied ? '' : percent(g.count / total)),
      ),
    ),
    ...tensors,
  ];
}

/** Rows of the file gathered by component and stack, with a formula that is shown only if it gives the count. */
export function groups(rows, config) {
  const found = new Map();
  for (const r of rows) {
    const key = `${r.component} ${r.stack ?? ''}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(r);
  }
  const place = (/** @type {any[]} */ list) => ORDER.indexOf(list[0].component);
  return [...found.values()]
    .sort((a, b) => place(a) - place(b))
    .map((list) => {
      const { component, stack } = list[0];
      const layers = new Set(list.map((r) => r.layer)).size;
      const count = list.reduce((n, r) => n + (r.tiedTo ? 0 : r.count), 0);
      const tied = list.every((r) => r.tiedTo);
      const two = config.kind === 'encoder_decoder' && stack;
      const blocks =
        list[0].layer === null ? '' : `, ${two ? `${layers} ${stack}` : layers} block${layers === 1 ? '' : 's'}`;
      const name =
        {
          embedding: 'Token embedding',
          position: 'Position embedding',
          attention: 'Attention',
          cross_attention: 'Cross-attention',
          ffn: FFN[config.ffn] ?? 'FFN',
          norm: 'Norms',
          final_norm: 'Final norm',
          head: 'Head',
        }[component] ?? component;
      const f = tied
        ? { formula: 'shared with the embedding', numbers: '' }
        : formulaOf(component, list, layers, config, count);
      return {
        name: `${name}${blocks}`,
        count,
        tied,
        bytes: list.reduce((n, r) => n + (r.tiedTo ? 0 : r.bytes), 0),
        rows: list,
        ...f,
      };
    });
}

/** The same rows gathered by block: what a token passes, in order. */
function blocks(rows, config) {
  const found = new Map();
  for (const r of rows) {
    const key = r.layer === null ? r.component : `${r.stack} ${r.layer}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(r);
  }
  return [...found.values()].map((list) => {
    const [whole] = groups(list, config);
    if (list[0].layer === null) return whole;
    const parts = groups(list, config);
    const name = `Block ${list[0].layer}${config.kind === 'encoder_decoder' ? ` of the ${list[0].stack}` : ''}`;
    const sum = (/** @type {'count' | 'bytes'} */ key) => parts.reduce((n, g) => n + g[key], 0);
    // one block: its parts' formulas without the factor 1
    const join = (/** @type {'formula' | 'numbers'} */ key) =>
      parts.map((g) => g[key].replace(/^1 · /, '')).join(' + ');
    return {
      name,
      count: sum('count'),
      bytes: sum('bytes'),
      tied: false,
      rows: list,
      formula: join('formula'),
      numbers: join('numbers'),
    };
  });
}

/** Formulas are products and sums of letters; the letters are put in, and the result is checked against the count. */
function formulaOf(component, rows, L, c, count) {
  const letters = {
    V: ['vocab', c.vocabSize],
    d: ['d', c.dModel],
    h: ['h', c.nHeads],
    g: ['h_kv', c.nKvHeads],
    e: ['d_head', c.dHead],
    f: ['d_ff', c.dFf],
    n: ['n_ctx', c.contextLength],
    L: ['', L],
  };
  const biases = rows
    .filter((r) => r.shape.length === 1 && component !== 'norm' && component !== 'final_norm')
    .reduce((n, r) => n + r.count, 0);
  const square = c.nHeads === c.nKvHeads && c.nHeads * c.dHead === c.dModel;
  const perBlock = component === 'norm' ? count / L / c.dModel : 0;
  const terms = {
    embedding: ['V d'],
    head: ['V d'],
    position: ['n d'],
    attention: square ? ['4 d²'] : ['2 h e d', '2 g e d'],
    cross_attention: ['4 d²'],
    ffn: [c.ffn === 'swiglu' ? '3 d f' : '2 d f'],
    norm: [`${perBlock} d`],
    final_norm: [rows.length === 2 ? '2 d' : 'd'],
  }[component];
  if (!terms) return { formula: `${rows.length} tensors`, numbers: '' };
  const value = (term) =>
    term.split(' ').reduce((n, w) => n * (w === 'd²' ? c.dModel ** 2 : letters[w] ? letters[w][1] : Number(w)), 1);
  const many = rows[0].layer !== null;
  const sum = terms.reduce((n, t) => n + value(t), 0) * (many ? L : 1) + biases;
  if (sum !== count) return { formula: `${rows.length} tensors, listed below`, numbers: '' };
  const words = (term) =>
    term
      .split(' ')
      .map((w) => letters[w]?.[0] ?? w)
      .join(' · ');
  const put = (term) =>
    term
      .split(' ')
      .map((w) => (w === 'd²' ? `${c.dModel}²` : letters[w] ? String(letters[w][1]) : w))
      .join(' · ');
  const wrap = (list, write) => {
    const inner = list.map(write).join(' + ');
    return `${many ? `${L} · ` : ''}${list.length > 1 && many ? `(${inner})` : inner}${biases ? ` + ${biases} ${component === 'attention' && c.qkNorm ? (c.biasQkv ? 'biases and q, k gains' : 'q, k gains') : 'biases'}` : ''}`;
  };
  return { formula: wrap(terms, words), numbers: wrap(terms, put) };
}
