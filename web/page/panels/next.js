// panels/next.js - what could follow the token in hand, under the model and under the sampler; choosing one branches.

import { el, svg } from '../dom.js';
import { figures, label, percent, quoted } from '../text/format.js';
import { chance, following } from '../state/sampler.js';

const N = 10;

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const { state } = store;
  const after = el('small');
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', after);
  const list = el('ol', { class: 'bars' });
  const foot = el('p', { class: 'hint' });
  const plot = svg('svg', { viewBox: '0 0 100 40', preserveAspectRatio: 'none', role: 'img' });
  const mean = el('p');
  const surprise = el('div', { class: 'surprise' }, el('h3', {}, 'Surprise by token'), plot, mean);
  root.append(list, foot, surprise);

  const rows = Array.from({ length: N }, () => {
    const word = el('span', { class: 'w' });
    const bar = el('i');
    const num = el('span', { class: 'num' });
    const more = el('span', { class: 'hidden' });
    const button = el(
      'button',
      { type: 'button' },
      word,
      el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
      num,
      more,
    );
    const item = el('li', { class: 'bar' }, button);
    button.addEventListener('click', () => run.branch(state.cursor, Number(button.dataset.id)));
    list.append(item);
    return { item, button, word, bar, num, more };
  });

  let asked = -1;
  /** @param {import('../state/store.js').State} s */
  function paint(s) {
    const token = s.tokens[s.cursor];
    const reads = s.model?.config.kind === 'encoder'; // it predicts nothing
    list.hidden = !token || reads;
    if (!token || reads) {
      after.textContent = token ? 'an encoder predicts none' : '';
      foot.textContent = '';
      return;
    }
    const drawn = s.tokens[s.cursor + 1];
    const next = following(s, N);
    // on its way: those of another token cannot be chosen, and their place is kept
    list.style.visibility = next ? '' : 'hidden';
    // At reading speed the exact row is asked for each token; at full speed when the text rests.
    if (
      !s.logits.has(s.cursor) &&
      asked !== s.cursor &&
      (s.status !== 'running' || (s.pace === 'reading' && s.speed.msPerToken < 20))
    ) {
      asked = s.cursor;
      void run.wantLogits(s.cursor).finally(() => {
        asked = -1;
      });
    }
    after.textContent = `after ${quoted(token)}${next?.entropy === null || !next ? '' : `, entropy ${figures(next.entropy)} bits`}`;
    if (!next) {
      foot.textContent = '';
      return;
    }
    if (next.kept === null) foot.textContent = 'Choose one to go on from it.';
    else {
      foot.textContent =
        s.sampler.temperature === 0
          ? 'Temperature 0 always takes the likeliest. Choose one to go on from it.'
          : `The sampler draws from ${next.kept === next.size ? 'all' : next.kept} of ${next.size} tokens, ${figures(next.entropySampled)} bits. Choose one to go on from it.`;
    }
    const { candidates } = next;
    void run.spell(candidates.map((c) => c.id));
    const most = Math.max(...candidates.map(chance), 1e-9);
    rows.forEach((row, i) => {
      const c = candidates[i];
      row.item.hidden = !c;
      if (!c) return;
      const on = drawn?.id === c.id;
      const cut = c.sampled === 0;
      const text = c.text || s.words.get(c.id) || '';
      row.item.classList.toggle('on', on);
      row.item.classList.toggle('cut', cut);
      row.button.dataset.id = String(c.id);
      row.word.textContent = label({ text, id: c.id });
      row.num.textContent = cut ? 'cut' : percent(chance(c));
      row.bar.style.inlineSize = `${(100 * chance(c)) / most}%`;
      row.more.textContent = `${cut ? ' by the sampler' : ''}, the model gives ${percent(c.model)}${on ? ', drawn' : ', go on from it'}`;
      row.button.title = `the model gives ${percent(c.model)}`;
    });
  }

  store.watch(['tokens', 'cursor', 'logits', 'sampler', 'status', 'words'], paint);

  // -- bits by token: how far the text came from what the model expected; one path for all bars, one for the one in
  // hand ---
  const all = svg('path');
  const chosen = svg('path', { class: 'on' });
  plot.append(all, chosen);
  let width = 1;
  plot.addEventListener('click', (/** @type {MouseEvent} */ event) => {
    const { left, width: wide } = plot.getBoundingClientRect();
    const i = Math.floor((100 * (event.clientX - left)) / wide / width);
    if (i < state.tokens.length) store.set({ cursor: Math.max(0, i - 1), follow: false, key: null });
  });
  /** @type {number[]} */
  let bits = [];
  const bar = (/** @type {number} */ i, /** @type {number} */ most) => {
    const h = Math.max(0.3, (40 * bits[i]) / most);
    return `M${(i * width).toFixed(2)} 40v${(-h).toFixed(2)}h${(width * 0.78).toFixed(3)}v${h.toFixed(2)}z`;
  };
  store.watch(['tokens', 'cursor', 'status'], (s) => {
    if (s.status === 'running' && s.pace === 'fast') return;
    bits = s.tokens.map((t) => (t.logprob === null ? 0 : -t.logprob / Math.LN2));
    const known = s.tokens.filter((t) => t.logprob !== null).length;
    surprise.hidden = known < 4;
    if (known < 4) return;
    const top = bits.indexOf(Math.max(...bits));
    const most = Math.max(8, bits[top]);
    width = 100 / Math.max(24, bits.length);
    all.setAttribute('d', bits.map((_, i) => bar(i, most)).join(''));
    chosen.setAttribute('d', s.cursor + 1 < bits.length ? bar(s.cursor + 1, most) : '');
    mean.textContent = `${figures(bits.reduce((a, b) => a + b, 0) / known)} bits a token on average; most at ${quoted(s.tokens[top])}, ${figures(bits[top])} bits.`;
    plot.setAttribute('aria-label', `Bits by token: ${mean.textContent}`);
  });
}
