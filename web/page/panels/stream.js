// panels/stream.js - the text, a chip per token: the prompt dimmed, the rest shaded by how unlikely the model found it.

import { addressOf } from '../state/address.js';
import { createBranches } from '../branches.js';
import { el, roving, svg } from '../dom.js';
import { figures, int, percent, quoted } from '../text/format.js';
import { editsOf } from '../state/switches.js';
import { asJavaScript, copyButton, saveFile } from '../state/save.js';

const REASON = {
  maxTokens: 'the limit of tokens',
  eos: 'the model’s own end',
  stop: 'a stop text',
  contextFull: 'the end of the context',
};

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const { state } = store;
  const text = el('div', {
    class: 'text',
    role: 'listbox',
    'aria-label': 'Tokens of the text',
    'aria-orientation': 'horizontal',
  });
  const spoken = el('p', { class: 'hidden', 'aria-live': 'polite' });
  const note = el('p', { class: 'note' });
  const legend = el(
    'div',
    { class: 'shades', 'aria-hidden': 'true' },
    'expected ',
    ...[0, 1, 2, 3, 4].map((i) => el('i', { class: `word shade-${i}` })),
    ' surprising',
  );
  const arcs = svg('svg', { class: 'arcs', 'aria-hidden': 'true' });
  const page = el('div', { class: 'page' }, arcs, text);
  const arcsOn = el('input', { type: 'checkbox', id: 'arcs' });
  arcsOn.addEventListener('change', () => store.set({ arcs: arcsOn.checked }));
  root.append(
    page,
    createBranches(store, run),
    el('div', { class: 'under' }, note, legend),
    el(
      'div',
      { class: 'under' },
      el('span', { class: 'control' }, arcsOn, el('label', { for: 'arcs' }, 'arcs of the chosen head')),
      el(
        'span',
        { class: 'takes' },
        copyButton('Copy link', () => new URL(addressOf(state), location.href).href),
        copyButton('Copy as JavaScript', () => asJavaScript(state)),
        el(
          'button',
          { type: 'button', class: 'quiet', onclick: () => saveFile('run.json', asJson(state), 'application/json') },
          'Save as JSON',
        ),
      ),
    ),
    spoken,
  );

  /** @type {HTMLElement[]} */
  const chips = [];
  /** @type {import('../state/store.js').Token[]} */
  const shown = [];
  /** What each was drawn with: of a token that was not asked about it comes later. @type {(number | null)[]} */
  const drawn = [];

  /** How unlikely the model found it, in five steps; none where nobody asked. */
  const shadeOf = (/** @type {import('../state/store.js').Token} */ token) =>
    token.given || token.logprob === null ? '' : ` shade-${Math.min(4, Math.floor((1 - Math.exp(token.logprob)) * 5))}`;

  /** The blank in front stays outside the shading, so that a line never ends in a shaded blank. */
  function chip(token, position) {
    const shade = shadeOf(token);
    const { bos, eos = [] } = state.model?.api.special ?? {};
    const odd = !token.text || token.id === bos || eos.includes(token.id);
    // each on its way in is a layer for the compositor
    const slowly = state.status === 'running' && state.pace !== 'fast';
    const [, blank, word] = odd
      ? ['', '', token.id === bos && position === 0 ? 'start' : token.text || `#${token.id}`]
      : /** @type {string[]} */ (/^(\s*)([^]*)$/.exec(token.text));
    return el(
      'span',
      {
        class: `tok${token.given ? ' given' : ''}${odd ? ' odd' : ''}${slowly ? ' arrives' : ''}`,
        role: 'option',
        tabindex: -1,
        'data-position': position,
        'data-id': token.id,
        'aria-selected': 'false',
      },
      ...(word
        ? [blank, el('span', { class: `word${shade}` }, word)]
        : // only blanks: a mark that stands for them and is not copied, then they themselves
          [
            el('span', { class: `word blank${shade}` }, token.text.includes('\n') ? '⏎' : '␣'),
            token.text.includes('\n') ? token.text : '',
          ]),
    );
  }

  function choose(position) {
    store.set({ cursor: position, follow: false, key: null });
  }
  text.addEventListener('click', (event) => {
    const target = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest('.tok'));
    if (target && getSelection()?.isCollapsed !== false) choose(Number(target.dataset.position));
  });
  text.addEventListener('pointerover', (event) => {
    const at = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest('.tok'));
    describe(at ? Number(at.dataset.position) : state.cursor);
  });
  text.addEventListener('pointerleave', () => describe(state.cursor));
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Escape')
      store.set({ follow: true, cursor: Math.max(0, state.patterns?.length ?? 1) - 1, key: null });
  });
  roving(
    text,
    () => chips,
    () => 1,
  );

  function describe(position) {
    const token = state.tokens[position];
    if (!token) return note.replaceChildren();
    const p = token.logprob === null ? '' : `, probability ${percent(Math.exp(token.logprob))}`;
    note.textContent = `${quoted(token)} · position ${position} · id ${token.id}${p}`;
  }

  store.watch(['tokens'], (s) => {
    const { tokens } = s;
    let same = 0;
    while (same < shown.length && shown[same] === tokens[same]) same++;
    for (const gone of chips.splice(same)) gone.remove();
    shown.length = drawn.length = same;
    for (let i = 0; i < same; i++) {
      if (drawn[i] === tokens[i].logprob) continue;
      drawn[i] = tokens[i].logprob;
      const word = /** @type {HTMLElement} */ (chips[i].querySelector('.word'));
      word.className = word.className.replace(/ shade-\d/, '') + shadeOf(tokens[i]);
    }
    const fresh = document.createDocumentFragment();
    for (let i = same; i < tokens.length; i++) {
      const c = chip(tokens[i], i);
      chips.push(c);
      shown.push(tokens[i]);
      drawn.push(tokens[i].logprob);
      fresh.append(c);
    }
    text.append(fresh);
    mark(s);
    arrange();
  });

  let marked = { here: -1, key: -1, stop: /** @type {HTMLElement | null} */ (null) };
  /** @param {import('../state/store.js').State} s */
  function mark({ cursor, key, hover, stack }) {
    const own = stack === 'self'; // elsewhere queries or keys are places of another text
    const here = hover && stack !== 'encoder' ? hover.query : cursor;
    const seen = !own ? -1 : hover ? hover.key : key;
    chips[marked.here]?.classList.remove('here');
    chips[marked.key]?.classList.remove('seen');
    if (marked.stop) {
      marked.stop.tabIndex = -1;
      marked.stop.setAttribute('aria-selected', 'false');
    }
    marked = { here, key: seen ?? -1, stop: chips[cursor] ?? chips[0] ?? null };
    chips[here]?.classList.add('here');
    chips[marked.key]?.classList.add('seen');
    const { stop } = marked;
    if (stop) {
      stop.tabIndex = 0;
      stop.setAttribute('aria-selected', String(stop === chips[cursor]));
    }
    describe(here);
  }
  store.watch(['cursor', 'key', 'hover'], mark);

  // Not per token: a screen reader hears the text once it rests, and what it has heard not again.
  /** @type {import('../state/store.js').Token[]} */
  let heard = [];
  store.watch(['status'], (s) => {
    root.classList.toggle('writing', s.status === 'running');
    if (s.status !== 'paused' && s.status !== 'done') return;
    const written = s.tokens.filter((t) => !t.given);
    if (!written.length) return;
    let same = 0;
    while (same < heard.length && heard[same] === written[same]) same++;
    const fresh = written
      .slice(same)
      .map((t) => t.text)
      .join('');
    const step = s.status === 'paused' && written.length === same + 1;
    heard = written;
    const why = s.status === 'done' ? `Ended at ${REASON[s.stopReason] ?? s.stopReason}` : 'Paused';
    const speed = s.speed.tokensPerSecond
      ? `, ${s.speed.tokensPerSecond < 100 ? figures(s.speed.tokensPerSecond) : int(s.speed.tokensPerSecond)} tokens per second`
      : '';
    spoken.textContent = step ? fresh : `${why} after ${written.length} tokens${speed}. ${fresh}`;
  });

  // -- the row in hand, drawn over the text ---------------------------------------------------------------------------
  function drawArcs(s) {
    arcsOn.checked = s.arcs;
    const query = (s.stack === 'self' ? s.hover?.query : null) ?? s.cursor;
    const row =
      s.arcs && s.stack === 'self' && !(s.status === 'running' && s.pace === 'fast')
        ? s.patterns?.row(s.head.layer, s.head.head, query)
        : null;
    const from = chips[query]?.querySelector('.word');
    if (!row || !from) return arcs.replaceChildren();
    const frame = arcs.getBoundingClientRect();
    const place = (/** @type {Element} */ e) => {
      const r = e.getClientRects()[0];
      return r
        ? { x: r.left + r.width / 2 - frame.left, y: r.top - frame.top + 3, bottom: r.bottom - frame.top }
        : null;
    };
    const a = place(from);
    if (!a) return arcs.replaceChildren();
    const best = Array.from(row.keys())
      .filter((k) => k !== query && row[k] > 0.02)
      .sort((x, y) => row[y] - row[x])
      .slice(0, 12);
    arcs.replaceChildren(
      ...best
        .map((k) => {
          const word = chips[k]?.querySelector('.word');
          const b = word && place(word);
          if (!b) return null;
          const lift = Math.min(44, 10 + Math.abs(a.x - b.x) / 7);
          const d =
            Math.abs(a.y - b.y) < 14
              ? `M${a.x} ${a.y}C${a.x} ${a.y - lift} ${b.x} ${b.y - lift} ${b.x} ${b.y}`
              : `M${a.x} ${a.y}C${a.x} ${a.y - 26} ${b.x} ${b.bottom + 22} ${b.x} ${b.bottom - 5}`;
          return svg('path', {
            d,
            'stroke-width': (0.75 + 5 * row[k]).toFixed(2),
            opacity: (0.2 + 0.6 * Math.sqrt(row[k])).toFixed(2),
          });
        })
        .filter((p) => p !== null),
    );
  }

  // A text longer than its box is followed, unless somebody reads further up.
  let atEnd = true;
  let put = 0; // where it was scrolled from here
  text.addEventListener('scroll', () => {
    if (text.scrollTop !== put) atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 24;
    drawArcs(state);
  });
  function follow() {
    if (state.status === 'ready') atEnd = true;
    else if (!state.follow || !atEnd) return;
    text.scrollTop = state.status === 'ready' ? 0 : text.scrollHeight;
    put = text.scrollTop;
  }

  let arranging = false;
  /**
   * When the next frame begins, and everything lies as it was drawn: measured now, the page would be laid out twice.
   */
  function arrange() {
    if (arranging) return;
    arranging = true;
    requestAnimationFrame(() => {
      arranging = false;
      follow();
      drawArcs(state);
    });
  }
  store.watch(['cursor', 'hover', 'head', 'stack', 'patterns', 'arcs', 'status'], arrange);
  new ResizeObserver(() => drawArcs(state)).observe(text);
}

/** The run as it stands, everything that is needed to make it again and what came of it. */
function asJson(s) {
  const { name, address, made, config, backend } = s.model ?? {};
  const token = (t, position) => ({ position, id: t.id, text: t.text, given: t.given, logprob: t.logprob });
  return JSON.stringify(
    {
      model: { name, address, ...(made && { made }), config, backend },
      prompt: s.prompt,
      ...(config?.kind === 'encoder_decoder' && { source: s.source, sourceIds: s.sourceTokens.map((t) => t.id) }),
      sampler: s.sampler,
      fromSeedAlone: s.pure,
      tokens: s.tokens.map(token),
      branches: s.branches.map((b) => ({ at: b.at, tokens: b.tokens.map(token) })),
      off: editsOf(config, s.off),
      speed: s.speed,
      pattern: {
        layer: s.head.layer,
        head: s.head.head,
        rows: s.tokens.map((_, q) => Array.from(s.patterns?.row(s.head.layer, s.head.head, q) ?? [])),
      },
    },
    null,
    1,
  );
}
