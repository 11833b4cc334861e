// memory_steps.js - the calls of full_memory.js, each in two engines
import assert from 'node:assert/strict';
import { GlassformerError } from '../../web/lib/base/errors.js';
import { completeConfig } from '../../web/lib/engine/config/config.js';
import * as captures from '../../web/lib/engine/engine_captures.js';

/** @import { Engine } from '../../web/lib/engine/engine.js' */
/** @import { EngineSession } from '../../web/lib/engine/engine_session.js' */
/** @import { Random } from './mutate.js' */
/**
 * An engine whose memory is nearly full; plugs: what was allocated to fill it.
 * @typedef {{engine: Engine, plugs: {p: number, bytes: number}[], name: string}} Tight
 */
/**
 * A session in each engine. observed: it has captures or edits; stale: the captures of the last pass were dropped by a
 * refused one.
 * @typedef {{a: EngineSession, b: EngineSession, ids: number[], observed: boolean, stale: boolean}} Pair
 */
/** @typedef {{config: any, dtypes: string[], seed: number, load: boolean}} Model */

/** @type {((r: Random) => object)[]} */
const KINDS = [
  () => ({}),
  () => ({ n_heads: 4, n_kv_heads: 1, qk_norm: true, position: 'alibi', sliding_window: 20 }),
  () => ({ norm: 'layernorm', position: 'learned', ffn: 'gelu_tanh', context_length: 150 }),
  () => ({ rope_scaling: 'dynamic', rope_factor: 2, rope_original_context: 40 }),
  () => ({
    rope_scaling: 'longrope',
    rope_original_context: 70,
    rope_short_factors: Array(8).fill(1),
    rope_long_factors: Array(8).fill(3),
  }),
  () => ({ sliding_window: 30, window_layers: [true, false], rope_local_theta: 500, score_softcap: 20 }),
  () => ({ n_experts: 4, n_experts_used: 2, parallel_residual: true }),
  () => ({ norm_placement: 'sandwich', relative_buckets: 8, position: 'none' }),
  () => ({
    kind: 'encoder',
    causal: false,
    norm: 'layernorm',
    position: 'learned',
    n_token_types: 2,
    context_length: 150,
  }),
  () => ({ kind: 'encoder_decoder', norm: 'layernorm', position: 'sinusoidal', n_encoder_layers: 2 }),
];

/** @param {Random} r @returns {Model} */
export function randomModel(r) {
  const sizes = {
    vocab_size: 40,
    d_model: 32 * (1 + r.below(2)),
    n_layers: 1 + r.below(3),
    n_heads: 2,
    d_head: 16,
    d_ff: 64,
  };
  const config = completeConfig({ ...sizes, context_length: 200, ...r.of(KINDS)(r) });
  return { config, dtypes: [r.of(['f32', 'f16', 'q8_0', 'q4_0'])], seed: r.below(1000), load: !r.below(2) };
}

/** What a call gives: `value`, or the code of its error and its sentence. */
function tried(run) {
  try {
    return { value: run() };
  } catch (e) {
    if (!(e instanceof GlassformerError) || e.code === 'internal') throw e;
    return { code: e.code, message: e.message };
  }
}

const bytesOf = (/** @type {any} */ data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
const sameBits = (/** @type {any} */ got, /** @type {any} */ want) => bytesOf(got).equals(bytesOf(want));

/**
 * Open the model in both engines, with random weights that are drawn there or passed in pieces.
 * @returns {boolean} false: the first has too little memory, and no model
 */
export function loadBoth(r, tight, roomy, { config, dtypes, seed, load }) {
  const list = roomy.roster(config);
  const types = list.map(() => dtypes[0]);
  const piece = 4 * (1 + r.below(300));
  const done = tried(() => {
    tight.open(config, types);
    if (!load) return tight.randomize(seed, 0.3);
    return list.forEach((tensor, i) => tensor.tiedTo < 0 && receive(tight, i, tensor, seed, piece));
  });
  if (done.code) {
    assert.equal(done.code, 'out-of-memory', done.message);
    tight.close();
    return false;
  }
  roomy.open(config, types);
  if (!load) roomy.randomize(seed, 0.3);
  else {
    list.forEach((tensor, i) => tensor.tiedTo < 0 && receive(roomy, i, tensor, seed, 4096));
    tight.seal();
    roomy.seal();
  }
  return true;
}

/** Give an engine a tensor in pieces. */
function receive(engine, i, { shape, count }, seed, piece) {
  const values = Float32Array.from(
    { length: count },
    (_, k) => Math.sin(seed + 7 * i + 3 * k) * (shape.length > 1 ? 0.5 : 1),
  );
  const to = engine.receiveTensor(i, 1, 'f32', 'rows');
  const bytes = new Uint8Array(values.buffer);
  for (let at = 0; at < bytes.length; at += piece) to.write(bytes.subarray(at, at + piece));
  to.end();
}

/**
 * Run a call in both engines. Where memory refuses it in the first, the second does not run it.
 * @template T
 * @param {(which: 'a' | 'b') => T} run
 * @returns {T | null} its value in the first engine; null: it was refused
 */
function both(run, what) {
  const got = tried(() => run('a'));
  if (got.code === 'out-of-memory') return null;
  const want = tried(() => run('b'));
  assert.equal(got.code, want.code, `${what}: ${got.message ?? 'done'}, expected: ${want.message ?? 'done'}`);
  assert.equal(got.message, want.message);
  if (got.code) return null;
  const [value, expected] = [got.value, want.value].map((/** @type {any} */ v) => v?.data ?? v);
  if (ArrayBuffer.isView(value)) assert.ok(sameBits(value, expected), `${what}: other bits`);
  return got.value ?? null;
}

/** The session in the first engine is what it is in the second. */
function check(pair, model, what) {
  assert.equal(pair.a.length, pair.b.length, `${what}: length`);
  const vocab = model.config.vocab_size;
  const rows = tried(() => pair.b.logits(0, 1, vocab)).value;
  const got = tried(() => pair.a.logits(0, 1, vocab));
  if (got.code === 'out-of-memory') return;
  assert.equal(!got.value, !rows, `${what}: logits, ${got.message}`);
  if (rows) assert.ok(sameBits(got.value, rows), `${what}: other logits`);
}

const ids = (r, n, vocab) => Array.from({ length: n }, () => r.below(vocab));

/** @type {Record<string, (r: Random, pair: Pair, model: Model, pairs: Pair[], engines: Record<'a'|'b', Engine>) => void>} */
const CALLS = {
  eval(r, pair, { config }) {
    const n = 1 + r.below(r.below(4) ? 6 : 90);
    const tokens = ids(r, n, config.vocab_size + (r.below(40) ? 0 : 2));
    const drop = r.below(3) ? 0 : r.below(n);
    const before = pair.a.length;
    both((e) => pair[e].eval(tokens, drop), 'eval');
    pass(pair, before);
  },
  start(r, pair, { config }) {
    const n = 1 + r.below(20);
    const rows = Float32Array.from({ length: n * config.d_model }, () => r.below(9) - 4);
    const tokens = ids(r, n, config.vocab_size);
    const layer = r.below(config.n_layers + 1),
      before = pair.a.length;
    // the layers before have keys and values of these positions
    if (both((e) => (pair[e].eval(tokens), 1), 'eval') === null) return pass(pair, before);
    both((e) => pair[e].rewind(before), 'rewind');
    both((e) => captures.runFrom(pair[e], layer, rows, () => pair[e].eval(tokens)), 'eval from a layer');
    pass(pair, before);
  },
  encode(r, pair, { config }) {
    const n = 1 + r.below(r.below(3) ? 10 : 100);
    const source = ids(r, n, config.vocab_size);
    const mask = r.below(2) ? null : source.map((_, i) => (i && !r.below(4) ? 0 : 1));
    const types = config.n_token_types && r.below(2) ? source.map(() => r.below(2)) : null;
    const lengths = config.kind === 'encoder' && n > 3 && !r.below(3) ? [2, n - 2] : [n];
    const before = pair.a.length;
    const done = both((e) => (pair[e].encode(source, mask, types, lengths), 1), 'encode');
    pass(pair, before);
    if (done) both((e) => captures.readHidden(pair[e], config.d_model), 'hidden states');
  },
  rewind(r, pair) {
    const n = r.below(pair.a.length + 2);
    both((e) => pair[e].rewind(n), 'rewind');
  },
  plan(r, pair) {
    const n = r.below(220);
    both((e) => pair[e].plan(n), 'plan');
  },
  fork(r, pair, _, pairs) {
    if (pairs.length > 5) return;
    const a = tried(() => pair.a.fork());
    if (!a.value) return assert.equal(a.code, 'out-of-memory', a.message);
    pairs.push({ a: a.value, b: pair.b.fork(), observed: false, stale: false });
  },
  save(r, pair, { config }, pairs, engines) {
    const block = r.below(1 + Math.ceil(pair.a.length / 64));
    const saved = both((e) => pair[e].saveBlock(block), 'save');
    if (!saved || r.below(2)) return;
    const into = r.of(pairs);
    const tokens = ids(r, 1 + r.below(64), config.vocab_size);
    if (r.below(3)) both((e) => into[e].rewind(0), 'rewind');
    both((e) => into[e].restoreBlock(tokens, saved), 'restore');
    check(into, { config }, 'after restoring');
  },
  products(r, _pair, { config }, _pairs, engines) {
    const vectors = Float32Array.from({ length: 3 * config.d_model }, () => r.below(5) - 2);
    const [row, n] = [r.below(config.vocab_size), 1 + r.below(20)];
    both((e) => captures.tensorProducts(engines[e], 0, row, n, vectors, 3), 'products of rows');
  },
  capture(r, pair, { config }, _, { b }) {
    const place = placeOf(r, config, b);
    const on = !!r.below(4);
    if (both((e) => (captures.setCapture(pair[e], place, on), 1), 'capture') && on) pair.observed = true;
  },
  edit(r, pair, { config }, _, { b }) {
    const place = placeOf(r, config, b),
      axes = b.schema.points[place.point][1];
    const op = r.of(/** @type {const} */ (['scale', 'set', 'add', 'project']));
    const width = axes === 'D' ? config.d_model : axes === 'F' ? config.d_ff : config.d_head;
    const many = op === 'project' || !r.below(3);
    const value = many ? Float32Array.from({ length: width }, () => r.below(5) - 2) : r.below(5) / 2 - 1;
    const index = many || r.below(2) ? -1 : r.below(16);
    const position = r.below(2) ? -1 : r.below(60);
    if (both((e) => (captures.addEdit(pair[e], place, -1, position, index, op, value), 1), 'edit'))
      pair.observed = true;
  },
  captured(r, pair, { config }, _, { b }) {
    if (!pair.stale) both((e) => captures.readCapture(pair[e], placeOf(Object.create(r), config, b)), 'captured');
  },
  batch(r, pair, { config }, pairs, engines) {
    const some = pairs.filter(() => r.below(2));
    if (!some.length) return;
    const tokens = ids(r, some.length, config.vocab_size);
    const lengths = some.map(({ a }) => a.length);
    both(
      (e) =>
        engines[e].evalAll(
          some.map((each) => each[e]),
          tokens,
        ),
      'eval of several',
    );
    some.forEach((each, i) => {
      pass(each, lengths[i]);
      check(each, { config }, 'after an eval of several');
    });
  },
  sample(r, pair, { config }) {
    const seed = r.below(99);
    const sampling = {
      temperature: r.below(3) / 2,
      topK: r.below(9),
      topP: 0.9,
      minP: 0,
      repetitionPenalty: 1 + r.below(2) / 5,
    };
    const adjustment = r.below(2) ? null : { ids: [1, 2], bias: [3, -Infinity], allowed: null };
    both((e) => {
      pair[e].seed(seed);
      const { id, logprob } = pair[e].sample(sampling, adjustment);
      return Float64Array.of(id, logprob, pair[e].probability(id), pair[e].probability(5));
    }, 'sample');
  },
  logits(r, pair, { config }) {
    const row = r.below(4);
    const n = 1 + r.below(3);
    both((e) => pair[e].logits(row, n, config.vocab_size), 'logits');
  },
  top(r, pair, { config }) {
    both(
      (e) => Float64Array.from(pair[e].top(0, 1, config.vocab_size, 5)[0].flatMap(({ id, logprob }) => [id, logprob])),
      'top',
    );
  },
  distribution(r, pair, { config }, _, engines) {
    const logits = Float32Array.from({ length: config.vocab_size }, () => r.below(100) / 10);
    both((e) => captures.distribution(engines[e], logits, { temperature: 1, topK: 5 }, [1, 2]), 'distribution');
  },
  weight(r, pair, { config }, _, engines) {
    both((e) => captures.tensorRow(engines[e], 0, r.below(1), config.d_model), 'row of a weight');
  },
};

/** A point of the model, or of none. */
function placeOf(r, config, { schema }) {
  const point = r.below(schema.points.length);
  const whole = schema.points[point][2];
  return { stack: config.kind === 'encoder' ? 1 : 0, layer: whole ? -1 : r.below(config.n_layers), point };
}

/** After a pass that may have been refused: whether the captures are those of the second engine's session. */
function pass(pair, before) {
  pair.stale = pair.observed && pair.a.length === before;
}

/**
 * One random call.
 * @param {Random} r
 * @param {Tight} tight
 * @param {Engine} roomy
 * @param {Model} model
 * @param {Pair[]} pairs
 */
export function step(r, { engine }, roomy, model, pairs) {
  const engines = { a: engine, b: roomy };
  const { kind } = model.config;
  if (!pairs.length || (pairs.length < 5 && !r.below(12))) {
    const type = r.of(['f32', 'f16', 'q8_0']);
    const context = r.below(2) ? 0 : 1 + r.below(150);
    const a = tried(() => engine.openSession(context, type));
    if (!a.value) return assert.equal(a.code, 'out-of-memory', a.message);
    pairs.push({ a: a.value, b: roomy.openSession(context, type), observed: false, stale: false });
    return;
  }
  const i = r.below(pairs.length);
  const pair = pairs[i];
  if (!r.below(20)) {
    pairs.splice(i, 1);
    pair.a.close();
    pair.b.close();
    return;
  }
  const usual = kind === 'encoder' ? 'encode' : kind === 'encoder_decoder' && !r.below(4) ? 'encode' : 'eval';
  const name = r.below(3) ? r.of(Object.keys(CALLS)) : usual;
  CALLS[name](r, pair, model, pairs, engines);
  check(pair, model, name);
}
