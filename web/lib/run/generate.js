// generate.js - generates one text: prefill, sampling, and the delivery of steps
import { perSecond } from '../base/clock.js';
import { Yielder } from '../base/event_loop.js';
import { StepBuffer } from './stop_texts.js';

/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('../engine/engine.js').Tensor} Tensor */
/**
 * One new token of a generation.
 * @typedef {object} Step
 * @property {number} id          id of the token
 * @property {string} text        '' without a tokenizer, and while the bytes of a character are incomplete
 * @property {number} position    its position, counted from the beginning of the prompt
 * @property {number} logprob     natural logarithm of the token's probability before sampling options apply
 * @property {number} ms          engine time of this token; some browsers round it to whole ms
 * @property {{id: number, text: string, logprob: number, probability: number}[]} [top]  the `logprobs` most likely
 *   tokens at this position; probability: with which the sampling options draw it
 * @property {Record<string, Tensor>} [captured] values at the captured points in the pass before this token: the row of
 *   the last position, at the first step the rows of the whole prompt. The rows of all steps together are those of the
 *   whole sequence
 * @property {number} [sequence]  index of the prompt, when there are several
 * @property {string} [content]  in chat with tools: the text that is known not to belong to a call
 */
/**
 * The result of a generation.
 * @typedef {object} Summary
 * @property {string} text       new text, without the prompt
 * @property {number[]} ids      new tokens
 * @property {number} seed       that the tokens were sampled with
 * @property {'maxTokens'|'eos'|'stop'|'contextFull'|'grammar'} stopReason  of the first prompt, when there are several;
 *   'grammar': the text is complete, and the grammar or JSON schema allows nothing after it
 * @property {string} [stopText]  with the stop reason 'stop': the one of the texts in `stop` that was found
 * @property {string[]} [ignoredKeywords]  unknown keywords and formats of the option `json`, which had no effect
 * @property {number} prefilledTokens  tokens of the prompt that were run, in prefillMs
 * @property {number} reusedTokens     tokens of the prompt whose keys and values the cache held already: of
 *   `Session.generate` and `chat`, otherwise 0
 * @property {number} prefillMs  engine time of the prompt
 * @property {number} decodeMs   engine time of the new tokens
 * @property {number} tokensPerSecond  decode passes per second of engine time; 0 without such passes, and when their
 *   time is less than ten ticks of the clock
 * @property {string} [content]  in chat with tools: the text before the first call
 * @property {import('../api/call_types.js').ToolCall[]} [toolCalls]  in chat with tools: the calls in the answer
 * @property {any} [value]  of chat with the option `json`: as of `complete`; none where the answer calls tools
 * @property {import('../api/call_types.js').Message} [message]  in chat: the answer, for the next turn
 * @property {number[][]} [sequences]   with several prompts: the tokens of each, followed by its new ones
 * @property {Summary[]} [summaries]    with several prompts: the result of each
 */
/** @typedef {ReturnType<typeof import('./generation_options.js').generationOf>} GenerationOptions */
/**
 * How steps are delivered. They come in lists, so that a worker can post several in one message.
 * @typedef {object} Delivery
 * @property {AbortSignal} [signal]
 * @property {(steps: Step[]) => boolean} [due]  whether to deliver the steps collected so far; default: always
 */

/**
 * The generation of one text. Its user repeats: `choose` a token, deliver the steps, `startPass`, and run the token
 * with Sequence.advance.
 */
export class Generation {
  prefillMs = 0;
  decodeMs = 0;
  prefilledTokens = 0;
  reusedTokens = 0;
  /**
   * Changes the logits; null: no option does.
   * @type {import('./logit_controls.js').Controls | null}
   */
  controls = null;
  #passes = 0;
  #passStart = 0;
  #generated = 0;
  /** @type {Summary['stopReason'] | null} */
  #reason = null;

  /**
   * @param {LoadedModel} model
   * @param {import('./sequence.js').Sequence} sequence  closed by the caller
   * @param {number[]} prompt
   * @param {GenerationOptions} o
   */
  constructor(model, sequence, prompt, o) {
    this.sequence = sequence;
    this.o = o;
    /** Tokens of the prompt and of the text so far. */
    this.ids = [...prompt];
    this.eos = o.ignoreEos ? [] : model.special.eos;
    this.buffer = new StepBuffer(o.stop, model.decoder(prompt), o.minTokens);
  }

  /**
   * Open a sequence and run the prompt.
   * @param {LoadedModel} model
   * @param {number[]} prompt
   * @param {GenerationOptions} o
   * @param {Yielder} yielder
   */
  static async open(model, prompt, o, yielder) {
    const controls = await model.controls(o, prompt);
    const sequence = await model.openSequence(o, prompt.length + o.maxTokens, prompt.length, yielder);
    const generation = new Generation(model, sequence, prompt, o);
    generation.controls = controls;
    try {
      const from = performance.now();
      await sequence.encodeSource(o, yielder);
      await generation.prefill(yielder);
      generation.prefillMs = generation.#passStart - from;
      return generation;
    } catch (error) {
      sequence.close();
      throw error;
    }
  }

  /**
   * Seed the sampler and run the tokens of the prompt that follow those in the cache, at least one.
   * @param {Yielder} yielder
   */
  async prefill(yielder) {
    const { sequence, ids, o } = this;
    const from = performance.now();
    this.reusedTokens = sequence.session.length;
    this.prefilledTokens = ids.length - this.reusedTokens;
    sequence.session.seed(o.seed);
    await sequence.prefill(ids.slice(this.reusedTokens), yielder);
    this.#passStart = performance.now();
    this.prefillMs = this.#passStart - from;
  }

  /** Whether another token is to be chosen. */
  get running() {
    return this.#reason === null;
  }

  /**
   * Sample the next token, or end the generation.
   * @returns {Step[]} the steps that can be delivered
   */
  choose() {
    const { ids, sequence, o, buffer, controls } = this;
    const { session } = sequence;
    if (this.#generated >= o.maxTokens) return this.#end('maxTokens');
    if (ids.length >= session.context) return this.#end('contextFull');
    if (controls?.complete) return this.#end('grammar');
    const { id, logprob } = session.sample(o.sampling, controls?.adjustment());
    if (this.eos.includes(id)) return this.#end('eos');
    /** @type {Step} */
    const step = { id, text: '', position: ids.length, logprob, ms: 0 };
    if (o.logprobs)
      step.top = sequence.top(o.logprobs).map((each) => ({ ...each, probability: session.probability(each.id) }));
    const captured = sequence.takeCaptured();
    if (captured) step.captured = captured;
    ids.push(id);
    controls?.accept(id);
    this.#generated++;
    step.ms = performance.now() - this.#passStart;
    this.decodeMs += step.ms;
    const steps = buffer.push(step);
    if (buffer.stopped) this.#reason = 'stop';
    else if (controls?.complete) steps.push(...this.#end('grammar'));
    else if (this.#generated >= o.maxTokens) steps.push(...this.#end('maxTokens'));
    else if (ids.length >= session.context) steps.push(...this.#end('contextFull'));
    return steps;
  }

  /** Start the clock of the next pass. To be called before the chosen token is run. */
  startPass() {
    this.#passStart = performance.now();
    this.#passes++;
  }

  /**
   * End the generation.
   * @param {Summary['stopReason']} reason
   * @returns {Step[]} the steps that were withheld
   */
  #end(reason) {
    const steps = this.buffer.end();
    this.#reason = this.buffer.stopped ? 'stop' : reason;
    return steps;
  }

  /**
   * The result, after the end.
   * @returns {Summary}
   */
  summary() {
    const { prefilledTokens, reusedTokens, prefillMs, decodeMs } = this;
    const { text, ids, stopText } = this.buffer;
    return {
      text,
      ids,
      seed: this.o.seed,
      stopReason: /** @type {Summary['stopReason']} */ (this.#reason),
      ...(stopText !== undefined && { stopText }),
      prefilledTokens,
      reusedTokens,
      prefillMs,
      decodeMs,
      tokensPerSecond: perSecond(this.#passes, decodeMs),
    };
  }
}

/**
 * The steps of a generation whose prompt was run.
 * @param {Generation} generation
 * @param {Yielder} yielder
 * @param {(steps: Step[]) => boolean} due  see Delivery
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* decode(generation, yielder, due) {
  /** @type {Step[]} */
  let steps = [];
  for (;;) {
    steps.push(...generation.choose());
    if (steps.length && (!generation.running || due(steps))) {
      yield steps;
      steps = [];
    }
    if (!generation.running) return generation.summary();
    const wait = yielder.yieldIfDue(); // usually undefined; awaiting undefined costs as much as the rest of the loop
    if (wait) await wait;
    generation.startPass();
    generation.sequence.advance(generation.ids);
  }
}

/**
 * Continue a prompt.
 * @param {LoadedModel} model
 * @param {number[]} prompt
 * @param {GenerationOptions} o
 * @param {Delivery} hooks
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* generate(model, prompt, o, { signal, due = () => true }) {
  const yielder = new Yielder(signal);
  await yielder.yieldIfDue();
  const generation = await Generation.open(model, prompt, o, yielder);
  try {
    return yield* decode(generation, yielder, due);
  } finally {
    generation.sequence.close();
  }
}
