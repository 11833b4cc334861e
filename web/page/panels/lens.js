// panels/lens.js - where the answer comes from: what each layer would already say, and who voted for the chosen token.

import { el } from '../dom.js';
import { figures, label, percent, quoted } from '../text/format.js';
import { blockPoint } from '../state/points.js';
import { distribution } from '../state/sampler.js';

const COLUMNS = 9;
const ABOUT =
  'Each cell is the likeliest next token if the layers after it were left out; the stronger the colour, the surer. The number is the length of the stream there.';
const PLAIN = { temperature: 1, topK: 0, topP: 1 };

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const { state } = store;
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(
    ' ',
    el('small', {}, 'the stream read with the model’s own head'),
  );
  const table = el('table', { class: 'lens' });
  const lensNote = el('p', { class: 'hint' }, ABOUT);
  const who = el('h3', {}, 'Votes for a token');
  const grid = el('div', { class: 'votes', role: 'group', 'aria-label': 'Votes by layer and head' });
  const lists = el('div', { class: 'vote-lists' });
  const sum = el('p', { class: 'hint' });
  root.append(
    el(
      'div',
      { class: 'lens-split' },
      el(
        'div',
        {},
        el('h3', {}, 'Logit lens'),
        el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Logit lens' }, table),
        lensNote,
      ),
      el('div', {}, who, grid, lists, sum),
    ),
  );

  let job = new AbortController();
  let done = '';
  let seen = false;

  async function work() {
    const s = state;
    if (!s.model || root.hidden || !seen || s.status === 'running' || s.cursor < 0 || !s.tokens[s.cursor]) return;
    const logits = s.logits.get(s.cursor);
    if (!logits) return; // on its way: the change of logits calls again
    const { cursor } = s;
    const tokens = s.tokens.slice(0, cursor + 2); // the text may go on meanwhile
    const ids = tokens.slice(0, cursor + 1).map((t) => t.id);
    const drawn = tokens[cursor + 1];
    const token = drawn?.id ?? distribution(logits, PLAIN, 1).candidates[0].id;
    const of = run.textKey();
    const key = `${of} ${cursor} ${token}`;
    if (done === key) return;
    done = key;
    job.abort();
    const mine = (job = new AbortController());
    try {
      const first = Math.max(0, ids.length - COLUMNS);
      const options = { ...run.reads(), signal: mine.signal };
      const { config, api } = s.model;
      const streams = Array.from({ length: config.nLayers }, (_, l) => `${blockPoint(config, l)}.hook_resid_post`);
      const [read, values] = [await api.logitLens(ids, { ...options, top: 1 }), await run.values(streams)];
      if (mine !== job) return;
      const norms = streams.map((name) => {
        const d = config.dModel;
        const x = values[name]?.data.subarray(cursor * d, (cursor + 1) * d) ?? [];
        return Math.sqrt(x.reduce((sum, v) => sum + v * v, 0));
      });
      lensNote.textContent = ABOUT;
      paintLens(
        read.map((list) => list.slice(first).map(([best]) => best)),
        norms,
        first,
        tokens,
      );
      const votes = await api.attribution(ids, { ...options, token });
      if (mine === job) paintVotes(votes, config, tokens[cursor]);
    } catch (error) {
      if (mine.signal.aborted || of !== run.textKey()) return;
      done = '';
      lensNote.textContent = error instanceof Error ? `${error.message}.` : String(error);
    }
  }

  function paintLens(
    /** @type {any[][]} */ tops,
    /** @type {number[]} */ norms,
    /** @type {number} */ first,
    /** @type {any[]} */ tokens,
  ) {
    const columns = tops[0].length;
    const truth = Array.from({ length: columns }, (_, i) => tokens[first + i + 1]?.id);
    table.replaceChildren(
      el('caption', { class: 'hidden' }, 'Likeliest next token by layer and position'),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'col' }, 'after'),
          ...Array.from({ length: columns }, (_, i) => el('th', { scope: 'col' }, label(tokens[first + i]))),
          el('th', { scope: 'col', class: 'n' }, 'length'),
        ),
      ),
      el(
        'tbody',
        {},
        ...tops.map((list, l) =>
          el(
            'tr',
            {},
            el('th', { scope: 'row' }, `layer ${l}`),
            ...list.map((best, i) => {
              const cell = el(
                'td',
                {
                  class: `${i === columns - 1 ? 'here' : ''}${truth[i] === best.id ? ' right' : ''}`,
                  title: percent(best.probability),
                },
                label(best),
                el('span', { class: 'hidden' }, ` ${percent(best.probability)}`),
              );
              cell.style.setProperty('--p-cell', `${Math.round(best.probability * 55)}%`);
              return cell;
            }),
            el('td', { class: 'n' }, figures(norms[l])),
          ),
        ),
      ),
      el(
        'tfoot',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'row' }, 'the text'),
          ...truth.map((id, i) => el('td', {}, id === undefined ? '?' : label(tokens[first + i + 1]))),
          el('td', {}),
        ),
      ),
    );
  }

  /**
   * What a part is called here.
   * @param {any} part
   */
  const nameOf = (part) =>
    part.kind === 'head'
      ? `layer ${part.layer}, head ${part.head}${/cross/.test(part.name) ? ', across' : ''}`
      : part.kind === 'ffn'
        ? `layer ${part.layer}, FFN`
        : part.kind === 'embedding'
          ? 'the embedding'
          : part.kind === 'position'
            ? 'the position'
            : part.name;
  const signed = (/** @type {number} */ v) => `${v >= 0 ? '+' : '−'}${figures(Math.abs(v))}`;

  function paintVotes(/** @type {any} */ votes, /** @type {any} */ config, /** @type {any} */ after) {
    who.textContent = `Who voted for ${quoted({ id: votes.token, text: votes.text })} after ${quoted(after)}`;
    const parts = votes.parts.filter((/** @type {any} */ p) => p.kind !== 'bias');
    const biases = votes.parts
      .filter((/** @type {any} */ p) => p.kind === 'bias')
      .reduce((/** @type {number} */ n, /** @type {any} */ p) => n + p.value, 0);
    const most = Math.max(...parts.map((/** @type {any} */ p) => Math.abs(p.value)), 1e-9);
    grid.style.setProperty('--columns', String(config.nHeads));
    const mark = (/** @type {string} */ t) => el('span', { class: 'row-label', 'aria-hidden': 'true' }, t);
    const cell = (/** @type {any} */ part) => {
      if (!part) return el('span');
      const stack = /cross/.test(part.name) ? 'cross' : 'self';
      const act = () =>
        store.set(
          part.kind === 'head'
            ? {
                head: { layer: part.layer, head: part.head },
                ...(stack !== state.stack && { stack, key: null, hover: null }),
              }
            : { openStage: 'ffn', head: { ...state.head, layer: part.layer } },
        );
      const words = `${nameOf(part)}: ${signed(part.value)}`;
      const b = el(
        'button',
        { type: 'button', class: `vote ${part.value < 0 ? 'against' : 'for'}`, title: words, onclick: act },
        el('span', { class: 'hidden' }, words),
      );
      b.style.setProperty('--vote', `${Math.round(100 * Math.sqrt(Math.abs(part.value) / most))}%`);
      return b;
    };
    const lines = config.kind === 'encoder_decoder' ? ['.attn.', '.cross_attn.'] : ['.attn.'];
    grid.replaceChildren(
      mark(''),
      ...Array.from({ length: config.nHeads }, (_, h) => mark(String(h))),
      mark('FFN'),
      ...Array.from({ length: config.nLayers }, (_, l) =>
        lines.flatMap((line, i) => [
          mark(i ? '↔' : `L${l}`),
          ...Array.from({ length: config.nHeads }, (_, h) =>
            cell(parts.find((p) => p.kind === 'head' && p.layer === l && p.head === h && p.name.includes(line))),
          ),
          i ? el('span') : cell(parts.find((p) => p.kind === 'ffn' && p.layer === l)),
        ]),
      ).flat(),
    );
    const order = [...parts].sort((a, b) => b.value - a.value);
    const list = (/** @type {string} */ name, /** @type {any[]} */ items) =>
      el(
        'div',
        {},
        el('h4', {}, name),
        el(
          'ol',
          { class: 'small-bars' },
          ...items.map((part) => {
            const bar = el('i');
            bar.style.inlineSize = `${(100 * Math.abs(part.value)) / most}%`;
            return el(
              'li',
              {},
              el('span', { class: 'w' }, nameOf(part)),
              el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
              el('span', { class: 'num' }, signed(part.value)),
            );
          }),
        ),
      );
    lists.replaceChildren(list('most for it', order.slice(0, 5)), list('most against it', order.slice(-5).reverse()));
    const off = Math.abs(votes.sum - votes.logit);
    sum.textContent = `The parts${Math.abs(biases) > 1e-4 ? `, with ${figures(biases)} from biases,` : ''} add up to ${votes.sum.toFixed(3)}; the logit is ${votes.logit.toFixed(3)}.${off > 1e-3 ? ' They part because quantised weights round what they multiply.' : ''}`;
  }

  store.watch(['model'], ({ model }) => {
    root.hidden = !model || model.config.kind === 'encoder' || !model.api.logitLens;
    job.abort();
    done = '';
  });
  /** @type {any} */
  let timer;
  store.watch(['model', 'tokens', 'cursor', 'status', 'logits'], () => {
    clearTimeout(timer);
    timer = setTimeout(() => void work(), 250);
  });
  new IntersectionObserver(([entry]) => {
    seen = entry.isIntersecting;
    if (seen) void work();
  }).observe(root);
}
