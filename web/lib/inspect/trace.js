// trace.js - lists the operations of a pass: shapes, parameters, computed cost, measured time
import { startTrace, readTrace } from '../engine/probe.js';
import { clockTick } from '../base/clock.js';
import { Yielder } from '../base/event_loop.js';
import { embedWidth, isGated, isRotated, rotaryDim, windowOf } from '../formats/config.js';
import { isExpert } from '../formats/roster.js';

/** @typedef {import('../run/loaded_model.js').LoadedModel} LoadedModel */
/**
 * One operation of a pass over T positions.
 * @typedef {object} TraceRow
 * @property {string} name        embed, blocks.0.attn.qkv, decoder.1.cross_attn.attend, head, ...
 * @property {string} op          the name without the block
 * @property {'decoder'|'encoder'} stack
 * @property {number | null} layer
 * @property {number[]} in        shape of its input; for attention that of the queries
 * @property {number[]} out       shape of its output
 * @property {number} parameters  of this operation; 0 for a tied head, whose parameters count for the embedding
 * @property {number} flops       multiplications and additions. Those of matrices and of attention are exact; norms,
 *   activations, rotations and sums count one for each arithmetic step of an element
 * @property {number} bytes       moved bytes: weights as stored in memory, once for each chunk of the pass, and input
 *   and output in f32; of experts as many as the tokens of a chunk choose when none chooses the same as another
 * @property {number} ms          measured time; with a coarse clock, the mean of several passes
 */

/**
 * Measured times by operation.
 * @typedef {Map<string, {op: string, stack: number, layer: number, ms: number, passes: number}>} Times
 */

/** With a longer tick of the clock, most operations of a pass would measure as 0. */
const FINE_MS = 0.2;
/** Total time of the further passes with such a clock, in ms. */
const REPEAT_MS = 400;
/** Most further passes. */
const MAX_REPEATS = 400;

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
 * Runs one pass and measures its operations.
 * @param {LoadedModel} model
 * @param {any} input  text or ids
 * @param {Record<string, any>} options
 * @param {import('../run/loaded_model.js').Hooks} hooks
 * @returns {Promise<TraceRow[]>} in the order of the computation
 */
export async function trace(model, input, options, { signal } = {}) {
  const { config: c } = model;
  const yielder = new Yielder(signal);
  const encoder = c.kind === 'encoder';
  const { ids, types } = model.typedIds(input, 'input', options);
  model.checkLength(ids.length, 'input');
  const source = options.source === undefined ? undefined : model.ids(options.source, 'source');
  /**
   * One pass, whose times are added to the sums.
   * @param {Times} sums
   */
  const pass = async (sums) => {
    const sequence = await model.openSequence();
    const gather = () => {
      for (const t of readTrace(sequence.session)) {
        const key = `${t.stack} ${t.layer} ${t.op}`;
        const known = sums.get(key);
        if (known) {
          known.ms += t.ms;
          known.passes++;
        } else sums.set(key, { ...t, passes: 1 });
      }
    };
    try {
      startTrace(sequence.session);
      await sequence.encodeSource({ source, sourceMask: options.sourceMask }, yielder);
      if (source) gather();
      if (encoder) {
        sequence.encodeOnly(ids, null, types);
        if (c.mlm_head) sequence.session.logits(0, ids.length, c.vocab_size);
        gather();
      } else {
        await sequence.prefill(ids, yielder, (_, n) => {
          sequence.session.logits(0, n, c.vocab_size);
          gather();
        });
      }
    } finally {
      sequence.close();
    }
  };
  /** @type {Times} */
  const sums = new Map();
  await pass(sums);
  if (clockTick() > FINE_MS) await averageTimes(pass, sums);
  return [...sums.values()].map((t) => traceRow(model, t, ids.length, source?.length ?? 0));
}

/**
 * The number of pairs of a query and a key to which it attends.
 * @param {LoadedModel} model
 * @param {number} layer
 * @param {number} queries
 * @param {boolean} causal
 */
function attentionPairs(model, layer, queries, causal) {
  const window = windowOf(model.config, Math.max(0, layer)) || Infinity;
  let sum = 0;
  for (let i = 0; i < queries; i++) sum += Math.min(window, causal ? i + 1 : queries);
  return sum;
}

/**
 * One row of the trace: shapes and cost of an operation, computed from the configuration.
 * @param {LoadedModel} model
 * @param {{op: string, stack: number, layer: number, ms: number, passes: number}} t
 * @param {number} positions  of the input
 * @param {number} source     positions of the source
 * @returns {TraceRow}
 */
function traceRow(model, { op, stack, layer, ms, passes }, positions, source) {
  const { config: c } = model;
  const two = c.kind === 'encoder_decoder';
  const inEncoder = stack === 1;
  const T = two && inEncoder ? source : positions;
  const d = c.d_model;
  const wide = c.d_ff;
  const q = [c.n_heads, c.d_head];
  const k = [c.n_kv_heads, c.d_head];
  const heads = c.n_heads * c.d_head;
  const kv = c.n_kv_heads * c.d_head;
  const gated = isGated(c);
  const activation = c.ffn === 'relu' ? 1 : gated ? 5 : 8;
  const wideEmbed = embedWidth(c);
  const plain = T * d;
  const normed = Number(c.use_norm) * (c.norm === 'layernorm' ? 7 : 4) * plain;
  const summed = Number(c.use_residual) + Number(c.residual_scale !== 1);
  const added = summed * plain;
  const seen = op.startsWith('cross') ? T * source : attentionPairs(model, layer, T, c.causal && !inEncoder);
  const bias = (/** @type {boolean} */ has, /** @type {number} */ n) => (has ? n : 0);
  const linear = (
    /** @type {number} */ n,
    /** @type {number} */ from,
    /** @type {number} */ to,
    /** @type {boolean} */ has,
  ) => 2 * n * from * to + bias(has, n * to);
  // an expert: its matrices, its activation, its part of the sum
  const expert = (/** @type {number} */ inner) => inner && 2 * (gated ? 3 : 2) * d * inner + activation * inner + 2 * d;
  const gates = c.n_experts + Number(c.d_shared_expert > 0);
  /** @type {Record<string, [input: number[], output: number[], flops: number]>} by operation */
  const table = {
    embed: [
      [T],
      [T, d],
      bias(c.embedding_scale !== 1, T * wideEmbed) +
        bias(c.d_embed > 0, 2 * T * wideEmbed * d) +
        bias(c.use_position && (c.position === 'learned' || c.position === 'sinusoidal'), plain) +
        bias(c.n_token_types > 0, plain) +
        bias(c.embed_norm, normed),
    ],
    norm1: [[T, d], [T, d], normed],
    'attn.qkv': [
      [T, d],
      [T, heads + 2 * kv],
      linear(T, d, heads + 2 * kv, c.bias_qkv) + bias(c.qk_norm, 4 * T * (heads + kv)),
    ],
    'attn.rope': [
      [T, c.n_heads + c.n_kv_heads, c.d_head],
      [T, c.n_heads + c.n_kv_heads, c.d_head],
      bias(layer >= 0 && isRotated(c, layer), 3 * T * (c.n_heads + c.n_kv_heads) * rotaryDim(c)),
    ],
    'attn.attend': [[T, ...q], [T, ...q], 4 * c.n_heads * c.d_head * seen],
    'attn.o': [[T, heads], [T, d], linear(T, heads, d, c.bias_attn_out)],
    'attn.residual': [[T, d], [T, d], added],
    norm_cross: [[T, d], [T, d], normed],
    'cross_attn.q': [[T, d], [T, heads], linear(T, d, heads, c.bias_qkv)],
    'cross_attn.kv': [[source, d], [source, 2, ...k], linear(source, d, 2 * kv, c.bias_qkv)],
    'cross_attn.attend': [[T, ...q], [T, ...q], 4 * c.n_heads * c.d_head * seen],
    'cross_attn.o': [[T, heads], [T, d], linear(T, heads, d, c.bias_attn_out)],
    'cross_attn.residual': [[T, d], [T, d], added],
    norm1_post: [[T, d], [T, d], normed],
    norm2: [[T, d], [T, d], normed],
    norm2_post: [[T, d], [T, d], normed],
    'ffn.up': [[T, d], [T, gated ? 2 * wide : wide], linear(T, d, gated ? 2 * wide : wide, c.bias_ffn)],
    'ffn.act': [[T, gated ? 2 * wide : wide], [T, wide], activation * T * wide],
    'ffn.down': [[T, wide], [T, d], linear(T, wide, d, c.bias_ffn)],
    'ffn.router': [[T, d], [T, c.n_experts], linear(T, d, gates, false) + 4 * T * gates],
    'ffn.experts': [[T, d], [T, d], T * (c.n_experts_used * expert(c.d_expert) + expert(c.d_shared_expert))],
    'ffn.residual': [[T, d], [T, d], added + bias(c.parallel_residual, plain)], // parallel: the sum of both outputs
    final_norm: [[T, d], [T, d], Number(c.use_final_norm) * (c.final_norm_kind === 'layernorm' ? 7 : 4) * plain],
    pooler: [[d], [d], linear(1, d, d, true) + d],
    head_transform: [[T, d], [T, d], linear(T, d, d, true) + (c.ffn === 'relu' ? 1 : 8) * plain + normed],
    head: [
      [T, d],
      [T, c.vocab_size],
      linear(T, wideEmbed, c.vocab_size, c.bias_head) +
        bias(c.d_embed > 0, 2 * T * d * wideEmbed) +
        T * c.vocab_size * (Number(c.logit_scale !== 1) + 3 * Number(c.logit_softcap > 0)),
    ],
  };
  const [input, output, flops] = table[op];
  const block = layer < 0 ? '' : `${two ? (inEncoder ? 'encoder' : 'decoder') : 'blocks'}.${layer}.`;
  const rows = weightsOfOperation(model, op, block, inEncoder);
  const chosen = Math.min(1, (T * c.n_experts_used) / (passes * c.n_experts)); // of the experts, for each pass
  const weights = rows.reduce(
    (n, r) => n + (r.count ? r.memoryBytes * (isExpert(r) ? chosen : 1) : tiedBytes(model, r.tiedTo)),
    0,
  );
  const size = (/** @type {number[]} */ shape) => shape.reduce((a, b) => a * b, 1);
  // A lookup reads one row of the table for each position.
  const read = op === 'embed' ? (T * d * weights) / Math.max(1, size(rows[0]?.shape ?? [1])) : weights * passes;
  return {
    name: (layer < 0 && two ? (inEncoder ? 'encoder.' : 'decoder.') : block) + op,
    op,
    stack: inEncoder ? 'encoder' : 'decoder',
    layer: layer < 0 ? null : layer,
    in: input,
    out: output,
    parameters: rows.reduce((n, r) => n + r.count, 0),
    flops,
    bytes: Math.round(
      read +
        4 * (size(input) + size(output) + (op.endsWith('attend') ? 2 * kv * (op.startsWith('cross') ? source : T) : 0)),
    ),
    ms,
  };
}

/**
 * The bytes of the weight that a tied head shares.
 * @param {LoadedModel} model
 * @param {string | null} name  of this weight
 */
function tiedBytes(model, name) {
  return model.table.rows.find((r) => r.name === name)?.memoryBytes ?? 0;
}

/**
 * The rows of the parameter table that an operation uses.
 * @param {LoadedModel} model
 * @param {string} op
 * @param {string} block
 * @param {boolean} inEncoder
 */
function weightsOfOperation(model, op, block, inEncoder) {
  const { config: c } = model;
  const two = c.kind === 'encoder_decoder';
  /** @type {Record<string, RegExp>} */
  const parts = {
    norm1: /^norm1\./,
    norm1_post: /^norm1_post\./,
    norm2_post: /^norm2_post\./,
    'attn.qkv': /^attn\.[qkv](_norm)?\./,
    'attn.o': /^attn\.o\./,
    norm_cross: /^norm2\./,
    'cross_attn.q': /^cross_attn\.q\./,
    'cross_attn.kv': /^cross_attn\.[kv]\./,
    'cross_attn.o': /^cross_attn\.o\./,
    norm2: two && !inEncoder ? /^norm3\./ : /^norm2\./,
    'ffn.up': /^ffn\.(up|gate)\./,
    'ffn.down': /^ffn\.down\./,
    'ffn.router': /^ffn\.(router|shared_gate)\./,
    'ffn.experts': /^ffn\.(experts|shared_expert)\./,
  };
  const own = two && inEncoder ? 'encoder.' : '';
  // the bias of distances, which all layers share, counts in the first one
  if (op === 'attn.attend' && block.endsWith('.0.'))
    return model.table.rows.filter((r) => r.name === `${own}relative_bias.weight`);
  if (block)
    return model.table.rows.filter((r) => r.name.startsWith(block) && parts[op]?.test(r.name.slice(block.length)));
  /** @type {Record<string, RegExp>} */
  const whole = {
    embed: /^(embed(_project|_norm)?|position|token_type)\./,
    final_norm: /^final_norm\./,
    pooler: /^pooler\./,
    head_transform: /^head_(transform|norm)\./,
    head: /^head(_project)?\./,
  };
  return model.table.rows.filter(
    (r) => r.layer === null && r.name.startsWith(own) && whole[op]?.test(r.name.slice(own.length)),
  );
}
