// explanation.js - one number and the terms that made it, and from each term the way down to where its input was made,
// as far as the embedding; the way stays above as a trail that leads back.

import { el } from './dom.js';
import { far, int, percent, quoted, value } from './text/format.js';

const ROWS = 12;
const MORE = 100;

/** What a point's number is called. @type {[RegExp, string][]} */
const WORDS = [
  [/^logits$/, 'logit'],
  [/hook_embed$/, 'embedding'],
  [/hook_pos_embed$/, 'position'],
  [/hook_resid_pre$/, 'stream before the block'],
  [/hook_resid_mid$/, 'stream after attention'],
  [/hook_resid_mid_cross$/, 'stream after attending across'],
  [/hook_resid_post$/, 'stream after the block'],
  [/hook_scale$/, 'size in a norm'],
  [/ln_final\.hook_normalized$/, 'final norm'],
  [/hook_normalized$/, 'normalised'],
  [/hook_rot_q$/, 'query, turned'],
  [/hook_rot_k$/, 'key, turned'],
  [/hook_q$/, 'query'],
  [/hook_k$/, 'key'],
  [/hook_v$/, 'value'],
  [/scores_raw$/, 'score, undivided'],
  [/scores_scaled$/, 'score, unmasked'],
  [/scores$/, 'score'],
  [/pattern$/, 'weight'],
  [/hook_z$/, 'mixed values'],
  [/hook_result$/, 'head’s output'],
  [/cross_attn_out$/, 'heads’ output across'],
  [/attn_out$/, 'heads’ output'],
  [/mlp\.hook_pre$/, 'neuron before the bend'],
  [/mlp\.hook_pre_linear$/, 'neuron’s other half'],
  [/mlp\.hook_post$/, 'neuron'],
  [/mlp_out$/, 'FFN’s output'],
];

/** @typedef {{ at: string, position: number, head?: number, index?: number }} Cell */

/** A number of any size, small ones in powers of ten. */
const number = (/** @type {number} */ x) =>
  x === 0 || !Number.isFinite(x) || Math.abs(x) >= 1e-3 ? value(x) : `${x < 0 ? '−' : ''}${far(Math.abs(x))}`;

const keyed = (/** @type {string} */ at) => /scores|pattern/.test(at);

/**
 * @param {import('./state/store.js').State} state
 * @param {import('./state/run.js').Run} run
 * @param {string} of what is explained here, to tell one place from another
 */
export function createExplanation(state, run, of) {
  const steps = el('ol', { class: 'trail' });
  const way = el('nav', { 'aria-label': `Way to the ${of}` }, steps);
  const title = el('p', { class: 'number', tabindex: -1 });
  const formula = el('p');
  const head = el('tr');
  const body = el('tbody');
  const foot = el('tfoot');
  const table = el('table', {}, el('caption', { class: 'hidden' }, 'Terms'), el('thead', {}, head), body, foot);
  const down = el('button', { type: 'button' });
  const more = el('button', { type: 'button', class: 'quiet' });
  const note = el('p', { class: 'hint', 'aria-live': 'polite' });
  const box = el(
    'div',
    { hidden: true },
    way,
    title,
    formula,
    el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': `Terms of the ${of}` }, table),
    el('div', { class: 'buttons' }, down, more),
  );
  const root = el('div', { class: 'explanation' }, box, note);

  /** The way so far: the last is shown. @type {Cell[]} */
  let trail = [];
  let asking = new AbortController();
  /** @type {any} what the library answered for the last of the trail */
  let found = null;
  let shown = ROWS;

  const layerOf = (/** @type {string} */ at) => /^(?:blocks|encoder|decoder)\.(\d+)\./.exec(at)?.[1];
  const word = (/** @type {string} */ at) => WORDS.find(([pattern]) => pattern.test(at))?.[1] ?? at;
  /**
   * Positions of the point are those of the source in the encoder, and in keys and values made of it; so are its keys
   * across.
   */
  const tokensOf = (/** @type {string} */ at) =>
    /^encoder\.|cross_attn\.hook_[kv]$/.test(at) ? state.sourceTokens : state.tokens;
  const keysOf = (/** @type {string} */ at) => (/cross_attn/.test(at) ? state.sourceTokens : tokensOf(at));
  const token = (/** @type {any[]} */ list, /** @type {number} */ i) => (list[i] ? quoted(list[i]) : String(i));

  /**
   * Layer and name, for the trail.
   * @param {Cell} cell
   */
  function brief(cell) {
    const layer = layerOf(cell.at);
    return `${/^encoder/.test(cell.at) ? 'encoder ' : ''}${layer === undefined ? '' : `L${layer} `}${word(cell.at)}`;
  }
  /**
   * The place in it, in words.
   * @param {Cell} cell
   */
  function place({ at, position, head: h, index = 0 }) {
    const where = token(tokensOf(at), position);
    const own =
      at === 'logits'
        ? `of ${state.words.get(index) ? quoted({ text: state.words.get(index) ?? '', id: index }) : `token ${index}`} after ${where}`
        : keyed(at)
          ? `from ${where} to ${token(keysOf(at), index)}`
          : `${/hook_scale/.test(at) ? '' : `${/mlp\.hook/.test(at) ? '' : 'number '}${index} `}at ${where}`;
    return `${h === undefined ? '' : `head ${h}, `}${own}`;
  }

  /**
   * @param {Cell} cell
   * @param {boolean} [focus]
   */
  async function go(cell, focus = false) {
    asking.abort();
    const mine = (asking = new AbortController());
    root.setAttribute('aria-busy', 'true');
    try {
      if (cell.at === 'logits') await run.spell([cell.index ?? 0]);
      const answer = await run.explain(cell, mine.signal);
      if (mine !== asking) return;
      found = answer;
      shown = ROWS;
      note.textContent = '';
      paint();
      if (focus) title.focus();
    } catch (error) {
      if (mine !== asking) return;
      box.hidden = true;
      note.textContent = `${error instanceof Error ? error.message : error}.`;
    } finally {
      if (mine === asking) root.removeAttribute('aria-busy');
    }
  }

  function follow(/** @type {Cell} */ cell) {
    trail.push(cell);
    void go(cell, true);
  }
  const link = (/** @type {string} */ text, /** @type {Cell} */ cell) =>
    el(
      'button',
      { type: 'button', class: 'follow', title: `${cell.at}, ${place(cell)}`, onclick: () => follow(cell) },
      text,
    );

  /** A term under its own name, or under that of the token it stands for. */
  function name(/** @type {any} */ term) {
    const { how, at } = found;
    if (how === 'share' || /hook_z$/.test(at)) return `key ${term.from.index} ${token(keysOf(at), term.from.index)}`;
    if (/^q \d+ × k \d+$/.test(term.name)) return term.name.replace(/^q (\d+) .*/, 'dimension $1');
    const of = term.from?.at.endsWith(term.name) ? word(term.from.at) : term.name;
    return how === 'activation' ? word(term.from.at) : of;
  }

  /** The largest first; where one of them is the answer, that one before all. */
  function ordered() {
    if (found.how === 'product') return [...found.terms.keys()];
    const list = [...found.terms.keys()].sort(
      (a, b) => Math.abs(found.terms[b].value) - Math.abs(found.terms[a].value),
    );
    return found.how === 'share' ? [found.index, ...list.filter((/** @type {number} */ i) => i !== found.index)] : list;
  }

  function paint() {
    const { how, terms, divisor, computed } = found;
    box.hidden = false;
    way.hidden = trail.length < 2;
    steps.replaceChildren(
      ...trail.map((cell, i) =>
        el(
          'li',
          {},
          i === trail.length - 1
            ? el('span', { 'aria-current': 'step' }, brief(cell))
            : el(
                'button',
                {
                  type: 'button',
                  class: 'follow',
                  title: place(cell),
                  onclick: () => {
                    trail.length = i + 1;
                    void go(cell, true);
                  },
                },
                brief(cell),
              ),
        ),
      ),
    );
    const cell = trail[trail.length - 1];
    title.replaceChildren(
      `${brief(cell)}, ${place(cell)}: `,
      el('b', { class: 'mono', 'data-role': 'value' }, how === 'share' ? percent(found.value) : number(found.value)),
      ' ',
      el('small', { class: 'mono' }, found.at),
    );
    formula.textContent = how === 'masked' ? 'Masked: this position does not see that key.' : `= ${found.formula}`;

    const factors = how !== 'given' && terms.some((/** @type {any} */ t) => t.weight || t.times);
    const [first, last] = { share: ['score', 'e^(score − largest)'], root: ['deviation', 'squared'] }[
      /** @type {string} */ (how)
    ] ?? ['number', how === 'product' ? 'factor' : how === 'given' ? 'is' : 'adds'];
    const inputs = factors || (how !== 'given' && terms.some((/** @type {any} */ t) => t.input !== undefined));
    head.replaceChildren(
      ...['term', ...(inputs ? [first] : []), ...(factors ? ['times'] : []), last].map((text, i) =>
        el('th', { scope: 'col', class: i ? 'n' : null }, text),
      ),
    );
    const most = Math.max(...terms.map((/** @type {any} */ t) => Math.abs(t.value)), 1e-30);
    const order = ordered();
    body.replaceChildren(
      ...order.slice(0, shown).map((i) => {
        const t = terms[i];
        const bar = el('i');
        bar.style.inlineSize = `${(100 * Math.abs(t.value)) / most}%`;
        const times = t.times
          ? link(number(t.times.input), t.times.from)
          : t.weight
            ? el(
                'span',
                {
                  title: `${t.weight.name} [${t.weight.row}${t.weight.column === undefined ? '' : `, ${t.weight.column}`}]`,
                },
                number(t.weight.value),
              )
            : '';
        return el(
          'tr',
          { class: how === 'share' && i === found.index ? 'on' : null },
          el('th', { scope: 'row' }, t.from ? link(name(t), t.from) : name(t)),
          ...(inputs ? [el('td', { class: 'n' }, t.input === undefined ? '' : number(t.input))] : []),
          ...(factors ? [el('td', { class: 'n' }, times)] : []),
          el(
            'td',
            { class: 'n' },
            el('span', { class: `track${t.value < 0 ? ' less' : ''}`, 'aria-hidden': 'true' }, bar),
            el('span', { class: 'sum' }, number(t.value)),
          ),
        );
      }),
    );
    const rest = order.slice(shown);
    const width = 1 + Number(inputs) + Number(factors);
    const line = (/** @type {string} */ text, /** @type {string} */ x, role = '') =>
      el(
        'tr',
        {},
        el('th', { scope: 'row', colspan: width }, text),
        el('td', { class: 'n', 'data-role': role || null }, x),
      );
    const sum = terms.reduce((/** @type {number} */ a, /** @type {any} */ t) => a + t.value, 0);
    const restSum = rest.reduce((/** @type {number} */ a, /** @type {number} */ i) => a + terms[i].value, 0);
    const show = how === 'share' ? percent : number;
    table.hidden = how === 'masked';
    foot.replaceChildren(
      ...(rest.length ? [line(`${int(rest.length)} more`, number(restSum))] : []),
      ...{
        sum: () => [
          line(`sum of ${int(terms.length)}`, number(sum), 'sum'),
          ...(divisor === 1 ? [] : [line(`divided by ${number(divisor)}`, number(computed), 'computed')]),
        ],
        share: () => [
          line(`sum of ${int(terms.length)}`, number(divisor)),
          line('share of the first in it', percent(computed), 'computed'),
        ],
        root: () => [line(`root of the sum ÷ ${number(divisor)}`, number(computed), 'computed')],
        product: () => [line('product', number(computed), 'computed')],
        activation: () => [line(`${found.formula} of it`, number(computed), 'computed')],
        given: () => [],
        masked: () => [],
      }[/** @type {'sum'} */ (how)](),
      line('the engine has', show(found.value)),
    );
    more.hidden = !rest.length;
    more.textContent = `Show ${rest.length > MORE ? `${MORE} more` : `the other ${rest.length}`}`;
    const largest = terms[order.find((i) => terms[i].from) ?? -1];
    down.hidden = !largest;
    down.textContent = how === 'share' ? 'Follow the first' : 'Follow the largest';
    if (how === 'given')
      note.textContent = /hook_embed$/.test(found.at)
        ? 'Here the way ends: a number read from the table, as training left it.'
        : 'Here the way ends: what a place in the text is given.';
    else if (Math.abs(computed - found.value) > 2e-3 * Math.max(Math.abs(found.value), most / divisor))
      note.textContent =
        'The engine is a little off the sum: with quantised weights it rounds what it multiplies, too.';
  }

  down.addEventListener('click', () =>
    follow(found.terms[/** @type {number} */ (ordered().find((/** @type {number} */ i) => found.terms[i].from))].from),
  );
  more.addEventListener('click', () => {
    shown += MORE;
    paint();
    if (more.hidden) title.focus();
  });

  return {
    root,
    /**
     * Begin with this number.
     * @param {Cell} cell
     */
    show(cell) {
      trail = [cell];
      return go(cell);
    },
    /**
     * Nothing is chosen.
     * @param {string} words
     */
    clear(words) {
      asking.abort();
      asking = new AbortController();
      root.removeAttribute('aria-busy');
      trail = [];
      found = null;
      box.hidden = true;
      note.textContent = words;
    },
  };
}
