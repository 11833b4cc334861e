// panels/train.js - a tiny model learns the visitor's text in this tab: the loss falls, samples improve, heads form.
//
// Training runs in a worker of the library and is asked for one step after the other; the page draws once a frame.
// Every so many steps the weights of that moment become a model, which writes a sample and shows its attention.

import { train } from 'glassformer';
import { el } from '../dom.js';
import { figures, int, percent, si } from '../text/format.js';
import { createPlot } from '../plot.js';
import { meanSpeed } from '../state/speed.js';
import { saveFile } from '../state/save.js';
import { createFilm } from '../training/film.js';
import { RHYMES } from '../training/rhymes.js';
import { createSetup } from '../training/setup.js';
import { superfluous } from '../training/thin.js';

const HELD = 0.1; // share of the text that is kept for validation
const MOST_TEXT = 2e6; // characters
const SENTENCE = 32; // tokens of the film, at most
const SAMPLE = 64; // tokens of a sample
const COUNTED = 20_000; // characters whose tokens are counted
const CURVE = 400; // points of a curve; of more steps each point is a mean
const RECENT = 24; // steps whose speed is told
const LOWEST = 0.01; // nats at the foot of the plot

const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

const SEPARATOR = '<|endoftext|>';
/**
 * Each paragraph is learnt by itself.
 * @param {string} text
 */
const stories = (text) =>
  text
    .trim()
    .split(/\n\s*\n/)
    .join(`\n${SEPARATOR}\n`);

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(
    ' ',
    el('small', {}, 'a tiny model learns your text, in this tab'),
  );

  // -- the text -------------------------------------------------------------------------------------------------------
  const text = el('textarea', { id: 'train-text', rows: 9, spellcheck: 'false', autocomplete: 'off' });
  text.value = RHYMES;
  const length = el('span', { class: 'num' });
  const file = el('input', { type: 'file', id: 'train-file', class: 'hidden', accept: '.txt,.md,text/*' });
  const choose = el('label', { class: 'choose', for: 'train-file' }, 'Take a text file');
  const begins = el('input', { type: 'text', id: 'train-begins', autocomplete: 'off', spellcheck: 'false' });

  const firstWord = () => /\S+/.exec(text.value)?.[0] ?? '';
  function measure() {
    const n = stories(text.value).split(SEPARATOR).length;
    length.textContent = `${int(text.value.length)} characters${n > 1 ? `, ${int(n)} paragraphs` : ''}`;
    begins.placeholder = firstWord();
  }
  text.addEventListener('input', measure);
  measure();

  /** @param {File | undefined} taken */
  async function read(taken) {
    if (!taken) return;
    if (taken.size > MOST_TEXT)
      return complain(`${taken.name} has ${si(taken.size, 'B')}; at most ${si(MOST_TEXT, 'B')} are learnt here`);
    try {
      text.value = await taken.text();
      complain('');
      measure();
    } catch (error) {
      complain(`${taken.name} could not be read: ${error instanceof Error ? error.message : error}`);
    }
  }
  file.addEventListener('change', () => {
    void read(file.files[0]);
    file.value = '';
  });
  root.addEventListener('drop', (event) => {
    const [dropped] = event.dataTransfer?.files ?? [];
    if (!dropped || /\.(gguf|bin|safetensors|json)$/i.test(dropped.name)) return; // a model: the page opens it
    event.preventDefault();
    if (event.dataTransfer?.items[0]?.webkitGetAsEntry()?.isDirectory)
      return complain(`${dropped.name} is a folder; what is learnt here is one text file`);
    void read(dropped);
  });

  // -- what is shown --------------------------------------------------------------------------------------------------
  const setup = createSetup();
  const go = el('button', { type: 'button', class: 'primary', onclick: () => start() }, 'Start');
  const hold = el('button', { type: 'button', onclick: () => pauseOrResume() }, 'Pause');
  const stop = el('button', { type: 'button', onclick: () => end() }, 'Stop');
  const status = el('output', { class: 'hint', 'aria-live': 'polite' });
  const alarm = el('p', { class: 'wrong', role: 'alert' });
  const bar = el('progress', { 'aria-label': 'Steps done', max: 1, value: 0 });
  const facts = el('dl', { class: 'training-facts' });
  const plot = createPlot();
  const rows = el('tbody');
  const table = el(
    'details',
    { class: 'as-table' },
    el('summary', {}, 'As a table'),
    el(
      'div',
      { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Loss by step' },
      el(
        'table',
        {},
        el('caption', { class: 'hidden' }, 'Loss by step'),
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            ...['step', 'training, nats a token', 'validation, nats a token', 'bits a byte'].map((name) =>
              el('th', { scope: 'col' }, name),
            ),
          ),
        ),
        rows,
      ),
    ),
  );
  const samples = el('ol', { class: 'samples', tabindex: 0, 'aria-label': 'Samples, oldest to newest' });
  const samplesBox = el('div', { class: 'samples-box', hidden: true }, el('h3', {}, 'Samples improve'), samples);
  const film = createFilm();
  const use = el('button', { type: 'button', onclick: () => takeOver() }, 'Use this model in the page');
  const dtype = el(
    'select',
    { id: 'train-dtype' },
    ...[
      ['f32', 'F32'],
      ['f16', 'F16'],
      ['q8_0', 'Q8_0'],
      ['q4_0', 'Q4_0'],
    ].map(([v, name]) => el('option', { value: v }, name)),
  );
  const download = el('button', { type: 'button', onclick: () => keep() }, 'Download GGUF');
  root.append(
    el(
      'div',
      { class: 'train-split' },
      el(
        'div',
        { class: 'train-choice' },
        el('label', { for: 'train-text' }, 'Text to learn'),
        text,
        el('div', { class: 'text-line' }, length, file, choose),
        setup.node,
        el('div', { class: 'field' }, el('label', { for: 'train-begins' }, 'samples begin'), begins),
      ),
      el(
        'div',
        { class: 'train-progress' },
        el('div', { class: 'buttons' }, go, hold, stop, status),
        bar,
        alarm,
        facts,
        plot.node,
        table,
        el(
          'div',
          { class: 'buttons take' },
          use,
          el(
            'span',
            { class: 'pair' },
            download,
            el('label', { class: 'hidden', for: 'train-dtype' }, 'Type of the weights'),
            dtype,
          ),
        ),
      ),
    ),
    film.node,
    samplesBox,
  );

  // -- the run --------------------------------------------------------------------------------------------------------
  /** @type {any} */
  let training = null; // of the library; alive until the next one begins
  /** @type {'idle' | 'starting' | 'running' | 'paused' | 'stopped' | 'done'} */
  let phase = 'idle';
  let stopping = new AbortController();
  let ended = false; // by the visitor
  let steps = /** @type {any[]} */ ([]);
  let asked = { ...setup.read(), prompt: '', material: '' }; // what the run in hand was begun with
  let unigram = 0; // nats a token of who knows how often each comes; 0: not counted yet
  let looking = Promise.resolve();
  let sentence = /** @type {number[]} */ ([]);
  let kept = /** @type {{ step: number, node: HTMLElement }[]} */ ([]); // samples
  let planned = false;

  function complain(/** @type {unknown} */ error) {
    const words = error instanceof Error ? error.message : String(error);
    alarm.textContent = words && `${words}${/[.!?]$/.test(words) ? '' : '.'}`;
  }

  function enter(/** @type {typeof phase} */ next) {
    phase = next;
    const on = phase === 'starting' || phase === 'running' || phase === 'paused';
    const rests = steps.length > 0 && phase !== 'running';
    // aria-disabled keeps a button that was just pressed in the tab order
    for (const [button, off] of /** @type {[HTMLElement, boolean][]} */ ([
      [go, on],
      [hold, phase !== 'running' && phase !== 'paused' && (phase !== 'stopped' || !steps.length)],
      [stop, !on],
      [use, !rests],
      [download, !rests],
    ])) {
      button.setAttribute('aria-disabled', String(off));
    }
    go.textContent = steps.length && !on ? 'Start again' : 'Start';
    hold.textContent = phase === 'paused' || phase === 'stopped' ? 'Resume' : 'Pause';
    setup.lock(on);
    text.readOnly = begins.readOnly = on;
    const at = steps.length;
    status.textContent = {
      idle: 'The trainer is fetched when you press Start.',
      starting: 'Learning the vocabulary …',
      running: 'Training.',
      paused: `Paused at step ${at}.`,
      stopped: `Stopped at step ${at}.`,
      done: `Done, ${at} steps.`,
    }[phase];
    plan();
  }
  const pressed = (/** @type {HTMLElement} */ button) => button.getAttribute('aria-disabled') !== 'true';

  async function start() {
    if (!pressed(go)) return;
    const { signal } = (stopping = new AbortController());
    asked = { ...setup.read(), prompt: begins.value || firstWord(), material: text.value };
    steps = [];
    complain('');
    enter('starting');
    download.textContent = asked.gguf ? 'Download GGUF' : 'Download its files';
    for (const option of dtype.options) option.disabled = !asked.gguf && option.value !== 'f32';
    if (dtype.selectedOptions[0].disabled) dtype.value = 'f32';
    try {
      await looking;
      unigram = 0;
      sentence = [];
      rows.replaceChildren();
      samples.replaceChildren();
      kept = [];
      samplesBox.hidden = true;
      film.clear([]);
      await training?.dispose();
      const { config, material, every, options } = asked;
      training = train(config, stories(material), {
        ...options,
        validation: material.length * HELD > 60 ? HELD : null,
        validateEvery: Math.max(1, Math.round(options.steps / 20)),
        signal,
      });
      await follow();
    } catch (error) {
      if (!signal.aborted) complain(error);
      enter(steps.length ? 'stopped' : 'idle');
    }
  }

  /** Read steps until they end or the visitor ends them; another reader goes on from there. */
  async function follow() {
    const {
      options: { steps: total },
      every,
    } = asked;
    ended = false;
    for await (const s of training) {
      steps.push(s);
      if (phase === 'starting') enter('running');
      if (phase === 'paused') enter('paused'); // one more was on its way
      if (s.validation) tabulate(s);
      plan();
      if (s.step === 1 || s.step === total || s.step % every === 0) await examine(s);
      if (ended) break;
    }
    enter(steps.length === total ? 'done' : 'stopped');
  }

  async function pauseOrResume() {
    if (!pressed(hold)) return;
    if (phase === 'running') {
      training.pause();
      return enter('paused');
    }
    const stopped = phase === 'stopped';
    enter('running');
    if (!stopped) return training.resume();
    try {
      await follow();
    } catch (error) {
      complain(error);
      enter('stopped');
    }
  }

  function end() {
    if (!pressed(stop)) return;
    ended = true;
    if (phase === 'starting') stopping.abort();
    if (phase === 'paused') training.resume(); // what waits for the next step hears of it there
  }

  // -- a look at the weights ------------------------------------------------------------------------------------------

  /** Make a model of the weights as they are and show what it writes and where it looks, while training goes on.
   * @param {{ step: number, loss: number }} at */
  async function examine(at) {
    const { prompt, material } = asked;
    // asked for at once: of this step, or of one that came with it
    const [api] = await Promise.all([training.model({ dtype: 'f32' }), looking]);
    looking = (async () => {
      try {
        if (!sentence.length) await learnSentence(api, material);
        const { captured } = await api.forward(sentence, { capture: ['*attn.hook_pattern'] });
        const words = el('span', { class: 'story' }, el('b', {}, prompt));
        for await (const step of api.generate(prompt, {
          maxTokens: Math.min(SAMPLE, api.contextLength - 8),
          temperature: 0.6,
          seed: 1,
        }))
          words.append(step.text);
        film.add(at.step, api.config, captured);
        samplesBox.hidden = false;
        const node = el('li', {}, el('span', { class: 'num' }, `step ${at.step}`), words);
        samples.append(node);
        kept.push({ step: at.step, node });
        const gone = superfluous(kept);
        if (gone !== null) kept.splice(gone, 1)[0].node.remove();
        samples.scrollTop = samples.scrollHeight;
      } catch (error) {
        complain(error);
      } finally {
        api.dispose();
      }
    })();
  }

  /** The sentence of the film, and how often each token comes in the text. */
  async function learnSentence(api, material) {
    const ids = await api.encode(material.slice(0, COUNTED), { addSpecialTokens: false });
    const opening = await api.encode(stories(material.slice(0, COUNTED)).split(SEPARATOR)[0].trim(), {
      addSpecialTokens: false,
    });
    sentence = opening.slice(0, Math.min(SENTENCE, api.contextLength));
    const prefixes = await Promise.all(sentence.map((_, i) => api.decode(sentence.slice(0, i + 1))));
    film.clear(sentence.map((id, i) => ({ id, text: prefixes[i].slice(i ? prefixes[i - 1].length : 0) })));
    const counts = new Map();
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const n of counts.values()) unigram -= (n / ids.length) * Math.log(n / ids.length);
    plan();
  }

  // -- drawing --------------------------------------------------------------------------------------------------------

  function plan() {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => {
      planned = false;
      draw();
    });
  }

  /**
   * At most CURVE points.
   * @returns {[number, number][]}
   */
  function curve() {
    const each = Math.ceil(steps.length / CURVE);
    const points = [];
    for (let i = 0; i < steps.length; i += each) {
      const part = steps.slice(i, i + each);
      points.push(
        /** @type {[number, number]} */ ([
          part[part.length - 1].step,
          part.reduce((sum, s) => sum + s.loss, 0) / part.length,
        ]),
      );
    }
    return points;
  }

  function draw() {
    const now = phase === 'idle' ? setup.read() : asked;
    const last = steps[steps.length - 1];
    const validated = steps.filter((s) => s.validation);
    const vocab = last ? training.config.vocabSize : now.options.vocabSize;
    const nothing = Math.log(vocab);
    const training_ = curve();
    const losses = [...training_.map(([, y]) => y), ...validated.map((s) => s.validation.nats)];
    const lowest = Math.max(LOWEST, Math.min(0.8, ...losses.map((y) => y / 1.2)));
    plot.draw({
      label: last
        ? `Training loss by step, ${figures(steps[0].loss)} nats a token at step 1, ${figures(last.loss)} at step ${last.step}${validated.length ? `; on text kept apart ${figures(validated[validated.length - 1].validation.nats)}` : ''}`
        : 'Loss by step, empty before training',
      x: [0, now.options.steps],
      xName: 'step',
      yName: 'nats a token',
      y: [lowest, Math.max(nothing, ...losses) * 1.3],
      lines: [
        { name: `knows nothing: ln ${int(vocab)} = ${figures(nothing)}`, y: nothing },
        ...(unigram ? [{ name: `knows how often each token comes: ${figures(unigram)}`, y: unigram }] : []),
      ],
      series: [
        { name: 'training', kind: 'kind-0', points: training_ },
        {
          name: 'validation, on text kept apart',
          kind: 'kind-1',
          points: validated.map((s) => [s.step, s.validation.nats]),
          dots: true,
        },
      ],
    });
    bar.max = now.options.steps;
    bar.value = last?.step ?? 0;
    const recent = steps.slice(-RECENT);
    const speed = meanSpeed(recent.map((s) => s.tokensPerSecond));
    const seconds = last && speed ? ((last.tokens / last.step) * (now.options.steps - last.step)) / speed : 0;
    const told = last
      ? [
          ['step', `${int(last.step)} of ${int(now.options.steps)}`],
          ['loss', `${figures(last.loss)} nats`],
          ['the right token gets', percent(Math.exp(-last.loss))],
          ['speed', speed ? `${si(speed)} tok/s` : '–'],
          [
            'time left',
            phase === 'done' || !speed
              ? '–'
              : seconds < 90
                ? `${Math.ceil(seconds)} s`
                : `${Math.ceil(seconds / 60)} min`,
          ],
        ]
      : [
          ['step', '–'],
          ['loss', '–'],
          ['the right token gets', '–'],
          ['speed', '–'],
          ['time left', '–'],
        ];
    facts.replaceChildren(...told.map(([name, v]) => el('div', {}, el('dt', {}, name), el('dd', {}, v))));
  }

  function tabulate(/** @type {any} */ { step, loss, validation: { nats, bitsPerByte } }) {
    rows.append(
      el(
        'tr',
        {},
        el('th', { scope: 'row' }, String(step)),
        ...[loss, nats, bitsPerByte].map((x) => el('td', {}, figures(x))),
      ),
    );
  }

  // -- what becomes of it ---------------------------------------------------------------------------------------------

  /** The weights as they are now, as the page opens it. */
  async function takeOver() {
    if (!pressed(use)) return;
    try {
      const files = await training.files({ dtype: 'f32' });
      const parts = files.map((f) => new File([f.bytes], f.name));
      await run.loadModel(parts.length === 1 ? parts[0] : parts, {
        name: `trained here, ${steps.length} steps`,
        fileBytes: parts.reduce((n, f) => n + f.size, 0),
      });
      if (store.state.error) return;
      await run.setPrompt(asked.prompt);
      scrollTo({ top: 0, behavior: still() ? 'auto' : 'smooth' });
      /** @type {HTMLElement} */ (document.querySelector('#text')).focus({ preventScroll: true });
      await run.run();
    } catch (error) {
      complain(error);
    }
  }

  async function keep() {
    if (!pressed(download)) return;
    try {
      for (const { name, bytes } of await training.files({ dtype: dtype.value })) saveFile(name, new Blob([bytes]));
    } catch (error) {
      complain(error);
    }
  }

  setup.onchange(plan);
  store.watch(['theme'], () => film.repaint());
  enter('idle');
}
