// training/film.js - attention while it forms: every layer and head over one sentence, a frame for each look taken.

import { el } from '../dom.js';
import { label, percent } from '../text/format.js';
import { Triangle, paletteOf } from '../draw/heatmap.js';
import { PatternStore } from '../state/patterns.js';
import { superfluous } from './thin.js';

// What a head may turn out to do: the weight that a query puts on some keys, null where there is no such key. The last
// is what Olsson et al. 2022 call induction.
const HABITS = /** @type {[string, (row: Float32Array, q: number, ids: number[]) => number | null][]} */ ([
  ['itself', (row, q) => row[q]],
  ['the token before', (row, q) => row[q - 1]],
  ['the first token', (row, q) => (q > 1 ? row[0] : null)],
  [
    'what followed the same token earlier',
    (row, q, ids) =>
      row.reduce(
        (/** @type {number | null} */ sum, w, k) => (k > 0 && k < q && ids[k - 1] === ids[q] ? (sum ?? 0) + w : sum),
        null,
      ),
  ],
]);

/**
 * @typedef
 *   {{ step: number, patterns: PatternStore, node: HTMLElement, triangles: { layer: number, head: number, triangle: Triangle }[], habits: number[][] }}
 *   Frame
 */

/**
 * @returns
 *   {{ node: HTMLElement, clear: (tokens: { id: number, text: string }[]) => void, add: (step: number, config: any, captured: any) => void, repaint: () => void }}
 */
export function createFilm() {
  const strip = el('ol', { class: 'film', tabindex: 0, 'aria-label': 'Attention over the sentence, oldest to newest' });
  const sentence = el('p', { class: 'sentence' });
  const said = el('p', { class: 'hint' });
  const look = el('select', { id: 'film-look' });
  const which = el('select', { id: 'film-head' });
  const weights = el('table');
  const details = el(
    'details',
    { class: 'as-table' },
    el('summary', {}, 'As a table'),
    el(
      'div',
      { class: 'controls' },
      el('span', { class: 'control' }, el('label', { for: 'film-look' }, 'look'), look),
      el('span', { class: 'control' }, el('label', { for: 'film-head' }, 'head'), which),
    ),
    el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Weights of one head' }, weights),
  );
  const node = el(
    'div',
    { class: 'film-box', hidden: true },
    el('h3', {}, 'Heads form'),
    sentence,
    strip,
    said,
    details,
  );
  let words = /** @type {string[]} */ ([]);
  let ids = /** @type {number[]} */ ([]);
  let frames = /** @type {Frame[]} */ ([]);

  function paint(/** @type {Frame} */ frame, colors) {
    const n = frame.patterns.length;
    for (const { layer, head, triangle } of frame.triangles) {
      triangle.clear(n);
      triangle.paint(n, (q) => frame.patterns.row(layer, head, q), colors);
    }
  }
  const colorsNow = () => paletteOf(/** @type {Element} */ (strip.querySelector('.crop')));

  /** In the order of HABITS: the mean over the queries that have such a key. */
  function habitsOf(/** @type {PatternStore} */ patterns, layer, head) {
    return HABITS.map(([, of]) => {
      let sum = 0,
        n = 0;
      for (let q = 1; q < patterns.length; q++) {
        const weight = of(/** @type {Float32Array} */ (patterns.row(layer, head, q)), q, ids);
        if (weight !== null) {
          sum += weight;
          n++;
        }
      }
      return n ? sum / n : 0;
    });
  }

  function tell() {
    const [first, last] = [frames[0], frames[frames.length - 1]];
    if (first === last) {
      said.textContent =
        'Rows are queries, columns keys: before it has learnt anything a head looks at all tokens alike.';
      return;
    }
    let best = { rise: 0, text: 'No head has taken up a habit yet.' };
    last.triangles.forEach(({ layer, head }, i) =>
      HABITS.forEach(([name], h) => {
        const [from, to] = [first.habits[i][h], last.habits[i][h]];
        if (to - from > Math.max(best.rise, 0.05))
          best = {
            rise: to - from,
            text: `Layer ${layer}, head ${head} has turned to ${name}: ${percent(from)} of its weight at step ${first.step}, ${percent(to)} at step ${last.step}.`,
          };
      }),
    );
    said.textContent = best.text;
  }

  /** The rows of one head at one look; the newest, unless another was chosen. */
  function tabulate() {
    if (!details.open || !frames.length) return;
    const newest = look.value === '' || look.selectedIndex === look.options.length - 1;
    look.replaceChildren(
      ...frames.map(({ step }) =>
        el('option', { value: step, selected: !newest && String(step) === look.value }, `step ${step}`),
      ),
    );
    if (newest || look.selectedIndex < 0) look.selectedIndex = frames.length - 1;
    const { patterns, triangles } = frames[look.selectedIndex];
    if (which.options.length !== triangles.length)
      which.replaceChildren(...triangles.map((t, i) => el('option', { value: i }, `layer ${t.layer}, head ${t.head}`)));
    const { layer, head } = triangles[Math.max(0, which.selectedIndex)];
    weights.replaceChildren(
      el('caption', { class: 'hidden' }, 'Weights, a row for each query, a column for each key'),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'col' }, 'query \\ key'),
          ...words.map((word) => el('th', { scope: 'col' }, word)),
        ),
      ),
      el(
        'tbody',
        {},
        ...words.map((word, q) =>
          el(
            'tr',
            {},
            el('th', { scope: 'row' }, word),
            ...Array.from(patterns.row(layer, head, q) ?? [], (w) => el('td', {}, percent(w))),
          ),
        ),
      ),
    );
  }
  details.addEventListener('toggle', tabulate);
  for (const select of [look, which]) select.addEventListener('change', tabulate);

  return {
    node,
    /** Begin again with this sentence. */
    clear(tokens) {
      ids = tokens.map((t) => t.id);
      words = tokens.map(label);
      frames = [];
      look.replaceChildren();
      which.replaceChildren();
      weights.replaceChildren();
      strip.replaceChildren();
      sentence.replaceChildren(...tokens.flatMap((t) => [el('span', { class: 'piece' }, label(t)), ' ']));
      node.hidden = true;
    },
    /** A look at step `step`: the patterns of one pass over the sentence. */
    add(step, config, captured) {
      const patterns = new PatternStore(config.nLayers, config.nHeads);
      patterns.append(captured);
      const cells = [];
      const triangles = [];
      const habits = [];
      for (let layer = 0; layer < config.nLayers; layer++)
        for (let head = 0; head < config.nHeads; head++) {
          const canvas = el('canvas');
          const own = habitsOf(patterns, layer, head);
          cells.push(
            el(
              'span',
              {
                class: 'crop',
                role: 'img',
                title: `layer ${layer}, head ${head}`,
                'aria-label': `layer ${layer}, head ${head}: ${HABITS.map(([name], h) => `${percent(own[h])} on ${name}`).join(', ')}`,
              },
              canvas,
            ),
          );
          triangles.push({ layer, head, triangle: new Triangle(canvas) });
          habits.push(own);
        }
      const small = el('div', { class: 'small-heads' }, ...cells);
      small.style.setProperty('--columns', String(config.nHeads));
      const frame = {
        step,
        patterns,
        node: el('li', {}, el('span', { class: 'num' }, `step ${step}`), small),
        triangles,
        habits,
      };
      const atEnd = strip.scrollLeft + strip.clientWidth >= strip.scrollWidth - 8;
      frames.push(frame);
      strip.append(frame.node);
      const gone = superfluous(frames);
      if (gone !== null) frames.splice(gone, 1)[0].node.remove();
      node.hidden = false;
      paint(frame, colorsNow());
      if (atEnd) strip.scrollLeft = strip.scrollWidth;
      tell();
      tabulate();
    },
    /** In the colours of another theme. */
    repaint() {
      if (!frames.length) return;
      const colors = colorsNow();
      for (const { triangles } of frames) for (const { triangle } of triangles) triangle.recolor(colors);
    },
  };
}
