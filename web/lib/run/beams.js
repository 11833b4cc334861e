// beams.js - beam search
import { perSecond } from '../base/clock.js';
import { StepBuffer } from './stop_texts.js';
import { advanceAll } from './batch.js';
import { Yielder } from '../base/event_loop.js';

/** @import { LoadedModel } from './loaded_model.js' */
/** @import { Sequence } from './sequence.js' */
/** @import { GenerationOptions, Step, Summary } from './generate.js' */

/**
 * A hypothesis: its sequence in the engine, its new tokens, their logarithms of probabilities and the sum of these.
 * @typedef {{sequence: Sequence, ids: number[], logprobs: number[], sum: number}} Beam
 */

/**
 * A finished hypothesis; value: its score, eos: whether it ended by itself.
 * @typedef {{ids: number[], logprobs: number[], value: number, eos: boolean}} Found
 */

/** The hypotheses of one search. Its owner closes it. */
class Search {
  passes = 0;
  /** @type {Beam[]} the hypotheses that may still be continued */
  #beams;
  /** @type {Beam[]} those of the next step, while they are made */
  #next = [];
  /** @type {Found | null} */
  #best = null;

  /**
   * @param {LoadedModel} model
   * @param {number[]} prompt
   * @param {GenerationOptions} o
   * @param {Sequence} first  closed by `close`
   */
  constructor(model, prompt, o, first) {
    this.model = model;
    this.prompt = prompt;
    this.o = o;
    this.eos = o.ignoreEos ? [] : model.special.eos;
    this.#beams = [{ sequence: first, ids: [], logprobs: [], sum: 0 }];
  }

  /**
   * @param {number} sum  of logarithms of probabilities
   * @param {number} n    tokens
   */
  #score(sum, n) {
    return sum / ((5 + n) / 6) ** this.o.lengthPenalty;
  }

  /**
   * Keep a hypothesis where it is the best one so far.
   * @param {Found} found
   */
  #consider({ ids, logprobs, value, eos }) {
    if (!this.#best || value > this.#best.value) this.#best = { ids, logprobs, value, eos };
  }

  /**
   * Search until no hypothesis can become the best one. Call after the prompt has run.
   * @param {import('../base/event_loop.js').Yielder} yielder
   */
  async run(yielder) {
    const { model, prompt, o } = this;
    const maxSteps = Math.min(o.maxTokens, this.#beams[0].sequence.session.context - prompt.length);
    for (let n = 1; n <= maxSteps && this.#beams.length; n++) {
      this.#extend(this.#survivors(n, o.lengthPenalty ? maxSteps : n));
      if (n === maxSteps) break;
      const running = this.#beams.map(({ sequence, ids }) => ({ sequence, ids: [...prompt, ...ids] }));
      advanceAll(model, running);
      this.passes++;
      await yielder.yieldIfDue();
    }
    for (const b of this.#beams) this.#consider({ ...b, value: this.#score(b.sum, b.ids.length || 1), eos: false });
    return /** @type {Found} */ (this.#best);
  }

  /**
   * The continuations by one token that can still become the best hypothesis, at most `beams`.
   * @param {number} n      tokens after this step
   * @param {number} reach  length with the best score that can follow
   */
  #survivors(n, reach) {
    const { model, o, eos } = this;
    // The best candidates may be end tokens, or excluded: more candidates are considered than survive.
    const width = Math.min(model.config.vocab_size, o.beams + eos.length + model.never.length);
    const candidates = this.#beams.flatMap((beam) =>
      beam.sequence
        .top(width)
        .filter(({ id }) => !model.never.includes(id))
        .map(({ id, logprob }) => ({ beam, id, logprob, sum: beam.sum + logprob })),
    );
    candidates.sort((x, y) => y.sum - x.sum);
    /** @type {typeof candidates} */
    const chosen = [];
    candidates.forEach((c, rank) => {
      if (eos.includes(c.id)) {
        if (n > o.minTokens && rank < o.beams) this.#consider({ ...c.beam, value: this.#score(c.sum, n), eos: true });
      } else if (chosen.length < o.beams) chosen.push(c);
    });
    // Later logarithms of probabilities are 0 at most.
    return chosen.filter((c) => !this.#best || this.#score(c.sum, reach) > this.#best.value);
  }

  /**
   * Replace the hypotheses by these continuations.
   * @param {{beam: Beam, id: number, logprob: number, sum: number}[]} alive
   */
  #extend(alive) {
    this.#next = [];
    for (const { beam, id, logprob, sum } of alive) {
      const isTaken = this.#next.some((b) => b.sequence === beam.sequence);
      this.#next.push({
        sequence: isTaken ? beam.sequence.fork() : beam.sequence,
        ids: [...beam.ids, id],
        logprobs: [...beam.logprobs, logprob],
        sum,
      });
    }
    for (const b of this.#beams) if (!this.#next.some((c) => c.sequence === b.sequence)) b.sequence.close();
    this.#beams = this.#next;
  }

  close() {
    for (const sequence of new Set([...this.#beams, ...this.#next].map((b) => b.sequence))) sequence.close();
  }
}

/**
 * Find a likely continuation by beam search of width `beams`. The score of a hypothesis of n tokens is
 * sum(logprob) / ((5 + n) / 6)^lengthPenalty (Wu et al. 2016, equation 14); a penalty of 0 compares plain sums. All
 * steps are delivered together, because the best hypothesis is known only at the end.
 * @param {LoadedModel} model
 * @param {number[]} prompt
 * @param {GenerationOptions} o
 * @param {import('./generate.js').Delivery} hooks
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* beamSearch(model, prompt, o, { signal }) {
  const yielder = new Yielder(signal);
  await yielder.yieldIfDue();
  const first = await model.openSequence(o, prompt.length + o.maxTokens, prompt.length, yielder);
  const search = new Search(model, prompt, o, first);
  try {
    const start = performance.now();
    await first.encodeSource(o, yielder);
    await first.prefill(prompt, yielder);
    const decodeStart = performance.now();
    const { ids, logprobs, eos } = await search.run(yielder);
    const decodeMs = performance.now() - decodeStart;
    const buffer = new StepBuffer(o.stop, model.decoder(prompt), o.minTokens);
    /** @type {Step[]} */
    const steps = [];
    for (let i = 0; i < ids.length && !buffer.stopped; i++) {
      const position = prompt.length + i;
      steps.push(...buffer.push({ id: ids[i], text: '', position, logprob: logprobs[i], ms: decodeMs / ids.length }));
    }
    if (!buffer.stopped) steps.push(...buffer.end());
    if (steps.length) yield steps;
    const limit = ids.length >= o.maxTokens ? 'maxTokens' : 'contextFull';
    return {
      text: buffer.text,
      ids: buffer.ids,
      seed: o.seed,
      stopReason: buffer.stopped ? 'stop' : eos ? 'eos' : limit,
      ...(buffer.stopText !== undefined && { stopText: buffer.stopText }),
      prefilledTokens: prompt.length,
      reusedTokens: 0,
      prefillMs: decodeStart - start,
      decodeMs,
      tokensPerSecond: perSecond(search.passes, decodeMs),
    };
  } finally {
    search.close();
  }
}

/**
 * Beam searches, one after the other.
 * @param {LoadedModel} model
 * @param {number[][]} prompts
 * @param {GenerationOptions[]} options  of each
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Step[], Summary[], void>}
 */
export async function* searchEach(model, prompts, options, signal) {
  /** @type {Summary[]} */
  const summaries = [];
  for (const [sequence, prompt] of prompts.entries()) {
    const search = beamSearch(model, prompt, options[sequence], { signal });
    try {
      let found = await search.next();
      for (; !found.done; found = await search.next()) yield found.value.map((step) => ({ ...step, sequence }));
      summaries.push(found.value);
    } finally {
      await search.return(/** @type {any} */ (undefined)); // ends the search when the reader of the steps stops
    }
  }
  return summaries;
}
