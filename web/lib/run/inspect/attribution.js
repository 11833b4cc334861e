// attribution.js - direct logit attribution: one logit as a sum of the parts of the residual stream
//
// Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
import { Yielder } from '../../base/event_loop.js';
import { checkedIds } from '../../base/checks.js';
import { fail, show } from '../../base/errors.js';
import { requireFinite } from './finite_check.js';
import { blocksPrefix } from './logit_lens.js';
import { positionIn } from './position_in.js';
import { forwardOne } from './forward.js';
import { typedIds } from './typed_ids.js';
import { applyNorm, beforeHead, meanOf, partOf } from './vector_parts.js';
import { headWidth, isLabelPooled, isNarrow } from '../../engine/config/config.js';
import { weight } from './weight.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Tensor } from '../../engine/engine.js' */
/** @import { VectorPart } from './vector_parts.js' */
/**
 * One term of a logit.
 * @typedef {object} Part
 * @property {string} name embed, pos_embed, token_type_embed, blocks.0.attn.head.3, blocks.0.ffn, blocks.0.attn.o.bias,
 *   final_norm.bias, pooler.bias, head.bias, ...; of an edit of the stream the point's name
 * @property {'embedding'|'position'|'head'|'ffn'|'bias'|'edit'} kind
 * @property {number | null} layer
 * @property {number | null} head
 * @property {number} value  in logits
 */
/**
 * @typedef {object} Attribution
 * @property {number} token  token id; in a classifier, the number of a label
 * @property {string} text   text of the token, or the label
 * @property {number} position
 * @property {number} logit   the logit that the model computed
 * @property {number} sum     of the parts; for weights in f32, f16 or bf16 within 1e-4 of the logit. Quantised models
 *   also round activations, which no part contains
 * @property {Part[]} parts
 */

/** Points that are read of the blocks, and those outside. */
const OF_BLOCKS = /\.((cross_)?attn\.hook_result|hook_mlp_out|(ln1|ln_cross|ln2)(_post)?\.hook_scale)$/;
const OUTSIDE =
  /^(decoder\.)?(hook_embed|hook_pos_embed|hook_token_type_embed|embed\.ln\.hook_scale|ln_final\.hook_scale)$/;

/**
 * Decomposes one logit into the contributions of embedding, heads, feed-forward layers and biases. The scale of every
 * norm, and the factor by which a logit_softcap makes a logit smaller, are fixed at their values in this pass, which
 * makes both linear.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {{token?: number | string, position?: number, source?: any, sourceMask?: any, addSpecialTokens?: boolean,
 *   edits?: import('./edits.js').Edit[]}} options  token: default the most likely; position: default the last
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<Attribution>}
 */
export async function attribution(model, input, options, { signal } = {}) {
  const { source, sourceMask, edits = [] } = options;
  const stack = blocksPrefix(model, 'attribution');
  const c = model.config;
  if (c.mlm_head)
    fail('unsupported', 'attribution cannot divide a logit behind an activation: this model has an mlm_head');
  const { ids, types } = typedIds(model, input, 'input', options);
  // a classifier of a whole text has one row of logits
  const position = isLabelPooled(c) ? 0 : positionIn(options.position ?? -1, ids.length);
  const points = await model.points();
  const changed = streamPoints(edits.flatMap(({ at }) => points.matchOne(at).map(({ name }) => name)));
  const capture = points.names.filter(
    (n) => (n.startsWith(`${stack}.`) && (OF_BLOCKS.test(n) || changed.has(n))) || OUTSIDE.test(n),
  );
  model.checkLength(ids.length, 'input');
  const read = c.kind === 'encoder' ? encodeAt : passAt;
  const o = { source, sourceMask, types, capture, edits };
  const { logits, captured, row } = await read(model, ids, position, o, signal);
  const token = tokenOf(model, options.token ?? model.engine.top(logits, 1)[0].id);
  const direction = directionOf(model, token);
  const rows = c.label_pooling === 'mean' ? ids.map((_, i) => i) : [row];
  const streams = rows.map((at) => streamParts(model, stack, captured, at));
  const parts = beforeHead(model, meanOf(streams)).map(({ vector, ...part }) => ({
    ...part,
    value: c.logit_scale * vector.reduce((sum, x, j) => sum + x * direction[j], 0),
  }));
  if (c.bias_head) {
    const value = c.logit_scale * weight(model, 'head.bias')[token];
    parts.push({ name: 'head.bias', kind: 'bias', layer: null, head: null, value });
  }
  const total = () => parts.reduce((n, p) => n + p.value, 0);
  const uncapped = total();
  if (c.logit_softcap && uncapped) {
    const factor = (c.logit_softcap * Math.tanh(uncapped / c.logit_softcap)) / uncapped;
    for (const part of parts) part.value *= factor;
  }
  return {
    token,
    text: model.labels?.names[token] ?? model.tokenText(token),
    position,
    logit: logits[token],
    sum: total(),
    parts,
  };
}

/**
 * The vector whose product with the stream is the logit of a token.
 * @param {LoadedModel} model
 * @param {number} token
 * @returns {ArrayLike<number>} [d_model]
 */
function directionOf(model, token) {
  const row = weight(model, 'head.weight', token);
  const { d_embed: width, d_model: d } = model.config;
  if (!width || isNarrow(model.config)) return row;
  const direction = new Float64Array(d); // behind the projection of the stream to the width of the embedding
  row.forEach((x, i) => weight(model, 'head_project.weight', i).forEach((w, j) => (direction[j] += x * w)));
  return direction;
}

/**
 * The logits of a position of an encoder, or of its whole input, and what is captured.
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {number} position
 * @param {{capture: string[], types: ArrayLike<number> | null, edits: import('./edits.js').Edit[]}} o
 * @param {AbortSignal} [signal]
 */
async function encodeAt(model, ids, position, o, signal) {
  const { logits, captured } = await forwardOne(model, ids, o, new Yielder(signal));
  return { logits: rowAt(/** @type {Tensor} */ (logits), position), captured, row: position };
}

/**
 * The logits of a position and what is captured there. With causal attention later positions cannot influence this one
 * and are not computed, and those before it are a pass of their own without captures: the results of single heads take
 * as long as the rest of a pass.
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {number} position
 * @param {{capture: string[], source?: any, sourceMask?: any, edits: import('./edits.js').Edit[]}} o
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
    await sequence.observe({ ...o, capture: [] }, ids.length, ids.length, yielder);
    await sequence.prefill(ids.slice(0, first), yielder);
    await sequence.observe({ ...o, edits: [] }, end);
    await sequence.prefill(ids.slice(first, end), yielder);
    const row = position - first;
    const logits = sequence.session.logits(row, 1, headWidth(model.config));
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
 * The points of the stream where an edit shows that is no part by itself.
 * @param {string[]} edited  names of points
 */
function streamPoints(edited) {
  const after = (/** @type {string} */ name) =>
    ['mid', 'post'].map((at) => name.replace(/hook_(cross_)?attn_out$/, `hook_resid_${at}`));
  return new Set(edited.flatMap((name) => (/attn_out$/.test(name) ? after(name) : /resid_/.test(name) ? [name] : [])));
}

/**
 * What an edit has added to the stream at a captured point, as a part.
 * @param {VectorPart[]} parts  of the stream
 * @param {string} name
 * @param {Float32Array} stream
 * @param {number} layer
 */
function addEdit(parts, name, stream, layer) {
  const own = Float64Array.from(stream, (x, j) => parts.reduce((left, { vector }) => left - vector[j], x));
  parts.push(partOf('edit', name, own, layer));
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
  const whole = c.kind === 'encoder_decoder' ? 'decoder.' : '';
  const at = (/** @type {string} */ point) => rowAt(captured[point], row);
  /** @type {VectorPart[]} */
  let parts = [partOf('embedding', 'embed', at(`${whole}hook_embed`))];
  /** @type {Norm} */
  const norm = (name, ln, layer, of = parts) => {
    const bias = applyNorm(model, name, at(`${ln}.hook_scale`)[0], of);
    if (bias) of.push(partOf('bias', `${name}.bias`, bias, layer));
  };
  if (captured[`${whole}hook_pos_embed`]) parts.push(partOf('position', 'pos_embed', at(`${whole}hook_pos_embed`)));
  if (captured.hook_token_type_embed) parts.push(partOf('embedding', 'token_type_embed', at('hook_token_type_embed')));
  if (c.embed_norm && c.use_norm) norm('embed_norm', `${whole}embed.ln`, null);
  if (isNarrow(c)) {
    const rows = Array.from({ length: c.d_model }, (_, i) => weight(model, 'embed_project.weight', i));
    for (const part of parts)
      part.vector = Float64Array.from(rows, (w) => w.reduce((sum, x, j) => sum + x * part.vector[j], 0));
    parts.push(partOf('bias', 'embed_project.bias', weight(model, 'embed_project.bias')));
  }
  for (let l = 0; l < c.n_layers; l++) {
    const block = `${stack}.${l}`;
    const edited = (/** @type {string} */ point) => captured[point] && addEdit(parts, point, at(point), l);
    edited(`${block}.hook_resid_pre`);
    if (!c.use_residual && c.parallel_residual) parts = []; // both sublayers make the new stream
    for (const { name, ln, added } of sublayerParts(model, block, l, at, norm)) {
      if (!c.use_residual && !c.parallel_residual) parts = [];
      else if (c.residual_normed && c.use_norm) norm(`${block}.${name}`, `${block}.${ln}`, l);
      parts.push(...added);
      if (c.norm_placement === 'post' && c.use_norm) norm(`${block}.${name}`, `${block}.${ln}`, l);
      if (ln === 'ln1' && c.ffn !== 'none' && !c.parallel_residual) edited(`${block}.hook_resid_mid`);
    }
    edited(`${block}.hook_resid_post`);
  }
  if (c.final_norm && c.use_final_norm) norm('final_norm', `${whole}ln_final`, null);
  return parts;
}

/**
 * Applies a norm to parts, and appends its bias.
 * @typedef {(name: string, ln: string, layer: number | null, parts?: VectorPart[]) => void} Norm name: of its weights;
 *   ln: of its points; parts: default those of the whole stream
 */

/**
 * The parts that each sublayer of a block adds to the stream, behind the norm of its output and residual_scale.
 * @param {LoadedModel} model
 * @param {string} block  prefix of its names
 * @param {number} layer
 * @param {(point: string) => Float32Array} at  the values of a point at the position
 * @param {Norm} norm
 * @returns {{name: string, ln: string, added: VectorPart[]}[]} name: of the sublayer's own norm; ln: of its points
 */
function sublayerParts(model, block, layer, at, norm) {
  const { config: c } = model;
  const cross = c.kind === 'encoder_decoder';
  const ofOutput = c.use_norm && ['sandwich', 'output'].includes(c.norm_placement);
  const post = c.norm_placement === 'sandwich' ? '_post' : '';
  const normed = (/** @type {string} */ name, /** @type {string} */ ln, /** @type {VectorPart[]} */ parts) => {
    if (ofOutput) norm(`${block}.${name}${post}`, `${block}.${ln}${post}`, layer, parts);
    for (const { vector } of parts) vector.forEach((x, j) => (vector[j] = x * c.residual_scale));
    return { name, ln, added: parts };
  };
  const attention = (/** @type {string} */ name) => {
    const results = at(`${name}.hook_result`);
    const heads = Array.from({ length: c.n_heads }, (_, h) =>
      partOf('head', `${name}.head.${h}`, results.subarray(h * c.d_model, (h + 1) * c.d_model), layer, h),
    );
    if (c.bias_attn_out) heads.push(partOf('bias', `${name}.o.bias`, weight(model, `${name}.o.bias`), layer));
    return heads;
  };
  const sublayers = [normed('norm1', 'ln1', attention(`${block}.attn`))];
  if (cross) sublayers.push(normed('norm2', 'ln_cross', attention(`${block}.cross_attn`)));
  if (c.ffn === 'none') return sublayers;
  // The output of the feed-forward layer is captured behind its norm: what the biases do not explain is its own.
  const name = cross ? 'norm3' : 'norm2';
  const bias = c.bias_ffn && weight(model, `${block}.ffn.down.bias`);
  const { added } = normed(name, 'ln2', bias ? [partOf('bias', `${block}.ffn.down.bias`, bias, layer)] : []);
  const own = Float64Array.from(at(`${block}.hook_mlp_out`), (x, j) => added.reduce((y, p) => y - p.vector[j], x));
  return [...sublayers, { name, ln: 'ln2', added: [partOf('ffn', `${block}.ffn`, own, layer), ...added] }];
}

/**
 * The id of the option `token`.
 * @param {LoadedModel} model
 * @param {number | string} token  an id, or a text that is one token; of a classifier a label
 */
export function tokenOf(model, token) {
  if (model.labels) return labelOf(model.labels.names, token);
  const ids =
    typeof token === 'string'
      ? model.encode(token, { addSpecialTokens: false })
      : checkedIds([token], 'token', model.config.vocab_size);
  if (ids.length !== 1) fail('bad-option', `token is ${show(token)}, which is ${ids.length} tokens, expected one`);
  return ids[0];
}

/**
 * The number of a label.
 * @param {string[]} names
 * @param {number | string} label  its name or number
 */
function labelOf(names, label) {
  const i = typeof label === 'string' ? names.indexOf(label) : label;
  return Number.isInteger(i) && i >= 0 && i < names.length
    ? i
    : fail('bad-option', `token is ${show(label)}, expected one of the labels ${names.slice(0, 20).join(', ')}`);
}
