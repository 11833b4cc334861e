// calls.js - the package's public calls with arguments that nobody would give
//
//   node tests/fuzz/calls.js [--seconds N] [--cases N] [--seed N] [--case N]
//
// A case depends on seed and number alone: some calls on one small model, each of them right but for a few values. A call ends well or
// with a GlassformerError, and afterwards the model writes what it wrote before.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CODES, GlassformerError, Tokenizer, countParameters, create, depth, estimate, load, train } from '../../web/lib/index.js';
import { EDGE_KEYS, EDGE_VALUES, Random, define } from './mutate.js';
import { tokenizers } from './seeds.js';

const HANG_MS = 60_000;
const small = { vocab_size: 11, d_model: 8, n_layers: 2, n_heads: 2, n_kv_heads: 1, d_ff: 12, context_length: 24 };
const KINDS = [
  small, { ...small, position: 'learned', norm: 'layernorm', ffn: 'gelu_tanh', bias_qkv: true, bias_ffn: true, norm_placement: 'post' }, { ...small, sliding_window: 5 },
  { ...small, kind: 'encoder', position: 'sinusoidal' }, { ...small, kind: 'encoder_decoder', n_encoder_layers: 1, position: 'sinusoidal' }, { ...small, causal: false },
];
const MORE = [NaN, Infinity, -Infinity, -0, undefined, 1e-9, 10n, Symbol('odd'), () => 1, new Float32Array(8), new Float64Array([NaN]), new Int32Array([1, 2]), new Date(0),
  new Map(), 'A', '\u{1F600}', 'hook_embed', '*', 'blocks.0.*', 'logits', [1, 2, 3], [[1], [2, 3]], [1, 'a'], [-1], [1e9], ['a', 'b'], { length: 2 }, { length: -1 },
  Object.create(null), { at: 'hook_embed', scale: 2 }, [{ at: '*', scale: 0 }], [{ at: 'blocks.0.hook_mlp_out', set: [1], position: 0 }]];

/** A list that claims 2^31 entries takes as much time and memory as one that has them. */
const KEYS = EDGE_KEYS.filter((key) => key !== 'length');

/** @param {Random} r */
function odd(r) {
  const value = r.of(r.below(3) ? MORE : EDGE_VALUES);
  return Array.isArray(value) ? [...value] : isPlain(value) ? { ...value } : value;
}

const isPlain = (/** @type {any} */ value) => value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype;

/** Right arguments, some of them made wrong. @param {Random} r @param {any[]} args */
function spoilt(r, args) {
  const list = args.map((a) => (isPlain(a) ? { ...a } : a));
  for (let n = r.below(3); n > 0; n--) {
    const i = r.below(list.length), value = list[i];
    if (isPlain(value) && r.below(5)) {
      const keys = Object.keys(value).filter((key) => key !== 'length');
      if (keys.length && r.below(8)) value[r.of(keys)] = odd(r);
      else define(value, r.of(KEYS), odd(r));
    } else if (Array.isArray(value) && value.length && r.below(2)) {
      list[i] = [...value];
      list[i][r.below(value.length)] = odd(r);
    } else {
      list[i] = odd(r);
    }
  }
  return list;
}

/** Options in any choice. @param {Random} r @param {Record<string, any>} all */
const some = (r, all) => Object.fromEntries(Object.entries(all).filter(() => !r.below(3)));

/** @param {Random} r @param {any} model @param {any} config */
function callsOf(r, model, config) {
  const two = config.kind === 'encoder_decoder' ? { source: [1, 2, 3], ...(r.below(3) ? {} : { sourceMask: [1, 1, 0] }) } : {};
  const see = some(r, { capture: ['*'], captureBudget: 1e7, edits: [{ at: '*.hook_mlp_out', scale: 0.5 }] });
  const ids = r.of([[1, 2, 3], [4], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2], Int32Array.of(1, 2), [[1, 2], [3]]]), one = Array.isArray(ids[0]) ? [1] : ids;
  const sampling = some(r, { temperature: 0.8, topK: 3, topP: 0.9, minP: 0.05, repetitionPenalty: 1.2 });
  return {
    generate: () => drain(model.generate(...spoilt(r, [ids, { maxTokens: 6, ...two, ...see, ...sampling, ...some(r, { seed: 7, stop: ['x'], logprobs: 2, ignoreEos: true }) }]))),
    beams: () => drain(model.generate(...spoilt(r, [ids, { maxTokens: 4, beams: 3, ...two, ...some(r, { lengthPenalty: 1, stop: ['x'] }) }]))),
    forward: () => model.forward(...spoilt(r, [ids, { ...two, ...see, ...some(r, { mask: Array.from(one, () => 1) }) }])),
    embed: () => model.embed(...spoilt(r, [one, some(r, { mask: Array.from(one, () => 1) })])),
    distribution: () => model.distribution(...spoilt(r, [[1, 2, 3], { ...sampling, ...some(r, { seen: [1] }) }])),
    logitLens: () => model.logitLens(...spoilt(r, [one, { ...two, top: 3 }])),
    attribution: () => model.attribution(...spoilt(r, [one, { ...two, ...some(r, { token: 2, position: 0 }) }])),
    explain: () => model.explain(...spoilt(r, [one, { ...two, at: r.of(['logits', 'blocks.0.attn.hook_pattern', 'blocks.1.hook_resid_post', 'decoder.0.cross_attn.hook_z']), index: 1, ...some(r, { position: 0, head: 1 }) }])),
    trace: () => model.trace(...spoilt(r, [one, two])),
    weight: () => model.weight(...spoilt(r, ['embed.weight', 2])),
    decode: () => model.decode(...spoilt(r, [[1, 2]])),
    encode: () => model.encode(...spoilt(r, ['text', {}])),
    chat: () => drain(model.chat(...spoilt(r, [[{ role: 'user', content: 'hello' }], { maxTokens: 2 }]))),
    async session() {
      const session = await model.session(...spoilt(r, [{ ...two, ...see }]));
      try {
        for (let n = 1 + r.below(5); n > 0; n--) {
          await tried(() => r.of([() => session.eval(...spoilt(r, [one, {}])), () => session.rewind(...spoilt(r, [1])), async () => (await session.fork()).close()])());
        }
      } finally {
        await session.close();
      }
    },
  };
}

/** Calls that need no model. @param {Random} r */
const others = (r) => ({
  count: async () => countParameters(...spoilt(r, [r.of([...KINDS, 'gpt2', { model_type: 'llama', hidden_size: 8, num_hidden_layers: 1, num_attention_heads: 2, vocab_size: 9, intermediate_size: 8 }])])),
  estimate: async () => estimate(...spoilt(r, ['gpt2', { contextLength: 8, batch: 2, dtype: 'q8_0', kvDtype: 'f16' }])),
  create: async () => (await create(...spoilt(r, [{ ...r.of(KINDS) }, some(r, { seed: 1, quantize: 'q8_0', contextLength: 8, threads: 1, backend: 'simd', kvCache: 'q8', worker: false })]))).dispose(),
  load: async () => (await load(...spoilt(r, [{ weights: new Uint8Array(40), config: {}, tokenizer: {} }, some(r, { quantize: 'f32', sha256: 'a'.repeat(64), switches: { causal: false }, cache: 'none' })]))).dispose(),
  async tokenizer() {
    const t = await Tokenizer.load(...spoilt(r, [r.of(tokenizers)]));
    await tried(async () => t.encode(...spoilt(r, ['the abc', { addSpecialTokens: false }])));
    await tried(async () => t.decode(...spoilt(r, [[1, 2, 3], { skipSpecialTokens: true }])));
  },
  async train() {
    const run = train(...spoilt(r, [{ d_model: 8, n_layers: 1, n_heads: 2, context_length: 16 }, 'the cat sat on the mat. the dog sat on the log. ',
      some(r, { steps: 2, batchTokens: 32, vocabSize: 257, seed: 3, lr: 0.01, muon: false, muonLr: 0.1, dropout: 0.1, warmup: 0.1, finalRate: 0.1, weightDecay: 0.1, clip: 1, validation: 0.2, validateEvery: 1, checkpoint: null, tokenizer: null })]));
    try {
      for (let n = 0; n < 3 && !(await run.next()).done; n++) { /* only to see it run */ }
      await tried(() => run.files(...spoilt(r, [{ dtype: 'f16' }])));
    } finally {
      await run.dispose();
    }
  },
  depth: () => depth(...spoilt(r, [{ d_model: 8, n_layers: 2, n_heads: 2, context_length: 16 }, { seed: 1, tokens: 16 }])),
});

// ---- running it

/** A path is named in full, however long. */
const LONG = 'x'.repeat(1000);

/** @param {AsyncGenerator<any, any, void>} steps */
async function drain(steps) { for await (const step of steps) if (!step) break; }

/** Throw what is no refusal. @param {() => Promise<any>} call */
async function tried(call) {
  try { await call(); } catch (e) {
    if (!(e instanceof GlassformerError) || !Object.hasOwn(CODES, e.code)) throw e;
    if (!e.message || e.message.length > 2000 && !e.message.includes(LONG)) throw new Error(`a refusal of ${e.message.length} characters: ${e.message.slice(0, 200)}`);
    if (e.code === 'crashed') throw e;
  }
}

/** @param {number} seed @param {number} n */
async function runCase(seed, n) {
  const r = new Random(seed, n);
  if (!r.below(6)) {
    const free = others(r), name = r.of(Object.keys(free).filter((k) => !/train|depth/.test(k) || !r.below(10)));
    return tried(free[/** @type {keyof typeof free} */ (name)]);
  }
  const config = r.of(KINDS), model = await create(config, { seed: 1 });
  const writes = async () => {
    const { logits, hidden } = await model.forward([1, 2, 3], config.kind === 'encoder_decoder' ? { source: [1, 2] } : {});
    return Buffer.from((logits ?? hidden).data.buffer).toString('hex');
  };
  try {
    const before = await writes();
    for (let calls = 1 + r.below(4); calls > 0; calls--) {
      const all = callsOf(r, model, config), name = r.of(Object.keys(all));
      try { await tried(all[/** @type {keyof typeof all} */ (name)]); } catch (e) { throw new Error(`${name}: ${e instanceof Error ? e.stack : e}`); }
    }
    if (await writes() !== before) throw new Error('the model writes something else than before');
    const { bytes } = /** @type {any} */ (model.memory.regions.find((region) => region.name === 'kv cache'));
    if (bytes) throw new Error(`${bytes} bytes of sessions are left`);
  } finally {
    model.dispose();
  }
}

/**
 * Cases one after the other until the first finding, or until the time or the cases are up.
 * @param {{seed?: number, first?: number, cases?: number, seconds?: number}} options
 * @returns {Promise<{cases: number, why?: string}>} why: a finding, in case number `cases`
 */
export async function fuzzCalls({ seed = 1, first = 0, cases = Infinity, seconds = Infinity }) {
  const end = performance.now() + 1000 * seconds;
  let n = first;
  for (; n < first + cases && performance.now() < end; n++) {
    let watch;
    const late = new Promise((_, reject) => { watch = setTimeout(() => reject(new Error(`no end after ${HANG_MS / 1000} s`)), HANG_MS); });
    try {
      await Promise.race([runCase(seed, n), late]);
    } catch (e) {
      return { cases: n, why: e instanceof Error ? e.stack : String(e) };
    } finally {
      clearTimeout(watch);
    }
  }
  return { cases: n - first };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { seconds: { type: 'string' }, cases: { type: 'string' }, seed: { type: 'string' }, case: { type: 'string' } } });
  const seed = Number(values.seed ?? 1), first = Number(values.case ?? 0);
  const cases = values.case === undefined ? Number(values.cases ?? (values.seconds ? Infinity : 2000)) : 1;
  const found = await fuzzCalls({ seed, first, cases, seconds: Number(values.seconds ?? Infinity) });
  if (found.why) {
    console.log(`FAIL calls: seed ${seed}, case ${found.cases}: ${found.why}\n  again: node tests/fuzz/calls.js --seed ${seed} --case ${found.cases}`);
    process.exitCode = 1;
  } else {
    console.log(`ok   calls (${found.cases} cases)`);
  }
}
