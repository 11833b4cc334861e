// trace.js - lists the operations of a pass: shapes, parameters, computed cost, measured time
import { startTrace, readTrace } from '../../engine/engine_captures.js';
import { clockTick } from '../../base/clock.js';
import { Yielder } from '../../base/event_loop.js';
import {
  embedWidth,
  hasHead,
  headActivation,
  headWidth,
  isLabelPooled,
  isNarrow,
  isRotated,
  narrowWidth,
  rotaryDim,
  rotaryKvHeads,
  stackConfig,
  windowOf,
} from '../../engine/config/config.js';
import { FFN_KINDS, activationOf, isGated } from '../../engine/config/config_fields.js';
import { isExpert } from '../../engine/config/weight_roster.js';
import { typedIds } from './typed_ids.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Config } from '../../engine/config/config.js' */
/**
 * One operation of a pass over T positions.
 * @typedef {object} TraceRow
 * @property {string} name        embed, blocks.0.attn.qkv, decoder.1.cross_attn.attend, head, ...
 * @property {string} op          the name without the block
 * @property {'decoder'|'encoder'} stack
 * @property {number | null} layer
 * @property {number[]} in        shape of its input; for attention that of the queries
 * @property {number[]} out       shape of its output
 * @property {number} parameters  their number in this operation; 0 for a tied head, whose weights are the embedding's
 * @property {number} flops       multiplications and additions. Those of matrices and of attention are exact; norms,
 *   activations, rotations and sums count one for each arithmetic step of an element
 * @property {number} bytes       moved bytes: weights as stored in memory, once for each chunk of the pass, and input
 *   and output in f32; of experts as many as the tokens of a chunk choose when none chooses the same as another
 * @property {number} ms          measured time; with a coarse clock, the mean of several passes
 */

/**
 * Measured time of an operation, summed over passes.
 * @typedef {{op: string, stack: number, layer: number, ms: number, passes: number}} Time
 */
/** @typedef {Map<string, Time>} Times by operation */

/** The longest tick of a clock with which operations are measured, in ms: most would be 0 with a longer one. */
const FINE_MS = 0.2;
/** Total time of the further passes with such a clock, in ms. */
const REPEAT_MS = 400;
/** Most further passes. */
const MAX_REPEATS = 400;

/**
 * Runs one pass and measures its operations.
 * @param {LoadedModel} model
 * @param {any} input  text or ids
 * @param {Record<string, any>} options
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<TraceRow[]>} in the order of the computation
 */
export async function trace(model, input, options, { signal } = {}) {
  const yielder = new Yielder(signal);
  const { ids, types } = typedIds(model, input, 'input', options);
  model.checkLength(ids.length, 'input');
  const source = options.source === undefined ? undefined : model.ids(options.source, 'source');
  const inputs = { ids, types, source, sourceMask: options.sourceMask };
  /** @type {Times} */
  const sums = new Map();
  await measurePass(model, inputs, yielder, sums);
  if (clockTick() > FINE_MS) await averageTimes((repeated) => measurePass(model, inputs, yielder, repeated), sums);
  return [...sums.values()].map((time) => traceRow(model, time, ids.length, source?.length ?? 0));
}

/**
 * Runs one pass and adds its times to the sums.
 * @param {LoadedModel} model
 * @param {{ids: number[], types: ArrayLike<number> | null, source?: number[], sourceMask?: any}} inputs
 * @param {Yielder} yielder
 * @param {Times} sums
 */
async function measurePass(model, { ids, types, source, sourceMask }, yielder, sums) {
  const { kind } = model.config;
  const v = headWidth(model.config);
  const sequence = await model.openSequence();
  const { session } = sequence;
  try {
    startTrace(session);
    await sequence.encodeSource({ source, sourceMask }, yielder);
    if (source) addTimes(sums, session);
    if (kind === 'encoder') {
      sequence.encodeOnly(ids, null, types);
      if (hasHead(model.config)) session.logits(0, isLabelPooled(model.config) ? 1 : ids.length, v);
      addTimes(sums, session);
    } else {
      await sequence.prefill(ids, yielder, (_, n) => {
        session.logits(0, n, v);
        addTimes(sums, session);
      });
    }
  } finally {
    sequence.close();
  }
}

/**
 * Adds the times of the last call of the engine to the sums.
 * @param {Times} sums
 * @param {import('../../engine/engine_session.js').EngineSession} session
 */
function addTimes(sums, session) {
  for (const t of readTrace(session)) {
    const key = `${t.stack} ${t.layer} ${t.op}`;
    const { ms, passes } = sums.get(key) ?? { ms: 0, passes: 0 };
    sums.set(key, { ...t, ms: ms + t.ms, passes: passes + 1 });
  }
}

/**
 * Replaces the times of one pass by their means over further passes.
 * @param {(sums: Times) => Promise<void>} pass
 * @param {Times} sums  of one pass
 */
async function averageTimes(pass, sums) {
  /** @type {Times} */
  const repeated = new Map();
  const began = performance.now();
  let n = 0;
  while (n < MAX_REPEATS && performance.now() - began < REPEAT_MS) {
    await pass(repeated);
    n++;
  }
  for (const [key, t] of sums) t.ms = (t.ms + (repeated.get(key)?.ms ?? 0)) / (n + 1);
}

/**
 * The number of pairs of a query and a key to which it attends.
 * @param {Config} c
 * @param {number} layer
 * @param {number} queries
 * @param {boolean} causal
 */
function attentionPairs(c, layer, queries, causal) {
  const window = windowOf(c, Math.max(0, layer)) || Infinity;
  let sum = 0;
  for (let i = 0; i < queries; i++) {
    sum += Math.min(window, i + 1);
    if (!causal) sum += Math.min(window - 1, queries - 1 - i);
  }
  return sum;
}

/**
 * FLOPs of what only some models have.
 * @param {boolean} has
 * @param {number} flops
 */
const when = (has, flops) => (has ? flops : 0);

/**
 * FLOPs of a linear layer.
 * @param {number} n  positions
 * @param {number} from
 * @param {number} to
 * @param {boolean} bias  whether it has one
 */
const linear = (n, from, to, bias) => 2 * n * from * to + when(bias, n * to);

/**
 * FLOPs of a norm, for each value.
 * @param {string} kind
 */
const normFlops = (kind) => ({ layernorm: 7, rmsnorm: 4 })[kind] ?? 0;

/**
 * FLOPs of an expert for one token: its matrices, its activation, its part of the sum.
 * @param {Config} c
 * @param {number} inner  its width
 */
const expert = (c, inner) =>
  inner && 2 * (isGated(c) ? 3 : 2) * c.d_model * inner + FFN_KINDS[c.ffn].flops * inner + 2 * c.d_model;

/**
 * Shapes of input and output, and FLOPs, by operation.
 * @param {Config} c
 * @param {number} layer  -1 outside the blocks
 * @param {number} T  positions of the stack's input
 * @param {number} S  positions of the source
 * @param {boolean} causal
 * @returns {Record<string, [input: number[], output: number[], flops: number]>}
 */
function costs(c, layer, T, S, causal) {
  const { d_model: d, d_ff: inner, n_experts_used: used } = c;
  const H = isLabelPooled(c) ? 1 : T; // rows that the head reads
  const heads = c.n_heads * c.d_head;
  const kv = c.n_kv_heads * c.d_head;
  const rotated = (rotaryKvHeads(c) / c.n_kv_heads) * (c.n_heads + c.n_kv_heads);
  const wide = isGated(c) ? 2 * inner : inner;
  const gates = c.n_experts + Number(c.d_shared_expert > 0);
  const stream = [T, d];
  const q = [T, c.n_heads, c.d_head];
  const qk = [T, c.n_heads + c.n_kv_heads, c.d_head];
  const normed = Number(c.use_norm) * normFlops(c.norm) * T * d;
  const narrow = narrowWidth(c);
  const behind = c.mlm_head ? narrow : d; // what the head reads
  const narrowed = (/** @type {number} */ flops) => (flops * narrow) / d;
  const added = (Number(c.use_residual) + Number(c.residual_scale !== 1)) * T * d;
  return {
    embed: [[T], stream, embedFlops(c, T) + when(c.embed_norm, narrowed(normed))],
    norm1: [stream, stream, normed],
    'attn.qkv': [
      stream,
      [T, heads + 2 * kv],
      linear(T, d, heads + 2 * kv, c.bias_qkv) + when(c.qk_norm, 4 * T * (heads + kv)),
    ],
    'attn.rope': [qk, qk, when(layer >= 0 && isRotated(c, layer), 3 * T * rotated * rotaryDim(c))],
    'attn.attend': [q, q, 4 * heads * attentionPairs(c, layer, T, causal)],
    'attn.o': [[T, heads], stream, linear(T, heads, d, c.bias_attn_out)],
    'attn.residual': [stream, stream, added],
    norm_cross: [stream, stream, normed],
    'cross_attn.q': [stream, [T, heads], linear(T, d, heads, c.bias_qkv)],
    'cross_attn.kv': [[S, d], [S, 2, c.n_kv_heads, c.d_head], linear(S, d, 2 * kv, c.bias_qkv)],
    'cross_attn.attend': [q, q, 4 * heads * T * S],
    'cross_attn.o': [[T, heads], stream, linear(T, heads, d, c.bias_attn_out)],
    'cross_attn.residual': [stream, stream, added],
    norm1_post: [stream, stream, normed],
    norm2: [stream, stream, normed],
    norm2_post: [stream, stream, normed],
    'ffn.up': [stream, [T, wide], linear(T, d, wide, c.bias_ffn)],
    'ffn.act': [[T, wide], [T, inner], FFN_KINDS[c.ffn].flops * T * inner],
    'ffn.down': [[T, inner], stream, linear(T, inner, d, c.bias_ffn)],
    'ffn.router': [stream, [T, c.n_experts], linear(T, d, gates, false) + 4 * T * gates],
    'ffn.experts': [stream, stream, T * (used * expert(c, c.d_expert) + expert(c, c.d_shared_expert))],
    'ffn.residual': [stream, stream, added + when(c.parallel_residual, T * d)], // parallel: the sum of both outputs
    final_norm: [stream, stream, Number(c.use_final_norm) * normFlops(c.final_norm_kind) * T * d],
    pooler: [[d], [d], linear(1, d, d, true) + d],
    head_transform: [[H, d], [H, behind], linear(H, d, behind, c.bias_head_transform) + H * behind * transformFlops(c)],
    head: [[H, behind], [H, headWidth(c)], headFlops(c, H)],
  };
}

/**
 * FLOPs of the embedding of T tokens, without its norm.
 * @param {Config} c
 * @param {number} T
 */
function embedFlops(c, T) {
  const width = embedWidth(c);
  return (
    when(c.embedding_scale !== 1, T * width) +
    when(c.d_embed > 0, 2 * T * width * c.d_model) +
    when(c.use_position && (c.position === 'learned' || c.position === 'sinusoidal'), T * narrowWidth(c)) +
    when(c.n_token_types > 0, T * narrowWidth(c))
  );
}

/**
 * FLOPs of the logits of T positions.
 * @param {Config} c
 * @param {number} T
 */
function headFlops(c, T) {
  const width = embedWidth(c);
  const projection = when(c.d_embed > 0 && !isNarrow(c), 2 * T * c.d_model * width);
  const changes = Number(c.logit_scale !== 1) + 3 * Number(c.logit_softcap > 0);
  return linear(T, width, headWidth(c), c.bias_head) + projection + T * headWidth(c) * changes;
}

/**
 * FLOPs of a value behind the linear layer before the head: of its activation and its norm.
 * @param {Config} c
 */
function transformFlops(c) {
  const act = c.mlm_head ? headActivation(c) : c.label_transform;
  const normed = (c.mlm_head || c.label_norm) && c.use_norm;
  return (FFN_KINDS[act]?.flops ?? 1) + Number(normed) * normFlops(c.norm);
}

/**
 * Weights of operations by the beginning of their names in the block or stack. Those of any other operation begin with
 * the operation's own name.
 * @type {Record<string, RegExp>}
 */
const WEIGHTS = {
  'attn.qkv': /^attn\.[qkv](_norm)?\./,
  norm_cross: /^norm2\./,
  'cross_attn.kv': /^cross_attn\.[kv]\./,
  'ffn.up': /^ffn\.(up|gate)\./,
  'ffn.router': /^ffn\.(router|shared_gate)\./,
  'ffn.experts': /^ffn\.(experts|shared_expert)\./,
  embed: /^(embed(_project|_norm)?|position|token_type)\./,
  head_transform: /^head_(transform|norm)\./,
  head: /^head(_project)?\./,
};

/**
 * The rows of the parameter table that an operation uses.
 * @param {LoadedModel} model
 * @param {Time} time
 * @param {string} own     prefix of the weights of its stack outside the blocks
 * @param {string} prefix  prefix of the weights of its block, or the same as `own`
 */
function weightsOf({ config: c, table: { rows } }, { op, layer, stack }, own, prefix) {
  // the bias of distances, which all layers share, counts in the first one
  if (op === 'attn.attend' && layer === 0) return rows.filter((r) => r.name === `${own}relative_bias.weight`);
  const name = op === 'norm2' && c.kind === 'encoder_decoder' && stack === 0 ? 'norm3' : op;
  const isOwn = (/** @type {string} */ weight) => WEIGHTS[op]?.test(weight) ?? weight.startsWith(`${name}.`);
  return rows.filter(
    (r) => (r.layer ?? -1) === layer && r.name.startsWith(prefix) && isOwn(r.name.slice(prefix.length)),
  );
}

/** @param {number[]} shape */
const size = (shape) => shape.reduce((a, b) => a * b, 1);

/**
 * One row of the trace: shapes and cost of an operation, computed from the configuration.
 * @param {LoadedModel} model
 * @param {Time} time
 * @param {number} positions  of the input
 * @param {number} source     positions of the source
 * @returns {TraceRow}
 */
function traceRow(model, time, positions, source) {
  const { op, layer, ms, passes } = time;
  const c = stackConfig(model.config, time.stack === 1);
  const stack = time.stack === 1 ? 'encoder' : 'decoder';
  const two = c.kind === 'encoder_decoder';
  const T = two && stack === 'encoder' ? source : positions;
  const [input, output, flops] = costs(c, layer, T, source, c.causal && stack === 'decoder')[op];
  const own = two && stack === 'encoder' ? 'encoder.' : '';
  const block = layer < 0 ? '' : `${two ? stack : 'blocks'}.${layer}.`;
  const rows = weightsOf(model, time, own, block || own);
  const chosen = Math.min(1, (T * c.n_experts_used) / (passes * c.n_experts)); // share of the experts that a pass reads
  const tiedBytes = (/** @type {string | null} */ to) => model.table.rows.find((r) => r.name === to)?.memoryBytes ?? 0;
  const weights = rows.reduce(
    (n, r) => n + (r.count ? r.memoryBytes * (isExpert(r) ? chosen : 1) : tiedBytes(r.tiedTo)),
    0,
  );
  // A lookup reads one row of the table for each position.
  const read = op === 'embed' ? (T * c.d_model * weights) / Math.max(1, size(rows[0]?.shape ?? [1])) : weights * passes;
  const keys = op === 'cross_attn.attend' ? source : op === 'attn.attend' ? T : 0;
  const cached = 2 * c.n_kv_heads * c.d_head * keys;
  return {
    name: (layer < 0 && two ? `${stack}.` : block) + op,
    op,
    stack,
    layer: layer < 0 ? null : layer,
    in: input,
    out: output,
    parameters: rows.reduce((n, r) => n + r.count, 0),
    flops,
    bytes: Math.round(read + 4 * (size(input) + size(output) + cached)),
    ms,
  };
}
