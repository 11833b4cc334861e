// beams.js - beam search
import { perSecond } from '../base/clock.js';
import { StepBuffer } from './generate.js';
import { advanceAll } from './advance.js';
import { Yielder } from '../base/event_loop.js';

/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('./sequence.js').Sequence} Sequence */
/** @typedef {import('./generate.js').Step} Step */
/** @typedef {import('./generate.js').Summary} Summary */
/** @typedef {import('./generate.js').Checked} Checked */

/**
 * The most likely continuation that a search of width `beams` finds. A hypothesis of n tokens scores
 * sum(logprob) / ((5 + n) / 6)^lengthPenalty (Wu et al. 2016, equation 14); 0 compares plain sums.
 * The best hypothesis is known at the end only, so all steps are delivered together.
 * @param {LoadedModel} model
 * @param {number[]} prompt
 * @param {Checked} o
 * @param {import('./generate.js').Delivery} hooks
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* beamSearch(model, prompt, o, { signal }) {
  /** @typedef {{sequence: Sequence, ids: number[], logprobs: number[], sum: number}} Beam */
  const yielder = new Yielder(signal);
  await yielder.yieldIfDue();
  const score = (/** @type {{sum: number}} */ b, /** @type {number} */ n) => b.sum / ((5 + n) / 6) ** o.lengthPenalty;
  const eos = o.ignoreEos ? [] : model.special.eos;
  const first = await model.openSequence(o);
  /** @type {Beam[]} */
  let beams = [{ sequence: first, ids: [], logprobs: [], sum: 0 }];
  /** @type {Beam[]} */
  let next = [];
  /** @type {{ids: number[], logprobs: number[], value: number, eos: boolean} | null} */
  let best = null;
  const offer = (/** @type {Beam} */ b, /** @type {number} */ value, /** @type {boolean} */ ended) => {
    if (!best || value > best.value) best = { ids: b.ids, logprobs: b.logprobs, value, eos: ended };
  };
  try {
    let from = performance.now();
    await first.encodeSource(o, yielder);
    await first.prefill(prompt, yielder);
    const prefillMs = performance.now() - from;
    from = performance.now();
    const most = Math.min(o.maxTokens, first.session.context - prompt.length);
    let passes = 0;
    for (let n = 1; n <= most && beams.length; n++) {
      // `beams` hypotheses survive. The best candidates of each may be end tokens, so |eos| more candidates are
      // considered
      const candidates = beams.flatMap((b) =>
        b.sequence
          .top(Math.min(model.config.vocab_size, o.beams + eos.length))
          .map(({ id, logprob }) => ({ b, id, logprob, sum: b.sum + logprob })),
      );
      candidates.sort((x, y) => y.sum - x.sum);
      /** @type {typeof candidates} */
      const chosen = [];
      candidates.forEach((c, rank) => {
        if (eos.includes(c.id)) {
          if (rank < o.beams) offer(c.b, score(c, n), true);
        } else if (chosen.length < o.beams) chosen.push(c);
      });
      // log-probabilities are negative, so this is the best score that the beam can still reach
      const reach = o.lengthPenalty ? most : n;
      const alive = chosen.filter((c) => !best || score(c, reach) > best.value);
      next = [];
      for (const c of alive) {
        const again = alive.indexOf(c) !== alive.findIndex((d) => d.b === c.b);
        next.push({
          sequence: again ? c.b.sequence.fork() : c.b.sequence,
          ids: [...c.b.ids, c.id],
          logprobs: [...c.b.logprobs, c.logprob],
          sum: c.sum,
        });
      }
      for (const b of beams) if (!next.some((c) => c.sequence === b.sequence)) b.sequence.close();
      beams = next;
      if (n === most) break;
      advanceAll(
        model,
        beams.map((b) => b.sequence),
        beams.map((b) => [...prompt, ...b.ids]),
      );
      passes++;
      await yielder.yieldIfDue();
    }
    for (const b of beams) offer(b, score(b, b.ids.length || 1), false);
    const found = /** @type {{ids: number[], logprobs: number[], eos: boolean}} */ (/** @type {unknown} */ (best));
    const decodeMs = performance.now() - from;
    const buffer = new StepBuffer(o.stop, model.decoder(prompt));
    /** @type {Step[]} */
    const steps = [];
    for (let i = 0; i < found.ids.length && !buffer.stopped; i++) {
      steps.push(
        ...buffer.push({
          id: found.ids[i],
          text: '',
          position: prompt.length + i,
          logprob: found.logprobs[i],
          ms: decodeMs / found.ids.length,
        }),
      );
    }
    if (!buffer.stopped) steps.push(...buffer.end());
    if (steps.length) yield steps;
    const stopReason = buffer.stopped
      ? 'stop'
      : found.eos
        ? 'eos'
        : found.ids.length >= o.maxTokens
          ? 'maxTokens'
          : 'contextFull';
    return {
      text: buffer.text,
      ids: buffer.ids,
      seed: o.seed,
      stopReason,
      prefillMs,
      decodeMs,
      tokensPerSecond: perSecond(passes, decodeMs),
    };
  } finally {
    for (const sequence of new Set([...beams, ...next].map((b) => b.sequence))) sequence.close();
  }
}
