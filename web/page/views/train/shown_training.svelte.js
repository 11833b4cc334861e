// shown_training.svelte.js - a training run and what is shown of it. It lasts longer than the component: a visitor who
// looks at another view finds it as it goes on.

import { train } from 'glassformer';
import { TRAIN } from '../../text/train_text.js';
import { RHYMES } from './rhymes.js';
import { FIRST, HELD, SEPARATOR, setupOf, stepsFor, stories } from './training_options.js';
import { frameOf, thinned } from './film_frames.js';
import { unigramLoss } from './loss_curve.js';
import { messageOf } from '../../state/base/error_message.js';

const SENTENCE = 32; // tokens of the film, at most
const SAMPLE = 64; // tokens of a sample
const COUNTED = 20_000; // characters whose tokens are counted
const TIMED = 12; // steps by which the speed is measured
export const fileOf = (/** @type {{ name: string, bytes: BlobPart }} */ { name, bytes }) => new File([bytes], name);
export const firstWord = (/** @type {string} */ text) => /\S+/.exec(text)?.[0] ?? '';

export class TrainingRun {
  text = $state(RHYMES);
  begins = $state('');
  values = $state({ ...FIRST });
  /** @type {'idle' | 'starting' | 'timing' | 'running' | 'paused' | 'stopped' | 'done'} */
  phase = $state('idle');
  alarm = $state('');
  total = $state(400); // steps of the run
  unigram = $state(0); // nats a token of token frequencies only, 0: not counted yet
  /** What the current run was begun with. */
  asked = $state.raw({ ...setupOf(FIRST), prompt: '', material: '', api: /** @type {any} */ (null) });
  /** Tokens of the film's sentence. @type {{ id: number, text: string }[]} */
  sentence = $state.raw([]);
  /** @type {import('./film_frames.js').Frame[]} */
  frames = $state.raw([]);
  /** Name: instead of the step. @type {{ step: number, name?: string, prompt: string, text: string }[]} */
  samples = $state.raw([]);
  /** The library's run; alive until the next one begins. @type {any} */
  training = null;
  /** The newest that was trained or opened. @type {import('../../state/calls/set_adapter.js').Adapter | null} */
  adapter = $state.raw(null);
  #steps = /** @type {any[]} */ ([]);
  #drawn = $state(0); // grows once a frame while steps come
  #planned = false;
  #stopping = new AbortController();
  #ended = false; // by the visitor
  #looking = Promise.resolve();

  /** Steps so far; announced once a frame. */
  get steps() {
    void this.#drawn;
    return this.#steps;
  }
  get busy() {
    return this.phase !== 'idle' && this.phase !== 'stopped' && this.phase !== 'done';
  }
  get status() {
    const copying = this.phase === 'starting' && this.asked.objective === 'adapter',
      words = TRAIN.status[copying ? 'copying' : this.phase];
    return typeof words === 'string' ? words : words(this.steps.length);
  }

  #announce() {
    if (this.#planned) return;
    this.#planned = true;
    requestAnimationFrame(() => {
      this.#planned = false;
      this.#drawn++;
    });
  }
  #enter(/** @type {TrainingRun['phase']} */ phase) {
    this.phase = phase;
    this.#announce();
  }
  /** Say what went wrong. */
  complain(/** @type {unknown} */ error) {
    const words = messageOf(error);
    this.alarm = words && `${words}${/[.!?]$/.test(words) ? '' : '.'}`;
  }

  /** @param {any} [api]  the loaded model, for which an adapter is trained */
  async start(api) {
    if (this.busy) return;
    const { signal } = (this.#stopping = new AbortController());
    const setup = setupOf(this.values);
    const first = setup.objective === 'pairs' ? this.text.trim().split('\t')[0] : firstWord(this.text);
    this.asked = { ...setup, prompt: this.begins || first, material: this.text, api };
    this.#steps = [];
    this.alarm = '';
    this.#enter(setup.steps ? 'starting' : 'timing');
    try {
      await this.#looking;
      this.unigram = 0;
      this.sentence = [];
      this.frames = [];
      this.samples = [];
      await this.training?.dispose();
      this.total = setup.steps ?? (await this.#fitting(signal));
      if (this.values.every === null) this.asked = { ...this.asked, every: Math.max(1, Math.round(this.total / 10)) };
      this.#enter('starting');
      this.training = this.#begin(this.total, signal);
      await this.#follow();
    } catch (error) {
      if (!signal.aborted) this.complain(error);
      this.#enter(this.#steps.length ? 'stopped' : 'idle');
    }
  }
  /** @param {number} steps @param {AbortSignal} signal */
  #begin(steps, signal) {
    const { config, material, objective, options, api } = this.asked;
    return train(
      objective === 'adapter' ? api : /** @type {any} */ (config),
      objective === 'pairs' ? material : stories(material),
      {
        ...options,
        steps,
        validation: material.length * HELD > 60 ? HELD : null,
        validateEvery: Math.max(1, Math.round(steps / 20)),
        signal,
      },
    );
  }
  /** How many steps fit into the time, by a few that are not kept. @param {AbortSignal} signal */
  async #fitting(signal) {
    const trial = this.#begin(TIMED, signal);
    const speeds = [];
    try {
      for await (const { tokensPerSecond } of trial) speeds.push(tokensPerSecond);
    } finally {
      await trial.dispose();
    }
    speeds.sort((a, b) => a - b);
    return stepsFor(speeds[speeds.length >> 1], this.asked.options.batchTokens, this.asked.objective);
  }

  /** Read steps until they end or the visitor ends them; another reader goes on from there. */
  async #follow() {
    const { every } = this.asked;
    this.#ended = false;
    for await (const step of this.training) {
      this.#steps.push(step);
      if (this.phase === 'starting') this.#enter('running');
      this.#announce();
      if (step.step === 1 || step.step === this.total || step.step % every === 0) await this.#examine(step.step);
      if (this.#ended) break;
    }
    const { api, objective } = this.asked;
    if (objective === 'adapter') this.adapter = { api, files: (await this.training.files()).map(fileOf) };
    this.#enter(this.#steps.length === this.total ? 'done' : 'stopped');
  }

  async pauseOrResume() {
    if (this.phase === 'running') {
      this.training.pause();
      return this.#enter('paused');
    }
    if (this.phase !== 'paused' && (this.phase !== 'stopped' || !this.#steps.length)) return;
    const stopped = this.phase === 'stopped';
    this.#enter('running');
    if (!stopped) return this.training.resume();
    try {
      await this.#follow();
    } catch (error) {
      this.complain(error);
      this.#enter('stopped');
    }
  }

  end() {
    if (!this.busy) return;
    this.#ended = true;
    if (this.phase === 'starting' || this.phase === 'timing') this.#stopping.abort();
    if (this.phase === 'paused') this.training.resume(); // what waits for the next step hears of it there
  }

  /** Make a model of the weights as they are and show what it writes and where it looks, while training goes on.
   * @param {number} step */
  async #examine(step) {
    const { prompt, material, objective } = this.asked;
    if (objective === 'adapter') return; // its model would be a second one beside the page's
    // asked for at once: of this step, or of one that came with it
    const [api] = await Promise.all([this.training.model({ dtype: 'f32' }), this.#looking]);
    const look = async () => {
      try {
        if (objective !== 'pairs' && !this.sentence.length) await this.#learnSentence(api, material);
        if (objective === 'next') await this.#film(api, step);
        const options = { maxTokens: Math.min(SAMPLE, api.contextLength - 8), temperature: 0.6, seed: 1 };
        const ids = this.sentence.map((t) => t.id);
        const sample =
          objective === 'masked'
            ? await filledSample(api, ids)
            : objective === 'pairs'
              ? { prompt, text: ` → ${(await api.complete('', { ...options, source: prompt })).text}` }
              : { prompt, text: (await api.complete(prompt, options)).text };
        this.samples = thinned([...this.samples, { step, ...sample }]);
      } catch (error) {
        this.complain(error);
      } finally {
        api.dispose();
      }
    };
    this.#looking = look();
  }

  /** Where the heads of a decoder look in the sentence of the film. @param {any} api @param {number} step */
  async #film(api, step) {
    const ids = this.sentence.map((t) => t.id);
    const { captured } = await api.forward(ids, { capture: ['*attn.hook_pattern'] });
    this.frames = thinned([...this.frames, frameOf(step, api.config, captured, ids)]);
  }

  /** The sentence of the film, and how often each token comes. @param {any} api @param {string} material */
  async #learnSentence(api, material) {
    const part = material.slice(0, COUNTED);
    const ids = await api.encode(part, { addSpecialTokens: false });
    const opening = await api.encode(stories(part).split(SEPARATOR)[0].trim(), { addSpecialTokens: false });
    const sentence = opening.slice(0, Math.min(SENTENCE, api.contextLength));
    const prefixes = await Promise.all(
      sentence.map((/** @type {number} */ _, /** @type {number} */ i) => api.decode(sentence.slice(0, i + 1))),
    );
    this.sentence = sentence.map((/** @type {number} */ id, /** @type {number} */ i) => ({
      id,
      text: prefixes[i].slice(i ? prefixes[i - 1].length : 0),
    }));
    this.unigram = unigramLoss(ids);
  }
}

/** Every fourth token hidden, and what an encoder says that it is. @param {any} api @param {number[]} ids */
async function filledSample(api, ids) {
  const [mask] = await api.encode('[MASK]', { addSpecialTokens: false });
  const hidden = ids.map((id, i) => (i % 4 === 2 ? mask : id));
  const { data, shape } = (await api.forward(hidden)).logits;
  const best = (/** @type {Float32Array} */ row) => row.indexOf(row.reduce((a, b) => Math.max(a, b)));
  const filled = hidden.map((id, i) => (id === mask ? best(data.subarray(i * shape[1], (i + 1) * shape[1])) : id));
  return { prompt: await api.decode(hidden), text: ` → ${await api.decode(filled)}` };
}

/** The page has one. @type {TrainingRun | undefined} */
let only;
export const theTrainingRun = () => (only ??= new TrainingRun());
