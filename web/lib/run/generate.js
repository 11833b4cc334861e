// generate.js - the generation of one text: prefill, sampling, stop strings, and when a step can be delivered
import { perSecond } from '../base/clock.js';
import { Yielder } from '../base/event_loop.js';

/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('../engine/engine.js').Tensor} Tensor */
/**
 * @typedef {object} Step
 * @property {number} id
 * @property {string} text        '' without a tokenizer, and while the bytes of a character are incomplete
 * @property {number} position    of this token, counted from the beginning of the prompt
 * @property {number} logprob     natural logarithm of the model's own probability (temperature 1, nothing cut off)
 * @property {number} ms          engine time of this token; some browsers round it to whole ms
 * @property {{id: number, text: string, logprob: number}[]} [top]  the `logprobs` most likely tokens at this place
 * @property {Record<string, Tensor>} [captured] values at the captured points in the pass before this token: rows of
 *   the last position, at the first step rows of the whole prompt. The rows of all steps joined are those of the whole
 *   sequence
 * @property {number} [sequence]  which prompt, when several were given
 */
/**
 * @typedef {object} Summary
 * @property {string} text
 * @property {number[]} ids
 * @property {number} seed
 * @property {'maxTokens'|'eos'|'stop'|'contextFull'} stopReason  of several prompts the first one's
 * @property {number} prefillMs
 * @property {number} decodeMs
 * @property {number} tokensPerSecond decode passes per second of engine time; 0 when there was none, or less than ten
 *   ticks of the clock
 * @property {number[][]} [sequences]   several prompts: each followed by its new tokens
 * @property {Summary[]} [summaries]    several prompts: each one's own
 */
/** @typedef {ReturnType<typeof import('../input/options.js').generateOptions>} Checked */
/**
 * How steps are delivered: in lists, so that a worker can post many in one message.
 * @typedef {object} Delivery
 * @property {AbortSignal} [signal]
 * @property {(steps: Step[]) => boolean} [due]  whether to deliver the steps collected so far; default: at once
 */

/** Delays steps whose text may be the beginning of a stop string, or half a character, until later tokens decide it. */
export class StepBuffer {
  /** @type {Step[]} */
  #held = [];
  text = '';
  /** @type {number[]} */
  ids = [];
  stopped = false;

  /**
   * @param {string[]} stops
   * @param {{push(id: number): string, end(): string, half: boolean} | null} decoder
   */
  constructor(stops, decoder) {
    this.stops = stops;
    this.decoder = decoder;
  }

  /**
   * @param {Step} step its text is set here
   * @returns {Step[]} the steps that can be delivered
   */
  push(step) {
    step.text = this.decoder ? this.decoder.push(step.id) : '';
    this.#held.push(step);
    return this.#release(false);
  }

  /**
   * No more steps.
   * @returns {Step[]}
   */
  end() {
    const rest = this.decoder?.end();
    const last = this.#held.at(-1);
    if (rest && last) last.text += rest; // an incomplete character that no token follows
    return this.#release(true);
  }

  /**
   * @param {boolean} all
   * @returns {Step[]}
   */
  #release(all) {
    const text = this.#held.map((s) => s.text).join('');
    const found = this.stops.map((s) => text.indexOf(s)).filter((i) => i >= 0);
    let free = text.length; // characters that can be delivered
    if (found.length) {
      this.stopped = true;
      free = Math.min(...found);
    } else if (!all) {
      free -= Math.max(0, ...this.stops.map((s) => overlap(text, s)));
    }
    /** @type {Step[]} */
    const out = [];
    let at = 0;
    while (this.#held.length) {
      const step = this.#held[0];
      const end = at + step.text.length;
      if (this.stopped) {
        if (at >= free && (step.text || at > free)) break; // the whole token lies in the stop string or after it
        step.text = step.text.slice(0, free - at);
      } else if (!all && (end > free || (this.decoder && end === text.length && (!step.text || this.decoder.half)))) {
        break; // it may begin a stop string, or the next token may complete its last character
      }
      out.push(step);
      this.#held.shift();
      at = end;
    }
    for (const step of out) {
      this.text += step.text;
      this.ids.push(step.id);
    }
    if (this.stopped) this.#held = [];
    return out;
  }
}

/**
 * Length of the longest suffix of the text that is a proper prefix of the stop string.
 * @param {string} text
 * @param {string} stop
 */
function overlap(text, stop) {
  for (let n = Math.min(text.length, stop.length - 1); n > 0; n--) if (text.endsWith(stop.slice(0, n))) return n;
  return 0;
}

/**
 * The generation of one text. Its loop: choose a token, deliver steps, run the token (startPass, then
 * Sequence.advance), choose the next.
 */
export class Generation {
  prefillMs = 0;
  decodeMs = 0;
  #passes = 0;
  #from = 0;
  #made = 0;
  /** @type {Summary['stopReason'] | null} */
  #reason = null;

  /**
   * @param {LoadedModel} model
   * @param {import('./sequence.js').Sequence} sequence  closed by the caller
   * @param {number[]} prompt
   * @param {Checked} o
   */
  constructor(model, sequence, prompt, o) {
    this.sequence = sequence;
    this.o = o;
    /** Tokens of the prompt and of the text so far. */
    this.ids = [...prompt];
    this.eos = o.ignoreEos ? [] : model.special.eos;
    this.buffer = new StepBuffer(o.stop, model.decoder(prompt));
  }

  /**
   * Open a sequence and run the prompt.
   * @param {LoadedModel} model
   * @param {number[]} prompt
   * @param {Checked} o
   * @param {Yielder} yielder
   */
  static async open(model, prompt, o, yielder) {
    const generation = new Generation(model, await model.openSequence(o), prompt, o);
    try {
      const from = performance.now();
      generation.sequence.session.seed(o.seed);
      await generation.sequence.encodeSource(o, yielder);
      await generation.sequence.prefill(prompt, yielder);
      generation.#from = performance.now();
      generation.prefillMs = generation.#from - from;
      return generation;
    } catch (error) {
      generation.sequence.close();
      throw error;
    }
  }

  /** Whether another token follows. */
  get running() {
    return this.#reason === null;
  }

  /**
   * Choose the next token.
   * @returns {Step[]} the steps that can be delivered
   */
  choose() {
    const { ids, sequence, o, buffer } = this;
    const { session } = sequence;
    if (this.#made >= o.maxTokens) return this.#end('maxTokens');
    if (ids.length >= session.context) return this.#end('contextFull');
    const { id, logprob } = session.sample(o.sampling);
    if (this.eos.includes(id)) return this.#end('eos');
    /** @type {Step} */
    const step = { id, text: '', position: ids.length, logprob, ms: 0 };
    if (o.logprobs) step.top = sequence.top(o.logprobs);
    const captured = sequence.takeCaptured();
    if (captured) step.captured = captured;
    ids.push(id);
    this.#made++;
    step.ms = performance.now() - this.#from;
    this.decodeMs += step.ms;
    const steps = buffer.push(step);
    if (buffer.stopped) this.#reason = 'stop';
    else if (this.#made >= o.maxTokens) steps.push(...this.#end('maxTokens'));
    else if (ids.length >= session.context) steps.push(...this.#end('contextFull'));
    return steps;
  }

  /** Start the clock of the next pass. To be called before the chosen token is run. */
  startPass() {
    this.#from = performance.now();
    this.#passes++;
  }

  /**
   * @param {Summary['stopReason']} reason
   * @returns {Step[]}
   */
  #end(reason) {
    const steps = this.buffer.end();
    this.#reason = this.buffer.stopped ? 'stop' : reason;
    return steps;
  }

  /** @returns {Summary} */
  summary() {
    const {
      prefillMs,
      decodeMs,
      buffer: { text, ids },
      o: { seed },
    } = this;
    const stopReason = /** @type {Summary['stopReason']} */ (this.#reason);
    return { text, ids, seed, stopReason, prefillMs, decodeMs, tokensPerSecond: perSecond(this.#passes, decodeMs) };
  }
}

/**
 * Continue a prompt.
 * @param {LoadedModel} model
 * @param {number[]} prompt
 * @param {Checked} o
 * @param {Delivery} hooks
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* generate(model, prompt, o, { signal, due = () => true }) {
  const yielder = new Yielder(signal);
  await yielder.yieldIfDue();
  const generation = await Generation.open(model, prompt, o, yielder);
  try {
    /** @type {Step[]} */
    let steps = [];
    for (;;) {
      steps.push(...generation.choose());
      if (steps.length && (!generation.running || due(steps))) {
        yield steps;
        steps = [];
      }
      if (!generation.running) return generation.summary();
      const wait = yielder.yieldIfDue(); // usually undefined: awaiting it would cost as much as the rest of the loop
      if (wait) await wait;
      generation.startPass();
      generation.sequence.advance(generation.ids);
    }
  } finally {
    generation.sequence.close();
  }
}
