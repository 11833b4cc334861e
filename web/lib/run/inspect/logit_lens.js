// logit_lens.js - the logit lens: the predictions of the residual stream after each layer
//
// nostalgebraist 2020, "interpreting GPT: the logit lens".
import { forwardOne } from './forward.js';
import { runFrom } from '../../engine/engine_captures.js';
import { Yielder } from '../../base/event_loop.js';
import { numberInRange } from '../generation_options.js';
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

/** Bytes of the logits of one pass. */
const MOST_LOGITS = 1 << 26;

/**
 * Rows whose logits are computed together, of several layers: fewer rows unpack the weights of the head as often.
 * @param {LoadedModel} model
 */
const rowsAtOnce = ({ config, contextLength, engine }) =>
  Math.max(1, Math.min(engine.schema.chunk, contextLength, Math.floor(MOST_LOGITS / (4 * config.vocab_size))));

/**
 * Applies the final norm and the head to the residual stream after each layer: passes of the engine that begin behind
 * the last block, of as many rows of all layers as fit.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {{top?: number, position?: number, source?: any, sourceMask?: any, addSpecialTokens?: boolean, pair?: string,
 *   tokenTypes?: ArrayLike<number>, edits?: import('./edits.js').Edit[]}} options  position: one, negative ones count
 *   from the end; default: all
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<LensToken[][][]>} [layer][position], the most likely first; the last layer gives the model's own
 *   prediction
 */
export async function logitLens(model, input, options, { signal } = {}) {
  const { top = 5, source, sourceMask, edits } = options;
  model.requireTokens('logitLens');
  const stack = blocksPrefix(model, 'logitLens');
  const { n_layers: layers, vocab_size: v, d_model: d } = model.config;
  numberInRange('top', top, 1, v, true);
  const yielder = new Yielder(signal);
  const { ids, types } = typedIds(model, input, 'input', options);
  const position = options.position ?? null;
  const [from, n] = position === null ? [0, ids.length] : [positionIn(position, ids.length), 1];
  const points = edits?.length ? await model.points() : null;
  if (edits?.some(({ at }) => points?.matchOne(at).some(({ name }) => name.includes('ln_final'))))
    fail('unsupported', 'logitLens with an edit of the final norm is not implemented');
  const capture = [`${stack}.*.hook_resid_post`];
  const o = { source, sourceMask };
  const { captured } = await forwardOne(model, ids, { ...o, edits, types, capture, logits: [from] }, yielder);
  const withText = (/** @type {{id: number, logprob: number}} */ { id, logprob }) => {
    return { id, text: model.tokenText(id), logprob, probability: Math.exp(logprob) };
  };
  const sequence = await model.openSequence();
  try {
    await sequence.encodeSource(o, yielder);
    const { session } = sequence;
    const stream = new Float32Array(layers * n * d);
    for (let l = 0; l < layers; l++)
      stream.set(captured[`${stack}.${l}.hook_resid_post`].data.subarray(from * d, (from + n) * d), l * n * d);
    const step = rowsAtOnce(model);
    /** @type {LensToken[][]} */
    const tokens = []; // top tokens of all layers
    while (tokens.length < layers * n) {
      const part = stream.subarray(tokens.length * d, (tokens.length + step) * d);
      const any = new Array(part.length / d).fill(ids[0]); // no block reads them
      if (model.config.kind !== 'encoder') session.rewind(0);
      runFrom(session, layers, part, () =>
        model.config.kind === 'encoder' ? session.encode(any, null) : session.eval(any),
      );
      for (const row of session.top(0, any.length, v, top)) tokens.push(row.map(withText));
      await yielder.yieldIfDue();
    }
    const bad = tokens.findIndex(([{ logprob }]) => !(logprob <= 0));
    if (bad >= 0) fail('not-finite', `the logits of the lens after layer ${Math.floor(bad / n)} are not finite`);
    return Array.from({ length: layers }, (_, l) => tokens.slice(l * n, (l + 1) * n));
  } finally {
    sequence.close();
  }
}
