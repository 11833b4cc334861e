// loss.js - the cross-entropy of a sequence
import { logprobs } from '../../engine/engine_captures.js';
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';
import { averaged } from './average.js';
import { withFunctions } from './edits.js';
import { requireFinite } from './finite_check.js';
import { forwardOne } from './forward.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/**
 * The result of `loss`.
 * @typedef {object} Loss
 * @property {number} loss    mean of -ln p over the tokens after the first, in nats a token
 * @property {number} tokens  that were predicted
 * @property {import('../../engine/engine.js').Tensor} [perToken]  [tokens] -ln p of each
 * @property {number} [n]     number of inputs, if there are several; the values are means over them
 * @property {Omit<Loss, 'n' | 'standardError'>} [standardError]  standard errors of these means
 */

/**
 * Runs the public call loss. The logits stay in the engine.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<Loss>}
 */
export async function loss(model, input, o, { signal }) {
  model.requireDecoder('loss');
  const yielder = new Yielder(signal);
  await yielder.yieldIfDue();
  return averaged(input, o, (one, own) => lossOf(model, one, own, yielder));
}

/**
 * The loss of one input.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o
 * @param {Yielder} yielder
 * @returns {Promise<Loss>}
 */
async function lossOf(model, input, o, yielder) {
  const ids = model.ids(input, 'input', o.addSpecialTokens);
  model.checkLength(ids.length, 'input');
  if (ids.length < 2) fail('bad-argument', 'the input is one token: a loss needs one that follows it');
  o = await withFunctions(model, o, (other) => forwardOne(model, ids, other, yielder));
  const sequence = await model.openSequence(o, ids.length, ids.length, yielder);
  try {
    await sequence.encodeSource(o, yielder);
    const data = new Float32Array(ids.length - 1);
    await sequence.prefill(ids, yielder, (first, n) => {
      const targets = ids.slice(first + 1, first + n + 1);
      if (!targets.length) return;
      const found = logprobs(sequence.session, targets, model.config.vocab_size);
      found.forEach((x, i) => (data[first + i] = -x));
    });
    const perToken = { data, shape: [data.length] };
    if (!o.allowNonFinite) await requireFinite(sequence, { loss: perToken }, ids);
    const mean = data.reduce((a, b) => a + b, 0) / data.length;
    return { loss: mean, tokens: data.length, ...(o.perToken && { perToken }) };
  } finally {
    sequence.close();
  }
}
