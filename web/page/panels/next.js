// panels/next.js - what could follow the token in hand, under the model and under the sampler; choosing one branches.

import { el } from '../dom.js';
import { figures, label, percent, quoted } from '../format.js';
import { distribution } from '../sampler.js';

const N = 10;

/** @param {HTMLElement} root @param {import('../store.js').Store} store @param {import('../run.js').Run} run */
export function create(root, store, run) {
  const { state } = store;
  const after = el('small');
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', after);
  const list = el('ol', { class: 'bars' });
  const foot = el('p', { class: 'hint' });
  root.append(list, foot);

  const rows = Array.from({ length: N }, () => {
    const word = el('span', { class: 'w' });
    const bar = el('i');
    const num = el('span', { class: 'num' });
    const more = el('span', { class: 'hidden' });
    const button = el('button', { type: 'button' }, word, el('span', { class: 'track', 'aria-hidden': 'true' }, bar), num, more);
    const item = el('li', { class: 'bar' }, button);
    button.addEventListener('click', () => run.branch(state.cursor, Number(button.dataset.id)));
    list.append(item);
    return { item, button, word, bar, num, more };
  });

  let asked = -1;
  let texts = new Map();

  async function spell(ids) {
    const missing = ids.filter((id) => !texts.has(id));
    if (!missing.length) return;
    const found = await Promise.all(missing.map((id) => run.word(id)));
    missing.forEach((id, i) => texts.set(id, found[i]));
    paint(state);
  }

  /** @param {import('../store.js').State} s */
  function paint(s) {
    const token = s.tokens[s.cursor];
    root.classList.toggle('idle', !token);
    if (!token) { after.textContent = ''; return; }
    const drawn = s.tokens[s.cursor + 1];
    const logits = s.logits.get(s.cursor);
    let candidates;
    let measure = '';
    if (logits) {
      const d = distribution(logits, s.sampler, N);
      candidates = d.candidates;
      if (drawn && !candidates.some((c) => c.id === drawn.id)) candidates = [...candidates.slice(0, N - 1), d.of(drawn.id)];
      measure = `, entropy ${figures(d.entropy)} bits`;
      foot.textContent = s.sampler.temperature === 0 ? 'Temperature 0 always takes the likeliest.'
        : `The sampler draws from ${d.kept === logits.length ? 'all' : d.kept} of ${logits.length} tokens, ${figures(d.entropySampled)} bits. Choose one to go on from it.`;
    } else if (drawn?.top) {
      candidates = drawn.top.slice(0, N).map((t) => {
        texts.set(t.id, t.text);
        return { id: t.id, model: Math.exp(t.logprob), sampled: null };
      });
      if (!candidates.some((c) => c.id === drawn.id)) {
        candidates = [...candidates.slice(0, N - 1), { id: drawn.id, model: Math.exp(drawn.logprob ?? 0), sampled: null }];
      }
    }
    if (drawn?.text) texts.set(drawn.id, drawn.text);
    // At reading speed the exact row is asked for each token; at full speed when the text rests.
    if (!logits && asked !== s.cursor && (s.status !== 'running' || (s.pace === 'reading' && s.speed.msPerToken < 20))) {
      asked = s.cursor;
      void run.wantLogits(s.cursor).finally(() => { asked = -1; });
    }
    after.textContent = `after ${quoted(token)}${measure}`;
    if (!candidates) return;
    void spell(candidates.map((c) => c.id));
    const p = (c) => (c.sampled === null ? c.model : c.sampled);
    const most = Math.max(...candidates.map(p), 1e-9);
    rows.forEach((row, i) => {
      const c = candidates[i];
      row.item.hidden = !c;
      if (!c) return;
      const on = drawn?.id === c.id;
      const cut = c.sampled === 0;
      const text = texts.get(c.id) ?? '';
      row.item.classList.toggle('on', on);
      row.item.classList.toggle('cut', cut);
      row.button.dataset.id = String(c.id);
      row.word.textContent = label({ text, id: c.id });
      row.num.textContent = cut ? 'cut' : percent(p(c));
      row.bar.style.inlineSize = `${(100 * p(c)) / most}%`;
row.more.textContent = `${cut ? ' by the sampler' : ''}, the model gives ${percent(c.model)}${on ? ', drawn' : ', go on from it'}`;
      row.button.title = `the model gives ${percent(c.model)}`;
    });
  }

  store.watch(['model'], () => { texts = new Map(); });
  store.watch(['tokens', 'cursor', 'logits', 'sampler', 'status'], paint);
}
