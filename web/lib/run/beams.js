// beams.js - beam search
import { perSecond } from '../base/clock.js';
import { StepBuffer } from './generate.js';
import { advanceAll } from './advance.js';
import { Yielder } from '../base/event_loop.js';

/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('./sequence.js').Sequence} Sequence */
/** @typedef {import('./generate.js').Step} Step */
/** @typedef {import('./generate.js').Summary} Summary */
/** @typedef {import('./generate.js').GenerationOptions} GenerationOptions */

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
  /** @typedef {{sequence: Sequence, ids: number[], logprobs: number[], sum: number}} Beam */
  const yielder = new Yielder(signal);
  await yielder.yieldIfDue();
  const score = (/** @type {{sum: number}} */ b, /** @type {number} */ n) => b.sum / ((5 + n) / 6) ** o.lengthPenalty;
  const eos = o.ignoreEos ? [] : model.special.eos;
  const { never } = model;
  const first = await model.openSequence(o);
  /** @type {Beam[]} */
  let beams = [{ sequence: first, ids: [], logprobs: [], sum: 0 }];
  /** @type {Beam[]} */
  let next = [];
  /** @type {{ids: number[], logprobs: number[], value: number, eos: boolean} | null} */
  let best = null;
  const consider = (/** @type {Beam} */ b, /** @type {number} */ value, /** @type {boolean} */ ended) => {
    if (!best || value > best.value) best = { ids: b.ids, logprobs: b.logprobs, value, eos: ended };
  };
  try {
    let startTime = performance.now();
    await first.encodeSource(o, yielder);
    await first.prefill(prompt, yielder);
    const prefillMs = performance.now() - startTime;
    startTime = performance.now();
    const maxSteps = Math.min(o.maxTokens, first.session.context - prompt.length);
    let passes = 0;
    for (let n = 1; n <= maxSteps && beams.length; n++) {
      // `beams` hypotheses survive. The best candidates may be end tokens, or excluded: more candidates are considered.
      const candidates = beams.flatMap((b) =>
        b.sequence
          .top(Math.min(model.config.vocab_size, o.beams + eos.length + never.length))
          .filter(({ id }) => !never.includes(id))
          .map(({ id, logprob }) => ({ b, id, logprob, sum: b.sum + logprob })),
      );
      candidates.sort((x, y) => y.sum - x.sum);
      /** @type {typeof candidates} */
      const chosen = [];
      candidates.forEach((c, rank) => {
        if (eos.includes(c.id)) {
          if (n > o.minTokens && rank < o.beams) consider(c.b, score(c, n), true);
        } else if (chosen.length < o.beams) chosen.push(c);
      });
      // A hypothesis survives while the best score that it can still reach beats the best one: later log-probabilities
      // are 0 at most.
      const reachableLength = o.lengthPenalty ? maxSteps : n;
      const alive = chosen.filter((c) => !best || score(c, reachableLength) > best.value);
      next = [];
      for (const c of alive) {
        const isShared = alive.indexOf(c) !== alive.findIndex((d) => d.b === c.b);
        next.push({
          sequence: isShared ? c.b.sequence.fork() : c.b.sequence,
          ids: [...c.b.ids, c.id],
          logprobs: [...c.b.logprobs, c.logprob],
          sum: c.sum,
        });
      }
      for (const b of beams) if (!next.some((c) => c.sequence === b.sequence)) b.sequence.close();
      beams = next;
      if (n === maxSteps) break;
      advanceAll(
        model,
        beams.map((b) => b.sequence),
        beams.map((b) => [...prompt, ...b.ids]),
      );
      passes++;
      await yielder.yieldIfDue();
    }
    for (const b of beams) consider(b, score(b, b.ids.length || 1), false);
    const bestHypothesis = /** @type {{ids: number[], logprobs: number[], eos: boolean}} */ (
      /** @type {unknown} */ (best)
    );
    const decodeMs = performance.now() - startTime;
    const buffer = new StepBuffer(o.stop, model.decoder(prompt), o.minTokens);
    /** @type {Step[]} */
    const steps = [];
    for (let i = 0; i < bestHypothesis.ids.length && !buffer.stopped; i++) {
      steps.push(
        ...buffer.push({
          id: bestHypothesis.ids[i],
          text: '',
          position: prompt.length + i,
          logprob: bestHypothesis.logprobs[i],
          ms: decodeMs / bestHypothesis.ids.length,
        }),
      );
    }
    if (!buffer.stopped) steps.push(...buffer.end());
    if (steps.length) yield steps;
    const stopReason = buffer.stopped
      ? 'stop'
      : bestHypothesis.eos
        ? 'eos'
        : bestHypothesis.ids.length >= o.maxTokens
          ? 'maxTokens'
          : 'contextFull';
    return {
      text: buffer.text,
      ids: buffer.ids,
      seed: o.seed,
      stopReason,
      prefilledTokens: prompt.length,
      reusedTokens: 0,
      prefillMs,
      decodeMs,
      tokensPerSecond: perSecond(passes, decodeMs),
    };
  } finally {
    for (const sequence of new Set([...beams, ...next].map((b) => b.sequence))) sequence.close();
  }
}
