// engine_captures.js - reads and edits the inside of the engine: captures, edits, timings, hidden states and weights
//
// Same rules as instance.js: a view is created, used and dropped within one function, and results are copies.
import { fail } from '../base/errors.js';
import { adjustmentBytes, putAdjustment, putSampling, readTop } from './c_structs.js';

/** @import { Engine } from './engine.js' */
/** @import { EngineSession } from './engine_session.js' */
/**
 * A point. stack: 0 decoder, 1 encoder; layer: -1 outside the blocks; point: index into schema.points.
 * @typedef {{stack: number, layer: number, point: number}} Place
 */

/**
 * What an edit changes: a session, or the passes of gradients with their own calls.
 * @typedef {{engine: Pick<Engine, 'x' | 'scratch' | 'memory' | 'check' | 'error'>, ptr: number, edit?: Function,
 *   editFeature?: Function}} Edited
 */

const EDIT_OPS = { scale: 0, set: 1, add: 2, project: 3 };

/**
 * Switch the capture of a point on or off for later passes.
 * @param {EngineSession} session
 * @param {Place} place
 * @param {boolean} on
 */
export function setCapture({ engine: e, ptr }, { stack, layer, point }, on) {
  e.check(e.x.gf_session_capture(ptr, stack, layer, point, on ? 1 : 0, e.error));
}

/**
 * The values at a captured point in the last eval or encode.
 * @param {EngineSession} session
 * @param {Place} place
 * @returns {{data: Float32Array<ArrayBuffer>, dims: number[]} | null} three dims; null when the point was not captured
 */
export function readCapture({ engine: e, ptr }, { stack, layer, point }) {
  const dims = e.scratch(12);
  const p = e.x.gf_session_captured(ptr, stack, layer, point, dims);
  if (!p) return null;
  const d = Array.from(new Int32Array(e.memory.buffer, dims, 3));
  return { data: e.floats(p, d[0] * d[1] * d[2]), dims: d };
}

/**
 * End later passes of the decoder before a block. They leave no logits.
 * @param {EngineSession} session
 * @param {number} layer  n_layers: run all
 */
export function stopBefore({ engine: e, ptr }, layer) {
  e.check(e.x.gf_session_stop(ptr, layer, e.error));
}

/**
 * Edit the values at a point in later passes.
 * @param {Edited} session
 * @param {Place} place
 * @param {number} head      or -1 for all
 * @param {number} position  absolute, or -1 for all
 * @param {number} index     within the row (a neuron, a component, a key), or -1 for all
 * @param {keyof typeof EDIT_OPS} op
 * @param {number | ArrayLike<number>} value  a number for all of the row, or one for each index
 */
export function addEdit(
  { engine: e, ptr, edit = e.x.gf_session_edit },
  { stack, layer, point },
  head,
  position,
  index,
  op,
  value,
) {
  const values = typeof value === 'number' ? new Float32Array([value]) : value;
  const p = e.scratch(4 * values.length);
  new Float32Array(e.memory.buffer, p, values.length).set(values);
  const where = [stack, layer, point, head, position, index];
  const factor = op === 'scale' ? values[0] : 1;
  e.check(edit(ptr, ...where, EDIT_OPS[op], factor, p, values.length, e.error));
}

/**
 * Measure the time of each operation in later passes.
 * @param {EngineSession} session
 */
export function startTrace({ engine: e, ptr }) {
  e.check(e.x.gf_session_trace(ptr, 1, e.error));
}

/**
 * The time of each operation of the last eval or encode, in order.
 * @param {EngineSession} session
 * @returns {{op: string, stack: number, layer: number, ms: number}[]}
 */
export function readTrace({ engine: e, ptr }) {
  const count = e.scratch(4);
  const { ops, op_time: at } = e.schema;
  const p = e.x.gf_session_traced(ptr, count);
  const [n] = new Int32Array(e.memory.buffer, count, 1);
  const view = new DataView(e.memory.buffer);
  return Array.from({ length: n }, (_, i) => {
    const row = (p >>> 0) + i * at.bytes;
    return {
      op: ops[view.getInt32(row + at.op, true)],
      stack: view.getInt32(row + at.stack, true),
      layer: view.getInt32(row + at.layer, true),
      ms: view.getFloat64(row + at.ms, true),
    };
  });
}

/**
 * Run a pass that begins with block `layer` (n_layers: with the final norm) instead of at the embedding. The cache
 * keeps what it has of the layers before, and their points cannot be captured.
 * @param {EngineSession} session
 * @param {number} layer
 * @param {Float32Array} rows  [token, d_model] the input of the block
 * @param {() => void} run     evals or encodes as many tokens once
 * @param {number} [drop]  number of rows, the first ones, whose output is not wanted
 */
export function runFrom({ engine: e, ptr }, layer, rows, run, drop = 0) {
  e.lend(rows.byteLength, (p) => {
    new Float32Array(e.memory.buffer, p, rows.length).set(rows);
    e.check(e.x.gf_session_start(ptr, layer, p, drop, e.error));
    try {
      run();
    } finally {
      e.x.gf_session_start(ptr, 0, 0, 0, e.error); // a run that fails before its call leaves an address of freed memory
    }
  });
}

/**
 * The natural logarithms of the probabilities of tokens, each after a row of the last eval.
 * @param {EngineSession} session
 * @param {ArrayLike<number>} ids  one for each row from the first on
 * @param {number} vocab  vocab_size
 * @returns {number[]}
 */
export function logprobs({ engine: e, ptr }, ids, vocab) {
  const out = e.scratch(e.schema.choice.bytes);
  const p = e.pointer(e.x.gf_session_logits(ptr, 0, ids.length, e.error)) >>> 0;
  return Array.from(ids, (id, i) => {
    const at = p + 4 * i * vocab;
    const [best] = readTop(e, at, vocab, 1, out);
    const logits = new Float32Array(e.memory.buffer, at, vocab);
    return logits[id] - (logits[best.id] - best.logprob);
  });
}

/**
 * The output rows of the encoder, after the final norm.
 * @param {EngineSession} session
 * @param {number} dModel
 * @returns {import('./engine.js').Tensor} [positions, d_model]
 */
export function readHidden({ engine: e, ptr }, dModel) {
  const n = e.scratch(4);
  const p = e.x.gf_session_hidden(ptr, 1, n) || fail('bad-state', 'there are no hidden states yet');
  const [rows] = new Int32Array(e.memory.buffer, n, 1);
  return { data: e.floats(p, rows * dModel), shape: [rows, dModel] };
}

/**
 * What an encoder's pooler gave in the last encode.
 * @param {EngineSession} session
 * @param {number} dModel
 * @param {number} [sources]  of that pass; one after another in the data
 * @returns {import('./engine.js').Tensor} [d_model] of each
 */
export function readPooled({ engine: e, ptr }, dModel, sources = 1) {
  const p = e.x.gf_session_pooled(ptr) || fail('bad-state', 'there is no pooled state yet');
  return { data: e.floats(p, sources * dModel), shape: [dModel] };
}

/**
 * One row of a weight as f32.
 * @param {Engine} engine
 * @param {number} i     roster entry
 * @param {number} row
 * @param {number} cols  length of the row
 */
export function tensorRow(engine, i, row, cols) {
  const p = engine.scratch(4 * cols);
  engine.check(engine.x.gf_tensor_read(engine.model, i, row, p, engine.error));
  return engine.floats(p, cols);
}

/**
 * The products of vectors with rows of a weight.
 * @param {Engine} engine
 * @param {number} i     roster entry
 * @param {number} row   the first one
 * @param {number} n     rows
 * @param {Float32Array} vectors  [count, cols], cols: the length of a row
 * @param {number} count
 * @returns {Float32Array<ArrayBuffer>} [count, n]
 */
export function tensorProducts(engine, i, row, n, vectors, count) {
  const bytes = vectors.byteLength;
  return engine.lend(bytes + 4 * n * count, (p) => {
    new Float32Array(engine.memory.buffer, p, vectors.length).set(vectors);
    engine.check(engine.x.gf_tensor_products(engine.model, i, row, n, p, count, p + bytes, engine.error));
    return engine.floats(p + bytes, n * count);
  });
}

/**
 * The probabilities with which the sampler draws each token.
 * @param {Engine} engine
 * @param {Float32Array} logits  [vocab_size], may hold -Infinity
 * @param {import('./config/sampler_fields.js').SamplingOptions} sampling
 * @param {number[]} seen        ids that the repetition penalty applies to
 * @param {import('./engine.js').Adjustment | null} [adjustment]
 * @returns {Float32Array<ArrayBuffer>} [vocab_size]
 */
export function distribution(engine, logits, sampling, seen, adjustment) {
  const n = logits.length;
  const { bytes } = engine.schema.sampling;
  const p = engine.scratch(8 * n + 4 * seen.length + bytes + adjustmentBytes(engine, adjustment));
  new Float32Array(engine.memory.buffer, p, n).set(logits);
  new Int32Array(engine.memory.buffer, p + 8 * n, seen.length).set(seen);
  const samplingAddress = putSampling(engine, p + 8 * n + 4 * seen.length, sampling);
  const changes = putAdjustment(engine, samplingAddress + bytes, adjustment);
  engine.check(
    engine.x.gf_distribution(p + 4 * n, p, n, samplingAddress, changes, p + 8 * n, seen.length, engine.error),
  );
  return engine.floats(p + 4 * n, n);
}
