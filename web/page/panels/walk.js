// panels/walk.js - a guided walk: a dozen short stops, each setting the page up to show its point on the live model.

import { el } from '../dom.js';
import { int, percent, quoted } from '../format.js';

/**
 * @typedef {import('../store.js').State} State
 * @typedef {{ title: string, at: string, text: (s: State) => string, set?: (s: State) => Partial<State> }} Stop
 */

/** @type {Stop[]} */
const STOPS = [
  {
    title: 'Tokens', at: '.stream',
    text: (s) => `The model never sees letters. Your prompt is cut into ${s.tokens.filter((t) => t.given).length} pieces from a fixed list of ${int(s.model.config.vocabSize)}, and each piece is only a number. Point at a word to read its number; press Step to let the model add one.`,
  },
  {
    title: 'Embedding', at: '.anatomy', set: () => ({ openStage: 'embed' }),
    text: (s) => `Each number picks one row of a table: ${s.model.config.dModel} values that stand for the piece from here on. The grey strips on the left are these rows, stronger where a value is large. ${s.model.config.position === 'learned' ? 'A second row, chosen by the place in the text, is added.' : 'Nothing in them says yet where in the text the piece stands.'}`,
  },
  {
    title: 'One scale', at: '.anatomy', set: () => ({ openStage: 'norm1' }),
    text: () => 'Before anything reads a vector, it is brought to one size, so that no stage has to cope with very large or very small numbers. The stream itself, the thin line that runs straight past, is left as it is in this kind of block.',
  },
  {
    title: 'Query, key, value', at: '.anatomy', set: () => ({ openStage: 'qkv' }),
    text: (s) => `Three matrices turn each vector into a question (blue), a label (vermilion) and a message (green), once for each of ${s.model.config.nHeads} heads. ${s.model.config.position === 'rope' ? 'Questions and labels are then turned by an angle that grows with their place: this is how order gets in.' : ''}`,
  },
  {
    title: 'Scores', at: '.attention', set: () => ({ openStage: '', stage: 'raw', zoom: 'near' }),
    text: (s) => `A head multiplies each question with each label. Rows ask, columns are asked. Longer vectors give larger products, so the next stage divides by √${s.model.config.dHead}; switch between the two and watch the legend, not the picture.`,
  },
  {
    title: 'Mask', at: '.attention', set: () => ({ stage: 'masked' }),
    text: () => 'A word must not look at what comes after it: during writing there is nothing there yet, and in training it would be the answer. These cells are struck out, which is not the same as zero: they do not take part at all.',
  },
  {
    title: 'Softmax', at: '.attention', set: () => ({ stage: 'pattern' }),
    text: (s) => `Each row becomes weights that add up to 1. The list on the right writes the largest out for ${quoted(s.tokens[Math.max(0, s.cursor)] ?? { text: '', id: 0 })}. Choose other heads on the left: some always look one word back, some at the first token, some at the same word earlier.`,
  },
  {
    title: 'Values are mixed', at: '.anatomy', set: () => ({ openStage: 'heads' }),
    text: () => 'The messages are added up with these weights: the green ribbons that reach the lane in hand are as thick as their share. Then one more matrix brings the heads together, and the result is added to the stream.',
  },
  {
    title: 'The wide layer', at: '.anatomy', set: () => ({ openStage: 'ffn' }),
    text: (s) => `Now each position works by itself: ${s.model.config.dModel} values become ${s.model.config.dFf}, most of them are pushed towards zero, and what is left is brought back. ${percent(s.model.parameters.rows.filter((r) => r.component === 'ffn').reduce((n, r) => n + r.count, 0) / s.model.parameters.total)} of all parameters are in these layers.`,
  },
  {
    title: 'The stream', at: '.anatomy', set: () => ({ openStage: 'resid' }),
    text: (s) => `Both halves of a block only add to the stream; nothing overwrites it. ${s.model.config.nLayers} blocks do this one after another, each with weights of its own. Step through the layers above the picture.`,
  },
  {
    title: 'Back to words', at: '.parameters', set: () => ({ openStage: '' }),
    text: (s) => (s.model.config.tieWordEmbeddings ? 'The last vector is compared with every row of the embedding table, the same one as at the beginning. That is why the table below counts the head as 0: it is shared, not forgotten.' : 'The last vector is compared with one row for each token. This head is a table of its own here, as large as the embedding.'),
  },
  {
    title: 'Choosing', at: '.next',
    text: () => 'The result is a chance for every piece of the list. Temperature flattens or sharpens it, top-k and top-p cut its tail: move the sliders and watch the bars, the model need not run again. Choose another bar than the one drawn, and the text goes on from there.',
  },
  {
    title: 'Who decided', at: '.lens-card',
    text: () => 'Because every part only adds to the stream, the stream can be read with the head after any layer: the table shows the guess growing from left-overs of the input to the answer. Beside it, the score of the chosen token is split into what each head and each wide layer gave to it or took away.',
  },
  {
    title: 'Remembering', at: '.memory',
    text: (s) => `Keys and values of what was read do not change, so they are kept: one more token costs one row, not the whole text again. Here that is ${int((2 * s.model.config.nLayers * s.model.config.nKvHeads * s.model.config.dHead) * 4)} bytes a token. The green part of the map grows as the text does.`,
  },
  {
    title: 'Take it apart', at: '.ablate',
    text: () => 'Where a head looks is not yet what it is for. Switch parts off and see what becomes of the text. Then load a model of your own: nothing leaves this page.',
  },
];

/** @param {HTMLElement} root @param {import('../store.js').Store} store */
export function create(root, store) {
  const { state } = store;
  const title = el('h2', { id: 'h-walk' });
  const text = el('p');
  const count = el('span', { class: 'num' });
  const back = el('button', { type: 'button', onclick: () => go(state.walk - 1) }, 'Back');
  const on = el('button', { type: 'button', class: 'primary', onclick: () => (state.walk + 1 < STOPS.length ? go(state.walk + 1) : leave()) }, 'Next');
  root.append(title, text, el('div', { class: 'walk-foot' }, count, el('button', { type: 'button', class: 'quiet', onclick: leave }, 'Leave'), back, on));
  const start = /** @type {HTMLElement} */ (document.querySelector('[data-role="walk"]'));
  start.addEventListener('click', () => (state.walk < 0 ? go(Number(localStorage.getItem('walk')) || 0) : leave()));
  root.addEventListener('keydown', (event) => { if (event.key === 'Escape') leave(); });

  let focus = false;   // a hidden button cannot take it: the repaint that shows it hands it over
  function go(i) {
    const stop = STOPS[i];
    if (!stop || !state.model) return;
    localStorage.setItem('walk', String(i));
    store.set({ ...(stop.set?.(state) ?? {}), walk: i });
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    document.querySelector(stop.at)?.scrollIntoView({ block: 'start', behavior: still ? 'auto' : 'smooth' });
    focus = true;
  }
  function leave() {
    if (state.walk + 1 >= STOPS.length) localStorage.removeItem('walk');
    store.set({ walk: -1 });
    start.focus({ preventScroll: true });
  }

  store.watch(['walk', 'model', 'cursor'], (s) => {
    const stop = s.model ? STOPS[s.walk] : undefined;
    root.hidden = !stop;
    start.setAttribute('aria-pressed', String(!!stop));
    for (const card of document.querySelectorAll('.walk-here')) card.classList.remove('walk-here');
    if (!stop) return;
    document.querySelector(stop.at)?.classList.add('walk-here');
    title.textContent = stop.title;
    text.textContent = stop.text(s);
    count.textContent = `${s.walk + 1} of ${STOPS.length}`;
    back.hidden = s.walk === 0;
    on.textContent = s.walk + 1 < STOPS.length ? 'Next' : 'Done';
    if (focus) on.focus({ preventScroll: true });
    focus = false;
  });
}
