// panels/lens.js - where the answer comes from: what each layer would already say, and who voted for the chosen token.

import { el } from '../dom.js';
import { figures, label, percent, quoted } from '../format.js';
import { attribution, lens, readable } from '../lens.js';
import { distribution } from '../sampler.js';

const COLUMNS = 9;
const PLAIN = { temperature: 1, topK: 0, topP: 1 };

/** @param {HTMLElement} root @param {import('../store.js').Store} store @param {import('../run.js').Run} run */
export function create(root, store, run) {
  const { state } = store;
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', el('small', {}, 'the stream read with the model’s own head'));
  const table = el('table', { class: 'lens' });
  const lensNote = el('p', { class: 'hint' }, 'Each cell is the likeliest next token if the layers after it were left out; the darker, the surer. The number is the length of the stream there.');
  const who = el('h3');
  const grid = el('div', { class: 'votes', role: 'group', 'aria-label': 'Votes by layer and head' });
  const lists = el('div', { class: 'vote-lists' });
  const sum = el('p', { class: 'hint' });
  root.append(el('div', { class: 'lens-split' },
    el('div', {}, el('h3', {}, 'Logit lens'), el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Logit lens' }, table), lensNote),
    el('div', {}, who, grid, lists, sum)));

  let job = new AbortController();
  let done = '';
  let seen = false;

  async function work() {
    const s = state;
    if (!s.model || root.hidden || !seen || s.status === 'running' || s.cursor < 0 || !s.tokens[s.cursor]) return;
    const logits = s.logits.get(s.cursor);
    if (!logits) return;   // on its way: the change of logits calls again
    const ids = s.tokens.slice(0, s.cursor + 1).map((t) => t.id);
    const drawn = s.tokens[s.cursor + 1];
    const token = drawn?.id ?? distribution(logits, PLAIN, 1).candidates[0].id;
    const key = `${ids.join()} ${token}`;
    if (done === key) return;
    done = key;
    job.abort();
    const mine = (job = new AbortController());
    try {
      const first = Math.max(0, ids.length - COLUMNS);
      const read = await lens(s.model.api, ids, first, mine.signal);
      const tops = read.logits.map((list) => list.map((x) => distribution(x, PLAIN, 1)));
      await run.spell([token, ...tops.flat().map((d) => d.candidates[0].id)]);
      if (mine !== job) return;
      paintLens(read, tops, first);
      const votes = await attribution(s.model.api, ids, token, mine.signal);
      if (mine === job) paintVotes(votes, token);
    } catch (error) {
      if (mine.signal.aborted) return;
      done = '';
      lensNote.textContent = error instanceof Error ? `${error.message}.` : String(error);
    }
  }

  function paintLens({ norms }, tops, first) {
    const columns = tops[0].length;
    const word = (/** @type {number} */ id) => label({ id, text: state.words.get(id) ?? '' });
    const truth = Array.from({ length: columns }, (_, i) => state.tokens[first + i + 1]?.id);
    table.replaceChildren(
      el('caption', { class: 'hidden' }, 'Likeliest next token by layer and position'),
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'after'), ...Array.from({ length: columns }, (_, i) => el('th', { scope: 'col' }, label(state.tokens[first + i]))), el('th', { scope: 'col', class: 'n' }, 'length'))),
      el('tbody', {}, ...tops.map((list, l) => el('tr', {}, el('th', { scope: 'row' }, l === 0 ? 'embedding' : `layer ${l - 1}`),
        ...list.map((d, i) => {
          const { id, model } = d.candidates[0];
          const cell = el('td', { class: `${i === columns - 1 ? 'here' : ''}${truth[i] === id ? ' right' : ''}`, title: `${percent(model)}, entropy ${figures(d.entropy)} bits` }, word(id), el('span', { class: 'hidden' }, ` ${percent(model)}`));
          cell.style.setProperty('--p-cell', `${Math.round(model * 55)}%`);
          return cell;
        }), el('td', { class: 'n' }, figures(norms[l][columns - 1]))))),
      el('tfoot', {}, el('tr', {}, el('th', { scope: 'row' }, 'the text'), ...truth.map((id, i) => el('td', {}, id === undefined ? '?' : label(state.tokens[first + i + 1]))), el('td', {}))));
  }

  function paintVotes(votes, token) {
    const { config } = state.model;
    const text = state.words.get(token) ?? '';
    who.textContent = `Who voted for ${quoted({ id: token, text })} after ${quoted(state.tokens[state.cursor])}`;
    const all = [votes.embedding, ...votes.heads.flat(), ...votes.ffn];
    const most = Math.max(...all.map(Math.abs), 1e-9);
    grid.style.setProperty('--columns', String(config.nHeads));
    const cell = (/** @type {string} */ name, /** @type {number} */ v, /** @type {(() => void) | null} */ act, /** @type {string} */ cls) => {
      const b = el('button', { type: 'button', class: `vote ${v < 0 ? 'against' : 'for'} ${cls}`, title: `${name}: ${v >= 0 ? '+' : '−'}${figures(Math.abs(v))}`, onclick: act ?? (() => {}) }, el('span', { class: 'hidden' }, `${name}: ${v >= 0 ? '+' : '−'}${figures(Math.abs(v))}`));
      b.style.setProperty('--vote', `${Math.round(100 * Math.sqrt(Math.abs(v) / most))}%`);
      return b;
    };
    const mark = (/** @type {string} */ t) => el('span', { class: 'row-label', 'aria-hidden': 'true' }, t);
    grid.replaceChildren(mark(''), ...Array.from({ length: config.nHeads }, (_, h) => mark(String(h))), mark('FFN'),
      ...votes.heads.flatMap((heads, l) => [mark(`L${l}`), ...heads.map((v, h) => cell(`layer ${l}, head ${h}`, v, () => store.set({ head: { layer: l, head: h } }), '')), cell(`layer ${l}, FFN`, votes.ffn[l], () => store.set({ openStage: 'ffn', head: { ...state.head, layer: l } }), '')]));
    const named = [['the embedding', votes.embedding], ...votes.heads.flatMap((heads, l) => heads.map((v, h) => [`layer ${l}, head ${h}`, v])), ...votes.ffn.map((v, l) => [`layer ${l}, FFN`, v])].sort((a, b) => b[1] - a[1]);
    const list = (/** @type {string} */ name, /** @type {any[]} */ items) => el('div', {}, el('h4', {}, name), el('ol', { class: 'small-bars' }, ...items.map(([part, v]) => {
      const bar = el('i');
      bar.style.inlineSize = `${(100 * Math.abs(v)) / most}%`;
      return el('li', {}, el('span', { class: 'w' }, part), el('span', { class: 'track', 'aria-hidden': 'true' }, bar), el('span', { class: 'num' }, `${v >= 0 ? '+' : '−'}${figures(Math.abs(v))}`));
    })));
    lists.replaceChildren(list('most for it', named.slice(0, 5)), list('most against it', named.slice(-5).reverse()));
    const off = Math.abs(votes.sum - votes.logit);
    sum.textContent = `The parts${Math.abs(votes.rest) > 1e-4 ? `, with ${figures(votes.rest)} from biases,` : ''} add up to ${votes.sum.toFixed(3)}; the logit is ${votes.logit.toFixed(3)}.${off > 1e-3 ? ' They part because quantised weights round what they multiply.' : ''}`;
  }

  store.watch(['model'], ({ model }) => {
    root.hidden = !model || !readable(model.config, run.has);
    done = '';
  });
  let timer = 0;
  store.watch(['model', 'tokens', 'cursor', 'status', 'logits'], () => { clearTimeout(timer); timer = setTimeout(() => void work(), 250); });
  new IntersectionObserver(([entry]) => { seen = entry.isIntersecting; if (seen) void work(); }).observe(root);
}
