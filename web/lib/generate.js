// generate.js - one token after the other: sampling, stop strings
import { Pause } from './turn.js';

/** @typedef {import('./model.js').LoadedModel} LoadedModel */
/** @typedef {import('./engine.js').Tensor} Tensor */
/**
 * @typedef {object} Step
 * @property {number} id
 * @property {string} text        '' without a tokenizer, and while a character is not yet whole
 * @property {number} position    of this token, counted from the beginning of the prompt
 * @property {number} logprob     natural logarithm of the model's own probability (temperature 1, nothing cut off)
 * @property {number} ms          that the engine took for it
 * @property {{id: number, text: string, logprob: number}[]} [top]  the `logprobs` most likely tokens at this place
 * @property {Record<string, Tensor>} [captured]  what the pass that led to this token left at the captured points: the rows of the
 *   last position (of the whole prompt at the first step), so that all steps' rows put together are the whole picture
 * @property {number} [sequence]  which prompt, when several were given
 */
/**
 * @typedef {object} Summary
 * @property {string} text
 * @property {number[]} ids
 * @property {number} seed
 * @property {'maxTokens'|'eos'|'stop'|'contextFull'} stopReason
 * @property {number} prefillMs
 * @property {number} decodeMs
 * @property {number} tokensPerSecond   decode passes per second of engine time; 0 when there was none
 * @property {number[][]} [sequences]   several prompts: each followed by its new tokens
 * @property {Summary[]} [summaries]    several prompts: each one's own
 */
/** @typedef {ReturnType<typeof import('./options.js').generateOptions>} Checked */
/**
 * How steps are handed out: in lists, so that a worker can post many at once.
 * @typedef {object} Delivery
 * @property {AbortSignal} [signal]
 * @property {(steps: Step[]) => boolean} [due]  whether what has gathered is to go out now; default: at once
 */

/** Steps on their way out: held back while their text may still turn out to be (part of) a stop string. */
export class Outlet {
  /** @type {Step[]} */
  #held = [];
  text = '';
  /** @type {number[]} */
  ids = [];
  stopped = false;

  /** @param {string[]} stops @param {{push(id: number): string, end(): string} | null} decoder */
  constructor(stops, decoder) {
    this.stops = stops;
    this.decoder = decoder;
  }

  /** @param {Step} step without text @returns {Step[]} that may go out now */
  push(step) {
    step.text = this.decoder ? this.decoder.push(step.id) : '';
    this.#held.push(step);
    return this.#release(false);
  }

  /** No more steps. @returns {Step[]} */
  end() {
    const rest = this.decoder?.end();
    const last = this.#held.at(-1);
    if (rest && last) last.text += rest; // half a character that will not become whole
    return this.#release(true);
  }

  /** @param {boolean} all @returns {Step[]} */
  #release(all) {
    const text = this.#held.map((s) => s.text).join('');
    const found = this.stops.map((s) => text.indexOf(s)).filter((i) => i >= 0);
    let free = text.length; // characters that are certain
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
      const step = this.#held[0], end = at + step.text.length;
      if (this.stopped) {
        if (at >= free && (step.text || at > free)) break; // wholly within the stop string, or behind it
        step.text = step.text.slice(0, free - at);
      } else if (!all && (end > free || (this.decoder && end === text.length && !step.text))) {
        break; // may be a stop string's beginning, or half a character that the next token completes
      }
      out.push(step);
      this.#held.shift();
      at = end;
    }
    for (const step of out) { this.text += step.text; this.ids.push(step.id); }
    if (this.stopped) this.#held = [];
    return out;
  }
}

/** Length of the longest end of text that is a beginning of stop, less than all of it. @param {string} text @param {string} stop */
function overlap(text, stop) {
  for (let n = Math.min(text.length, stop.length - 1); n > 0; n--) if (text.endsWith(stop.slice(0, n))) return n;
  return 0;
}

/**
 * Continue a prompt.
 * @param {LoadedModel} f
 * @param {number[]} prompt
 * @param {Checked} o
 * @param {Delivery} hooks
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* generate(f, prompt, o, { signal, due = () => true }) {
  const pause = new Pause(signal);
  await pause.check();
  const run = await f.openRun(o);
  try {
    const { session } = run;
    session.seed(o.seed);
    let from = performance.now();
    await run.start(o, pause);
    await run.prefill(prompt, pause);
    const prefillMs = performance.now() - from;
    const outlet = new Outlet(o.stop, f.decoder(prompt));
    const eos = o.ignoreEos ? [] : f.special.eos;
    const ids = [...prompt];
    let decodeMs = 0, passes = 0, made = 0;
    /** @type {Step[]} */
    let steps = [];
    /** @type {Summary['stopReason']} */
    let stopReason = 'maxTokens';
    from = performance.now();
    while (made < o.maxTokens) {
      if (ids.length >= session.context) { stopReason = 'contextFull'; break; }
      const { id, logprob } = session.sample(o.sampling);
      if (eos.includes(id)) { stopReason = 'eos'; break; }
      /** @type {Step} */
      const step = { id, text: '', position: ids.length, logprob, ms: 0 };
      if (o.logprobs) step.top = run.top(o.logprobs);
      const captured = run.take();
      if (captured) step.captured = captured;
      ids.push(id);
      made++;
      step.ms = performance.now() - from;
      decodeMs += step.ms;
      steps.push(...outlet.push(step));
      if (steps.length && due(steps)) {
        yield steps;
        steps = [];
      }
      if (outlet.stopped) break;
      const wait = pause.check(); // mostly nothing: an await would cost as much as the rest of this loop
      if (wait) await wait;
      from = performance.now();
      if (made === o.maxTokens || ids.length >= session.context) continue;
      run.next(ids);
      passes++;
    }
    if (!outlet.stopped) steps.push(...outlet.end());
    if (outlet.stopped) stopReason = 'stop';
    if (steps.length) yield steps;
    return { text: outlet.text, ids: outlet.ids, seed: o.seed, stopReason, prefillMs, decodeMs, tokensPerSecond: passes && decodeMs ? passes * 1000 / decodeMs : 0 };
  } finally {
    run.close();
  }
}
