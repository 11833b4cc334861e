// branches.js - texts that were left behind by choosing another token: each can be taken up again, and compared with
// the present one, side by side from the token at which they part.

import { el } from './dom.js';
import { figures, percent, quoted } from './text/format.js';
import { parting } from './state/run.js';

const SHARED = 8; // tokens before the parting that are shown
const SHOWN = 24; // of a text in the list

/** @typedef {import('./state/store.js').Token} Token */

/**
 * @param {import('./state/store.js').Store} store
 * @param {import('./state/run.js').Run} run
 */
export function createBranches(store, run) {
  const { state } = store;
  const list = el('ol', { class: 'branches', 'aria-label': 'Texts left behind' });
  const beside = el('div', {
    class: 'beside',
    id: 'beside',
    role: 'group',
    'aria-label': 'Two texts compared',
    hidden: true,
  });
  const root = el('div', { hidden: true }, list, beside);
  let chosen = -1; // which of them is compared
  let job = new AbortController();

  const words = (/** @type {Token[]} */ tokens) => tokens.map((t) => t.text).join('');

  function paintList() {
    const focused = [...list.querySelectorAll('button')].indexOf(/** @type {any} */ (document.activeElement));
    if (chosen >= state.branches.length) {
      chosen = -1;
      void compare(); // closes what is open
    }
    root.hidden = !state.branches.length;
    list.replaceChildren(
      ...state.branches.map((b, i) =>
        el(
          'li',
          {},
          el('button', { type: 'button', onclick: () => run.takeUp(i) }, `Back to ${quoted(b.tokens[b.at])}`),
          el(
            'button',
            {
              type: 'button',
              'aria-expanded': String(i === chosen),
              'aria-controls': beside.id,
              onclick: () => {
                chosen = i === chosen ? -1 : i;
                paintList();
                void compare();
              },
            },
            'Compare',
          ),
          el(
            'span',
            { class: 'story' },
            el('span', { class: 'branch-at' }, `…${words(b.tokens.slice(Math.max(0, b.at - 3), b.at))}`),
            words(b.tokens.slice(b.at, b.at + SHOWN)),
            b.tokens.length > b.at + SHOWN ? '…' : '',
          ),
        ),
      ),
    );
    if (focused >= 0) list.querySelectorAll('button')[focused]?.focus();
  }

  /**
   * Bits of each token from there on: as they were told while the text was written, or asked for now.
   * @param {Token[]} tokens
   * @param {number} at
   * @param {AbortSignal} signal
   */
  async function bitsOf(tokens, at, signal) {
    const known = tokens.slice(at).map((t) => t.logprob);
    if (known.every((x) => x !== null)) return known.map((x) => -x / Math.LN2);
    return (
      await run.lossOf(
        tokens.map((t) => t.id),
        [],
        signal,
      )
    ).bits.slice(at - 1);
  }

  async function compare() {
    job.abort();
    const mine = (job = new AbortController());
    const branch = state.branches[chosen];
    beside.hidden = !branch;
    if (!branch || state.status === 'running') return;
    const texts = [[...state.tokens], branch.tokens];
    const at = parting(texts[0], texts[1]);
    try {
      const bits = [await bitsOf(texts[0], at, mine.signal), await bitsOf(texts[1], at, mine.signal)];
      if (mine === job) show(texts, bits, at);
    } catch (error) {
      if (!mine.signal.aborted && state.branches.includes(branch))
        store.set({ error: error instanceof Error ? error.message : String(error) });
    }
  }

  /**
   * @param {Token[][]} texts
   * @param {number[][]} bits
   * @param {number} at
   */
  function show(texts, bits, at) {
    const sum = (/** @type {number[]} */ list) => list.reduce((a, b) => a + b, 0);
    const column = (/** @type {string} */ name, /** @type {number} */ i) =>
      el(
        'div',
        {},
        el('h3', {}, name),
        el(
          'p',
          { class: 'story', role: 'region', tabindex: 0, 'aria-label': name },
          el(
            'span',
            { class: 'branch-at' },
            `${at > SHARED ? '…' : ''}${words(texts[i].slice(Math.max(0, at - SHARED), at))}`,
          ),
          ...texts[i].slice(at).flatMap((t, k) => {
            // a line may end in a blank, which is not shaded
            const [, blank, word] = /** @type {string[]} */ (/^(\s*)([^]*)$/.exec(t.text));
            return [
              blank,
              el(
                'span',
                {
                  class: `word${k ? '' : ' changed'} shade-${Math.min(4, Math.floor((1 - 2 ** -bits[i][k]) * 5))}`,
                  title: `${quoted(t)}: ${figures(bits[i][k])} bits`,
                },
                word,
              ),
            ];
          }),
        ),
        el(
          'p',
          { class: 'num' },
          bits[i].length
            ? `log₂ p = ${figures(-sum(bits[i]))} over ${bits[i].length} token${bits[i].length === 1 ? '' : 's'}, ${figures(sum(bits[i]) / bits[i].length)} bits each`
            : 'nothing is written here',
        ),
      );
    const n = Math.min(bits[0].length, bits[1].length);
    const by = n ? sum(bits[1].slice(0, n)) - sum(bits[0].slice(0, n)) : 0;
    const first = (/** @type {number} */ i) => `${quoted(texts[i][at])} ${percent(2 ** -bits[i][0])}`;
    beside.replaceChildren(
      column('This text', 0),
      column('The one left behind', 1),
      el(
        'p',
        { class: 'hint' },
        n
          ? `They part after ${quoted(texts[0][at - 1])}: the model gave ${first(0)}, ${first(1)}. Over the ${n === 1 ? 'one token' : `${n} tokens`} that both have, ${by >= 0 ? 'this text' : 'the one left behind'} is the likelier, by ${figures(Math.abs(by))} bits.`
          : '',
      ),
    );
  }

  store.watch(['branches'], paintList);
  store.watch(['branches', 'tokens', 'status'], () => {
    if (chosen >= 0) void compare();
  });
  return root;
}
