// panels/prompt.js - the prompt, Run, Step and Stop, and what the sampler is told.

import { el } from '../dom.js';

/**
 * @param {HTMLFormElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const { state } = store;
  const box = el('textarea', {
    name: 'prompt',
    rows: 1,
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-label': 'Prompt',
    placeholder: 'Write the beginning',
  });
  box.value = state.prompt;
  const go = el('button', { type: 'submit', class: 'go' }, 'Run');
  const step = el(
    'button',
    {
      type: 'button',
      onclick: async () => {
        await typed();
        await run.step();
      },
    },
    'Step',
  );
  const stop = el('button', { type: 'button', onclick: () => run.stop() }, 'Stop');
  const again = el('button', { type: 'button', class: 'quiet', onclick: () => run.rewind() }, 'Start over');

  // Where CSS cannot yet size a box by its text.
  const fit = (/** @type {HTMLTextAreaElement} */ area) => {
    if (CSS.supports('field-sizing', 'content')) return;
    area.style.blockSize = 'auto';
    area.style.blockSize = `${area.scrollHeight}px`;
  };

  /** @type {any} */
  let timer;
  /** @type {any} */
  let sourceTimer = 0; // 0 when nothing was typed that is not read
  /** What was typed a moment ago is read before anything is written. */
  async function typed() {
    clearTimeout(timer);
    clearTimeout(sourceTimer);
    if (sourceTimer) await readSource();
    if (box.value !== state.prompt) await run.setPrompt(box.value);
  }
  function readSource() {
    sourceTimer = 0;
    return run.setSource(source.value);
  }
  box.addEventListener('input', () => {
    fit(box);
    clearTimeout(timer);
    timer = setTimeout(() => run.setPrompt(box.value), 150);
  });
  box.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      root.requestSubmit();
    }
  });
  root.addEventListener('submit', async (event) => {
    event.preventDefault();
    await typed();
    await run.run();
  });

  /** A slider whose number is always visible. */
  function slider(name, key, attributes, show) {
    const input = el('input', { type: 'range', ...attributes, id: `sampler-${key}` });
    const out = el('output', { for: input.id });
    input.addEventListener('input', () => run.setSampler({ [key]: Number(input.value) }));
    store.watch(['sampler'], ({ sampler }) => {
      input.value = String(sampler[key]);
      out.textContent = show(sampler[key]);
      input.setAttribute('aria-valuetext', show(sampler[key]));
    });
    return el('div', { class: 'control' }, el('label', { for: input.id }, name), input, out);
  }

  const seed = el('input', { type: 'number', id: 'seed', min: 0, max: 4294967295, step: 1 });
  seed.addEventListener('change', () =>
    run.setSampler({ seed: Math.max(0, Math.min(4294967295, Math.trunc(Number(seed.value)) || 0)) }),
  );
  const roll = el(
    'button',
    {
      type: 'button',
      class: 'quiet',
      onclick: async () => {
        await typed();
        run.rewind();
        run.setSampler({ seed: crypto.getRandomValues(new Uint32Array(1))[0] % 100000 });
        await run.run();
      },
    },
    'New seed',
  );
  store.watch(['sampler'], ({ sampler }) => {
    if (document.activeElement !== seed) seed.value = String(sampler.seed);
  });

  const pace = el(
    'select',
    { id: 'pace' },
    el('option', { value: 'reading' }, 'reading speed'),
    el('option', { value: 'fast' }, 'as fast as it goes'),
    el('option', { value: 'step' }, 'one step at a time'),
  );
  pace.addEventListener('change', () => store.set({ pace: pace.value }));
  store.watch(['pace'], (s) => {
    pace.value = s.pace;
  });

  const length = el('input', { type: 'number', id: 'max-tokens', min: 1, max: 100000, step: 1 });
  length.addEventListener('change', () => store.set({ maxTokens: Math.max(1, Math.trunc(Number(length.value)) || 1) }));
  store.watch(['maxTokens'], (s) => {
    if (document.activeElement !== length) length.value = String(s.maxTokens);
  });

  const past = el('input', { type: 'checkbox', id: 'past' });
  past.addEventListener('change', () => run.setSampler({ ignoreEos: past.checked }));
  store.watch(['sampler'], ({ sampler }) => {
    past.checked = sampler.ignoreEos;
  });

  const source = el('textarea', { name: 'source', id: 'source', rows: 1, autocomplete: 'off', spellcheck: 'false' });
  const examples = el('div', { class: 'examples', role: 'group', 'aria-label': 'Examples' });
  const reading = el(
    'div',
    { class: 'line source', hidden: true },
    el('label', { for: 'source' }, 'reads'),
    source,
    examples,
  );
  source.addEventListener('input', () => {
    clearTimeout(sourceTimer);
    sourceTimer = setTimeout(readSource, 150);
  });
  async function read(/** @type {string} */ text) {
    clearTimeout(sourceTimer);
    sourceTimer = 0;
    await run.setSource(text);
    await typed();
    await run.run();
  }
  source.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void read(source.value);
    }
  });
  store.watch(['examples'], (s) => {
    examples.hidden = !s.examples.length;
    examples.replaceChildren(
      ...s.examples.map((text) => el('button', { type: 'button', class: 'quiet', onclick: () => read(text) }, text)),
    );
  });
  store.watch(['model', 'source'], (s) => {
    reading.hidden = s.model?.config.kind !== 'encoder_decoder';
    if (document.activeElement !== source) source.value = s.source;
  });

  root.append(
    reading,
    el('div', { class: 'line' }, box, el('div', { class: 'buttons' }, go, step, stop, again)),
    el(
      'div',
      { class: 'controls' },
      slider('temperature', 'temperature', { min: 0, max: 2, step: 0.05 }, (v) =>
        v === 0 ? '0, greedy' : v.toFixed(2),
      ),
      slider('top-k', 'topK', { min: 0, max: 200, step: 1 }, (v) => (v === 0 ? 'off' : String(v))),
      slider('top-p', 'topP', { min: 0.05, max: 1, step: 0.01 }, (v) => (v === 1 ? 'off' : v.toFixed(2))),
      el('div', { class: 'control' }, el('label', { for: 'seed' }, 'seed'), seed, roll),
      el('div', { class: 'control' }, el('label', { for: 'max-tokens' }, 'tokens at most'), length),
      el('div', { class: 'control' }, el('label', { for: 'past' }, 'past the end'), past),
      el('div', { class: 'control' }, el('label', { for: 'pace' }, 'pace'), pace),
    ),
  );

  store.watch(['status', 'tokens', 'model', 'prompt'], (s) => {
    const running = s.status === 'running';
    const written = s.tokens.some((t) => !t.given);
    go.textContent = s.status === 'paused' && written ? 'Go on' : s.status === 'done' ? 'Run again' : 'Run';
    // aria-disabled keeps a button that was just pressed in the tab order.
    const mute = !s.model || s.model.config.kind === 'encoder'; // an encoder writes nothing
    for (const [button, off] of /** @type {[HTMLElement, boolean][]} */ ([
      [go, running || mute],
      [step, running || mute],
      [stop, !running],
    ])) {
      button.setAttribute('aria-disabled', String(off));
    }
    if (!written && document.activeElement === again) go.focus(); // what is hidden would drop it
    again.hidden = !written;
    if (document.activeElement !== box && box.value !== s.prompt) box.value = s.prompt;
  });
}
