// panels/stream.js - the text, a chip per token: the prompt dimmed, the rest shaded by how unlikely the model found it.

import { el, roving } from '../dom.js';
import { figures, int, percent, quoted } from '../format.js';

const REASON = { maxTokens: 'the limit of tokens', eos: 'the model’s own end', stop: 'a stop text', contextFull: 'the end of the context' };

/** @param {HTMLElement} root @param {import('../store.js').Store} store */
export function create(root, store) {
  const { state } = store;
  const text = el('div', { class: 'text', role: 'listbox', 'aria-label': 'Tokens of the text', 'aria-orientation': 'horizontal' });
  const spoken = el('p', { class: 'hidden', 'aria-live': 'polite' });
  const note = el('p', { class: 'note' });
  const legend = el('div', { class: 'shades', 'aria-hidden': 'true' }, 'expected ', ...[0, 1, 2, 3, 4].map((i) => el('i', { class: `word shade-${i}` })), ' surprising');
  root.append(text, el('div', { class: 'under' }, note, legend), spoken);

  /** @type {HTMLElement[]} */
  const chips = [];
  /** @type {import('../store.js').Token[]} */
  const shown = [];

  /** The blank in front stays outside the shading, so that a line never ends in a shaded blank. */
  function chip(token, position) {
    const shade = token.given || token.logprob === null ? '' : ` shade-${Math.min(4, Math.floor((1 - Math.exp(token.logprob)) * 5))}`;
    const { bos, eos = [] } = state.model?.api.special ?? {};
    const odd = !token.text || token.id === bos || eos.includes(token.id);
    const [, blank, word] = odd ? ['', '', token.id === bos && position === 0 ? 'start' : token.text || `#${token.id}`] : /** @type {string[]} */ (/^(\s*)([^]*)$/.exec(token.text));
    return el('span', {
      class: `tok${token.given ? ' given' : ''}${odd ? ' odd' : ''}`, role: 'option', tabindex: -1, 'data-position': position, 'data-id': token.id, 'aria-selected': 'false',
    }, blank, el('span', { class: `word${shade}` }, word || '\u200b'));
  }

  function choose(position) {
    store.set({ cursor: position, follow: false, key: null });
  }
  text.addEventListener('click', (event) => {
    const target = /** @type {HTMLElement} */ (event.target).closest('.tok');
    if (target && getSelection()?.isCollapsed !== false) choose(Number(target.dataset.position));
  });
  text.addEventListener('pointerover', (event) => {
    const at = /** @type {HTMLElement} */ (event.target).closest?.('.tok');
    describe(at ? Number(at.dataset.position) : state.cursor);
  });
  text.addEventListener('pointerleave', () => describe(state.cursor));
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') store.set({ follow: true, cursor: Math.max(0, state.patterns?.length ?? 1) - 1, key: null });
  });
  roving(text, () => chips, () => 1);

  function describe(position) {
    const token = state.tokens[position];
    if (!token) return note.replaceChildren();
    const p = token.logprob === null ? '' : `, probability ${percent(Math.exp(token.logprob))}`;
    note.textContent = `${quoted(token)} · position ${position} · id ${token.id}${p}`;
  }

  store.watch(['tokens'], ({ tokens }) => {
    let same = 0;
    while (same < shown.length && shown[same] === tokens[same]) same++;
    for (const gone of chips.splice(same)) gone.remove();
    shown.length = same;
    const fresh = document.createDocumentFragment();
    for (let i = same; i < tokens.length; i++) {
      const c = chip(tokens[i], i);
      chips.push(c);
      shown.push(tokens[i]);
      fresh.append(c);
    }
    text.append(fresh);
  });

  let marked = { here: -1, key: -1 };
  store.watch(['tokens', 'cursor', 'key', 'hover'], ({ cursor, key, hover }) => {
    const here = hover ? hover.query : cursor;
    const seen = hover ? hover.key : key;
    chips[marked.here]?.classList.remove('here');
    chips[marked.key]?.classList.remove('seen');
    for (const c of chips) if (c.tabIndex === 0) { c.tabIndex = -1; c.setAttribute('aria-selected', 'false'); }
    marked = { here, key: seen ?? -1 };
    chips[here]?.classList.add('here');
    chips[marked.key]?.classList.add('seen');
    const stop = chips[cursor] ?? chips[0];
    if (stop) { stop.tabIndex = 0; stop.setAttribute('aria-selected', String(stop === chips[cursor])); }
    describe(here);
  });

  // Not per token: a screen reader hears the whole text once it rests.
  store.watch(['status'], (s) => {
    root.classList.toggle('writing', s.status === 'running');
    if (s.status !== 'paused' && s.status !== 'done') return;
    const written = s.tokens.filter((t) => !t.given);
    if (!written.length) return;
    const why = s.status === 'done' ? `Ended at ${REASON[s.stopReason] ?? s.stopReason}` : 'Paused';
    const speed = s.speed.tokensPerSecond ? `, ${s.speed.tokensPerSecond < 100 ? figures(s.speed.tokensPerSecond) : int(s.speed.tokensPerSecond)} tokens per second` : '';
    spoken.textContent = `${why} after ${written.length} tokens${speed}. ${written.map((t) => t.text).join('')}`;
  });
}
