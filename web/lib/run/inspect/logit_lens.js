// logit_lens.js - computes the logit lens and direct logit attribution
//
// logitLens: nostalgebraist 2020, "interpreting GPT: the logit lens". attribution: Elhage et al. 2021, "A Mathematical
// Framework for Transformer Circuits".
import { requireFinite } from './finite_check.js';
import { forwardOne } from './forward.js';
import { weight } from './weight.js';
import { runFrom } from '../../engine/engine_captures.js';
import { Yielder } from '../../base/event_loop.js';
import { numberInRange } from '../generation_defaults.js';
import { fail, show } from '../../base/errors.js';
import { checkedIds } from '../../base/checks.js';
import { typedIds } from './typed_ids.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Tensor } from '../../engine/engine.js' */
/** @typedef {{id: number, text: string, logprob: number, probability: number}} LensToken */
/**
 * One term of a logit.
 * @typedef {object} Part
 * @property {string} name embed, pos_embed, blocks.0.attn.head.3, blocks.0.ffn, blocks.0.attn.o.bias, final_norm.bias,
 *   head.bias, ...
 * @property {'embedding'|'position'|'head'|'ffn'|'bias'} kind
 * @property {number | null} layer
 * @property {number | null} head
 * @property {number} value  in logits
 */
/**
 * @typedef {object} Attribution
 * @property {number} token
 * @property {string} text
 * @property {number} position
 * @property {number} logit   as the model computed it
 * @property {number} sum     of the parts; for weights in f32, f16 or bf16 within 1e-4 of the logit. Quantised models
 *   also round activations, which no part contains
 * @property {Part[]} parts
 */

/**
 * The prefix of the blocks in names of points. Throws for models without logits.
 * @param {LoadedModel} model
 * @param {string} call  name of the call, for the message
 */
function blocksPrefix(model, call) {
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
 * @param {import('../loaded_model.js').Hooks} hooks
 * @returns {Promise<LensToken[][][]>} [layer][position], the most likely first; the last layer gives the model's own
 *   prediction
 */
export async function logitLens(model, input, options, { signal } = {}) {
  const { top = 5, source, sourceMask } = options;
  const stack = blocksPrefix(model, 'logitLens');
  const { n_layers: layers, vocab_size: v, d_model: d } = model.config;
  numberInRange('top', top, 1, v, true);
  const yielder = new Yielder(signal);
  const { ids, types } = typedIds(model, input, 'input', options);
  const position = options.position ?? null;
  if (position !== null) numberInRange('position', position, -ids.length, ids.length - 1, true);
  const [from, n] = position === null ? [0, ids.length] : [(position + ids.length) % ids.length, 1];
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

/**
 * What a model has that attribution cannot divide among the parts, in words; '' for nothing.
 * @param {any} c  configuration
 */
function undivided(c) {
  if (c.norm_placement === 'sandwich' || c.norm_placement === 'output') return `norm_placement ${c.norm_placement}`;
  if (c.mlm_head) return 'a layer with an activation before the head (mlm_head)';
  if (c.residual_scale !== 1) return 'a residual_scale';
  if (c.logit_softcap) return 'a logit_softcap';
  return c.d_embed && c.d_embed !== c.d_model ? 'a projection of the embedding (d_embed)' : '';
}

/** @typedef {Omit<Part, 'value'> & {vector: Float64Array}} VectorPart a part of the stream */

/** Points that are read of the blocks, and those outside. */
const OF_BLOCKS = /\.((cross_)?attn\.hook_result|hook_mlp_out|(ln1|ln_cross|ln2)\.hook_scale)$/;
const OUTSIDE = /^(decoder\.)?(hook_embed|hook_pos_embed|embed\.ln\.hook_scale|ln_final\.hook_scale)$/;

/**
 * Decomposes one logit into the contributions of embedding, heads, feed-forward layers and biases. The scale of every
 * norm is fixed at its value in this pass, which makes the norm linear.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {{token?: number | string, position?: number, source?: any, sourceMask?: any, addSpecialTokens?: boolean}}
 *   options token: default the most likely; position: default the last
 * @param {import('../loaded_model.js').Hooks} hooks
 * @returns {Promise<Attribution>}
 */
export async function attribution(model, input, options, { signal } = {}) {
  const { source, sourceMask } = options;
  const stack = blocksPrefix(model, 'attribution');
  const c = model.config;
  const lacking = undivided(c);
  if (lacking) fail('unsupported', `attribution cannot divide a logit where there is ${lacking}, which this model has`);
  const ids = model.ids(input, 'input', options.addSpecialTokens);
  const position = numberInRange('position', options.position ?? ids.length - 1, 0, ids.length - 1, true);
  const names = (await model.points()).names;
  const capture = names.filter((n) => (n.startsWith(`${stack}.`) && OF_BLOCKS.test(n)) || OUTSIDE.test(n));
  model.checkLength(ids.length, 'input');
  const { logits, captured, row } = await passAt(model, ids, position, { source, sourceMask, capture }, signal);
  const token = tokenOf(model, options.token ?? model.engine.top(logits, 1)[0].id);
  const direction = weight(model, 'head.weight', token);
  const parts = streamParts(model, stack, captured, row).map(({ vector, ...part }) => ({
    ...part,
    value: c.logit_scale * vector.reduce((sum, x, j) => sum + x * direction[j], 0),
  }));
  if (c.bias_head) {
    const value = c.logit_scale * weight(model, 'head.bias')[token];
    parts.push({ name: 'head.bias', kind: 'bias', layer: null, head: null, value });
  }
  return {
    token,
    text: model.tokenText(token),
    position,
    logit: logits[token],
    sum: parts.reduce((n, p) => n + p.value, 0),
    parts,
  };
}

/**
 * The logits of a position and what is captured there. With causal attention later positions cannot influence this one
 * and are not computed, and those before it are a pass of their own without captures: the results of single heads take
 * as long as the rest of a pass.
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {number} position
 * @param {{capture: string[], source?: any, sourceMask?: any}} o
 * @param {AbortSignal} [signal]
 * @returns {Promise<{logits: Float32Array, captured: Record<string, Tensor>, row: number}>} row: that of the position
 */
async function passAt(model, ids, position, o, signal) {
  const yielder = new Yielder(signal);
  const [first, end] = model.config.causal ? [position, position + 1] : [0, ids.length];
  const sequence = await model.openSequence();
  try {
    await sequence.encodeSource(o, yielder);
    sequence.session.plan(end);
    await sequence.prefill(ids.slice(0, first), yielder);
    await sequence.observe(o, end);
    await sequence.prefill(ids.slice(first, end), yielder);
    const row = position - first;
    const logits = sequence.session.logits(row, 1, model.config.vocab_size);
    const captured = sequence.takeCaptured() ?? {};
    const results = { ...captured, logits: { data: logits, shape: [1, logits.length] } };
    await requireFinite(sequence, results, ids.slice(0, end));
    return { logits, captured, row };
  } finally {
    sequence.close();
  }
}

/**
 * A row of a tensor.
 * @param {Tensor} tensor
 * @param {number} row
 */
function rowAt({ data, shape }, row) {
  const width = shape.slice(1).reduce((a, b) => a * b, 1);
  return data.subarray(row * width, (row + 1) * width);
}

/**
 * The parts of what the head reads at a position.
 * @param {LoadedModel} model
 * @param {string} stack  prefix of the names of blocks
 * @param {Record<string, Tensor>} captured
 * @param {number} row  that of the position
 * @returns {VectorPart[]}
 */
function streamParts(model, stack, captured, row) {
  const { config: c } = model;
  const cross = c.kind === 'encoder_decoder';
  const whole = cross ? 'decoder.' : '';
  /** @type {VectorPart[]} */
  let parts = [];
  const at = (/** @type {string} */ point) => rowAt(captured[point], row);
  /** @type {(kind: Part['kind'], name: string, x: ArrayLike<number>, layer?: number | null, head?: number) => void} */
  const add = (kind, name, x, layer = null, head) => {
    parts.push({ name, kind, layer, head: head ?? null, vector: Float64Array.from(x) });
  };
  /** @type {(name: string, ln: string, layer: number | null) => void} */
  const norm = (name, ln, layer) => {
    const bias = applyNorm(model, name, at(`${ln}.hook_scale`)[0], parts);
    if (bias) add('bias', `${name}.bias`, bias, layer);
  };
  add('embedding', 'embed', at(`${whole}hook_embed`));
  if (captured[`${whole}hook_pos_embed`]) add('position', 'pos_embed', at(`${whole}hook_pos_embed`));
  if (c.embed_norm && c.use_norm) norm('embed_norm', `${whole}embed.ln`, null);
  for (let l = 0; l < c.n_layers; l++) {
    const block = `${stack}.${l}`;
    if (!c.use_residual && c.parallel_residual) parts = []; // both sublayers make the new stream
    /** @type {(name: string, ln: string, addOwn: () => void) => void} */
    const sublayer = (name, ln, addOwn) => {
      if (!c.use_residual && !c.parallel_residual) parts = [];
      addOwn();
      if (c.norm_placement === 'post' && c.use_norm) norm(`${block}.${name}`, `${block}.${ln}`, l);
    };
    const attend = (/** @type {string} */ name) => () => {
      const results = at(`${name}.hook_result`);
      for (let h = 0; h < c.n_heads; h++)
        add('head', `${name}.head.${h}`, results.subarray(h * c.d_model, (h + 1) * c.d_model), l, h);
      if (c.bias_attn_out) add('bias', `${name}.o.bias`, weight(model, `${name}.o.bias`), l);
    };
    sublayer('norm1', 'ln1', attend(`${block}.attn`));
    if (cross) sublayer('norm2', 'ln_cross', attend(`${block}.cross_attn`));
    if (c.ffn === 'none') continue;
    sublayer(cross ? 'norm3' : 'norm2', 'ln2', () => {
      const bias = c.bias_ffn ? weight(model, `${block}.ffn.down.bias`) : null;
      const output = Float64Array.from(at(`${block}.hook_mlp_out`), (x, j) => x - (bias?.[j] ?? 0));
      add('ffn', `${block}.ffn`, output, l);
      if (bias) add('bias', `${block}.ffn.down.bias`, bias, l);
    });
  }
  if (c.final_norm && c.use_final_norm) norm('final_norm', `${whole}ln_final`, null);
  return parts;
}

/**
 * Applies a norm to each part. With its scale fixed it is a linear map.
 * @param {LoadedModel} model
 * @param {string} name
 * @param {number} scale
 * @param {VectorPart[]} parts  changed
 * @returns {Float32Array | null} its bias
 */
function applyNorm(model, name, scale, parts) {
  const { config: c } = model;
  const gain = c.norm_gain ? weight(model, `${name}.weight`) : null;
  const isLayerNorm = (name === 'final_norm' ? c.final_norm_kind : c.norm) === 'layernorm';
  for (const { vector } of parts) {
    const mean = isLayerNorm ? vector.reduce((a, b) => a + b, 0) / vector.length : 0;
    for (let j = 0; j < vector.length; j++) vector[j] = ((vector[j] - mean) / scale) * (gain?.[j] ?? 1);
  }
  return isLayerNorm && c.bias_norm ? weight(model, `${name}.bias`) : null;
}

/**
 * The id of the option `token`.
 * @param {LoadedModel} model
 * @param {number | string} token  an id, or a text that is one token
 */
export function tokenOf(model, token) {
  const ids =
    typeof token === 'string'
      ? model.encode(token, { addSpecialTokens: false })
      : checkedIds([token], 'token', model.config.vocab_size);
  if (ids.length !== 1) fail('bad-option', `token is ${show(token)}, which is ${ids.length} tokens, expected one`);
  return ids[0];
}
