// logit_lens.js - the logit lens: the predictions of the residual stream after each layer
//
// nostalgebraist 2020, "interpreting GPT: the logit lens".
import { forwardOne } from './forward.js';
import { runFrom } from '../../engine/engine_captures.js';
import { Yielder } from '../../base/event_loop.js';
import { numberInRange } from '../generation_defaults.js';
import { positionIn } from './position_in.js';
import { fail } from '../../base/errors.js';
import { typedIds } from './typed_ids.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @typedef {{id: number, text: string, logprob: number, probability: number}} LensToken */
/**
 * The prefix of the blocks in names of points. Throws for models without logits.
 * @param {LoadedModel} model
 * @param {string} call  name of the call, for the message
 */
export function blocksPrefix(model, call) {
  model.requireLogits(call);
  return model.config.kind === 'encoder_decoder' ? 'decoder' : 'blocks';
}

/**
 * Applies the final norm and the head to the residual stream after each layer: passes of the engine that begin behind
 * the last block.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {{top?: number, position?: number, source?: any, sourceMask?: any, addSpecialTokens?: boolean, pair?: string,
 *   tokenTypes?: ArrayLike<number>}} options  position: one, negative ones count from the end; default: all
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<LensToken[][][]>} [layer][position], the most likely first; the last layer gives the model's own
 *   prediction
 */
export async function logitLens(model, input, options, { signal } = {}) {
  const { top = 5, source, sourceMask } = options;
  model.requireTokens('logitLens');
  const stack = blocksPrefix(model, 'logitLens');
  const { n_layers: layers, vocab_size: v, d_model: d } = model.config;
  numberInRange('top', top, 1, v, true);
  const yielder = new Yielder(signal);
  const { ids, types } = typedIds(model, input, 'input', options);
  const position = options.position ?? null;
  const [from, n] = position === null ? [0, ids.length] : [positionIn(position, ids.length), 1];
  const capture = [`${stack}.*.hook_resid_post`];
  const o = { source, sourceMask };
  const { captured } = await forwardOne(model, ids, { ...o, types, capture, logits: [from] }, yielder);
  const withText = (/** @type {{id: number, logprob: number}} */ { id, logprob }) => {
    return { id, text: model.tokenText(id), logprob, probability: Math.exp(logprob) };
  };
  const sequence = await model.openSequence();
  try {
    await sequence.encodeSource(o, yielder);
    const { session } = sequence;
    /** @type {LensToken[][][]} */
    const out = [];
    for (let l = 0; l < layers; l++) {
      const stream = captured[`${stack}.${l}.hook_resid_post`].data.subarray(from * d, (from + n) * d);
      /** @type {LensToken[][]} */
      const tokens = [];
      for (let at = 0; at < n; at += model.engine.schema.chunk) {
        const end = Math.min(n, at + model.engine.schema.chunk);
        const part = ids.slice(at, end);
        if (model.config.kind !== 'encoder') session.rewind(0);
        runFrom(session, layers, stream.subarray(at * d, end * d), () =>
          model.config.kind === 'encoder' ? session.encode(part, null) : session.eval(part),
        );
        for (const row of session.top(0, end - at, v, top)) tokens.push(row.map(withText));
        await yielder.yieldIfDue();
      }
      if (!tokens.every(([{ logprob }]) => logprob <= 0))
        fail('not-finite', `the logits of the lens after layer ${l} are not finite`);
      out.push(tokens);
    }
    return out;
  } finally {
    sequence.close();
  }
}
