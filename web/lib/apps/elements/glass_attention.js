// glass_attention.js - <glass-attention>: the pattern of every head as a small picture, the chosen one large
import { step } from '../../../draw/cell_cursor.js';
import { palette } from '../../../draw/heatmap.js';
import { MatrixPainter, cellAt, layoutOf } from '../../../draw/matrix.js';
import { measured } from '../../../draw/measured.js';
import { patternSource } from '../../../draw/pattern_source.js';
import { roving } from '../../../draw/roving.js';
import { Tiles } from '../../../draw/tiles.js';
import { percent } from '../../../draw/written.js';
import { label, storeOf, tokensOf } from './plain_data.js';
import { made } from './dom.js';
import { Figure } from './figure_element.js';
import { readPattern, readTokens } from './read_model.js';

/** @typedef {import('../../../draw/matrix.js').Inks & Record<'hot' | 'cold', string>} Inks */
/** @typedef {import('../../../draw/pattern_store.js').PatternStore} PatternStore */

const INKS = ['q', 'k', 'p', 'line', 'dim', 'text', 'hot', 'cold'];
/** px that the cells may take. */
const TALL = 440;
const TALL_COMPACT = 200;

export class AttentionFigure extends Figure {
  /** @override */
  static observedAttributes = [...Figure.observedAttributes, 'layer', 'head'];

  /**
   * @type {{ queries: import('./plain_data.js').Token[], keys: import('./plain_data.js').Token[], rows: PatternStore }
   *   | null}
   */
  #shown = null;
  #at = { layer: 0, head: 0 };
  #asked = Infinity; // row that is framed when other data comes; the last one, unless it was set
  #cell = { query: this.#asked, key: /** @type {number | null} */ (null) };
  #size = ''; // layers and heads that the grid has
  #grid = made('div', { class: 'grid', role: 'radiogroup', 'aria-label': 'Layer and head' });
  #canvas = made('canvas');
  #said = made('p', { class: 'hint cell', id: 'cell', 'aria-live': 'polite' });
  #matrix = made(
    'div',
    { class: 'matrix', tabindex: 0, role: 'application', 'aria-describedby': 'cell' },
    this.#canvas,
  );
  #probes = made('span', { hidden: '' }, ...INKS.map((name) => made('i', { class: `ink-${name}` })));
  #painter = new MatrixPainter(this.#canvas);
  #tiles = new Tiles();
  #layout = /** @type {import('../../../draw/matrix.js').Layout | null} */ (null);
  /** Colours, and what they were made of. */
  #style = { of: '', colors: new Uint32Array(256), inks: /** @type {Inks} */ ({}), font: '' };
  #ends = /** @type {(() => void)[]} */ ([]);

  constructor() {
    super();
    roving(() => this.#heads)(this.#grid);
    const right = made('div', {}, this.#matrix, this.#said);
    this.frame = made('div', { class: 'two' }, this.#grid, right);
    this.shadowRoot?.append(this.#probes);
    this.#canvas.addEventListener('click', (event) => {
      const at = this.#canvas.getBoundingClientRect();
      const cell = this.#layout && cellAt(this.#layout, event.clientX - at.left, event.clientY - at.top);
      if (cell) this.#choose(cell);
    });
    this.#matrix.addEventListener('keydown', (event) => this.#press(event));
  }

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const paint = () => this.#paint();
    scheme.addEventListener('change', paint);
    this.#ends = [measured(paint)(this.#matrix), () => scheme.removeEventListener('change', paint)];
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    for (const end of this.#ends) end();
  }

  /** @override @param {string} name @param {string | null} _ @param {string | null} value */
  attributeChangedCallback(name, _, value) {
    if (name === 'layer' || name === 'head') this.#move({ ...this.#at, [name]: Number(value) || 0 });
    else super.attributeChangedCallback(name, _, value);
  }

  /** Counted from 0, as in the library. */
  get layer() {
    return this.#at.layer;
  }
  set layer(layer) {
    this.#move({ ...this.#at, layer });
  }
  get head() {
    return this.#at.head;
  }
  set head(head) {
    this.#move({ ...this.#at, head });
  }

  /** The chosen query, also the row that the large picture frames. */
  get query() {
    return Math.max(0, Math.min(this.#known - 1, this.#cell.query));
  }
  set query(query) {
    this.#asked = query;
    this.#cell = { query, key: null };
    this.#paint();
  }

  get #heads() {
    return this.#shown?.rows.nHeads ?? 1;
  }

  /** Rows of the chosen layer whose token is shown: while a model writes, more may have come. */
  get #known() {
    return this.#shown ? Math.min(this.#shown.rows.known(this.#at.layer), this.#shown.queries.length) : 0;
  }

  /** @override @param {any} data */
  show(data) {
    const queries = tokensOf(data?.tokens);
    const keys = data.keys ? tokensOf(data.keys, 'keys') : queries;
    const rows = storeOf(data.pattern, queries.length, keys.length);
    this.#shown = { queries, keys, rows };
    this.#cell = { query: this.#asked, key: null };
    const size = `${rows.nLayers} ${rows.nHeads}`;
    if (size !== this.#size) this.#build(rows);
    this.#size = size;
    if (this.frame.parentNode !== this.body) this.body.replaceChildren(this.frame);
    this.#move(this.#at);
  }

  /** @override @param {import('../../api/model.js').Model} model @param {AbortSignal} signal */
  async read(model, signal) {
    const { ids, tokens } = await readTokens(model, this.text);
    const { pattern } = await readPattern(model, ids, signal);
    if (!signal.aborted) this.show({ tokens, pattern });
  }

  /** @param {PatternStore} rows */
  #build({ nLayers, nHeads }) {
    this.#grid.style.setProperty('--columns', String(nHeads));
    this.#grid.replaceChildren();
    for (let layer = 0; layer < nLayers; layer++) {
      this.#grid.append(made('span', { class: 'row-label', 'aria-hidden': 'true' }, `L${layer + 1}`));
      for (let head = 0; head < nHeads; head++) {
        const name = {
          type: 'button',
          class: 'tile',
          role: 'radio',
          'aria-label': `layer ${layer + 1}, head ${head + 1}`,
        };
        const canvas = made('canvas', { width: 16, height: 16 });
        const tile = made('button', name, made('span', { class: 'crop' }, canvas));
        tile.addEventListener('click', () => {
          this.#move({ layer, head });
          this.announce('choose', this.#chosen());
        });
        this.#grid.append(tile);
      }
    }
    const single = nLayers * nHeads === 1;
    this.#grid.hidden = single;
    this.frame.classList.toggle('single', single);
    this.#style.of = ''; // new pictures have no colours yet
  }

  /** @param {{ layer: number, head: number }} to */
  #move(to) {
    this.#at = to;
    if (!this.#shown) return;
    const { nLayers, nHeads } = this.#shown.rows;
    const within = (/** @type {number} */ x, /** @type {number} */ count) =>
      Math.max(0, Math.min(count - 1, Math.trunc(x)));
    const { layer, head } = (this.#at = { layer: within(to.layer, nLayers), head: within(to.head, nHeads) });
    for (const [i, tile] of this.#grid.querySelectorAll('.tile').entries()) {
      const on = i === layer * nHeads + head;
      tile.setAttribute('aria-checked', String(on));
      tile.setAttribute('tabindex', on ? '0' : '-1');
    }
    this.#matrix.setAttribute('aria-label', `Attention of layer ${layer + 1}, head ${head + 1}`);
    this.#paint();
  }

  #chosen() {
    return { ...this.#at, query: this.query, key: this.#cell.key };
  }

  /** @param {{ query: number, key: number }} cell */
  #choose(cell) {
    this.#cell = cell;
    this.#paint();
    this.announce('choose', this.#chosen());
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const size = { queries: this.#known, keys: this.#shown?.keys.length ?? 0 };
    const to = step(event.key, this.#cell, size);
    if (!to) return;
    event.preventDefault();
    this.#choose(to);
  }

  #paint() {
    const shown = this.#shown;
    const width = this.#matrix.clientWidth;
    if (!shown || !width) return;
    const { queries, keys, rows } = shown;
    const pictures = [...this.#grid.querySelectorAll('canvas')].map((canvas, i) => ({
      canvas,
      layer: Math.floor(i / rows.nHeads),
      head: i % rows.nHeads,
    }));
    this.#restyle(pictures);
    const slice = () => {
      if (
        this.#shown === shown &&
        !this.#tiles.paint(pictures, rows, Math.max(rows.most, rows.causal ? 0 : keys.length))
      )
        requestAnimationFrame(slice);
    };
    slice();
    const n = this.#known;
    if (!n) return;
    const m = rows.causal ? n : keys.length;
    this.#layout = layoutOf({ width, tall: this.hasAttribute('compact') ? TALL_COMPACT : TALL, first: 0, n, m });
    const source = { ...patternSource(rows, this.#at, rows.causal), n, m };
    const { query } = this;
    const row = source.row(query) ?? new Float32Array(1);
    const key = this.#cell.key ?? row.indexOf(Math.max(...row));
    const labels = { queries: queries.slice(0, n).map(label), keys: keys.slice(0, m).map(label), earlier: [] };
    this.#painter.paint(
      { layout: this.#layout, source, chosen: { query, key }, ...labels },
      this.#style.colors,
      this.#style,
    );
    const share = key < row.length ? `gives ${percent(row[key])} of its attention to` : 'cannot see';
    const words = `“${label(queries[query])}” (${query}) ${share} “${label(keys[key])}” (${key})`;
    this.#said.textContent = `Layer ${this.#at.layer + 1}, head ${this.#at.head + 1}: ${words}.`;
  }

  /** @param {import('../../../draw/tiles.js').Tile[]} pictures */
  #restyle(pictures) {
    const colors = INKS.map((name, i) => [name, getComputedStyle(this.#probes.children[i]).color]);
    const font = getComputedStyle(this.#canvas).fontFamily;
    const of = `${colors} ${font}`;
    if (of === this.#style.of) return;
    const inks = /** @type {Inks} */ (Object.fromEntries(colors));
    this.#style = { of, inks, font, colors: palette(inks.cold, inks.hot) };
    this.#tiles.recolor(pictures, this.#style.colors);
  }
}
