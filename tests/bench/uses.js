// uses.js - what people do besides writing one text: processor time of one thread in this process, and ratios within
// the run, which change less from machine to machine
//
//   node tests/bench/uses.js [--against DIR] [--rounds 3] [--onnxruntime] [ROW...]
//
//   ROW            lens attribution sweep batch sentences schema; default: all
//   --against DIR  also the package of another checkout, built there (README.md), in turn with this one
//   --onnxruntime  the row of sentences also with onnxruntime-web, which is downloaded for this
//
// Models have random weights. A figure is the median over the rounds of the least of several runs: other work on the
// machine only adds to a run.
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ONNXRUNTIME, fetchPackage } from './fetch.js';
import { encoderFile } from './onnx_encoder.js';
import { median } from './tables.js';

const RUNS = 5;
const SMOLLM2 = { vocab_size: 49152, d_model: 576, n_layers: 30, n_heads: 9, n_kv_heads: 3, d_ff: 1536 };
const GPT2 = {
  ...{ vocab_size: 50257, d_model: 768, n_layers: 12, n_heads: 12, context_length: 1024, norm: 'layernorm' },
  ...{ ffn: 'gelu_tanh', position: 'learned', bias_qkv: true, bias_attn_out: true, bias_ffn: true },
};
const MINILM = {
  ...{ kind: 'encoder', vocab_size: 30522, d_model: 384, n_layers: 6, n_heads: 12, d_ff: 1536, context_length: 512 },
  ...{ causal: false, norm: 'layernorm', norm_placement: 'post', final_norm: false, embed_norm: true },
  ...{ ffn: 'gelu_erf', position: 'learned', n_token_types: 2, bias_qkv: true, bias_attn_out: true, bias_ffn: true },
};
const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer' },
    friends: { type: 'array', items: { type: 'string' } },
  },
  required: ['name', 'age', 'friends'],
};

/** Milliseconds of processor time of a call, the least of several. @param {() => Promise<unknown>} call */
async function timed(call, runs = RUNS) {
  let least = Infinity;
  for (let i = 0; i <= runs; i++) {
    const from = process.cpuUsage();
    await call();
    const { user, system } = process.cpuUsage(from);
    if (i) least = Math.min(least, (user + system) / 1000); // the first run warms up
  }
  return least;
}
/** @param {number} n @param {number} [seed] token ids below 30,000 */
const ids = (n, seed = 0) => Array.from({ length: n }, (_, i) => (i * 977 + seed * 131) % 30000);
/** The number of tokens of a generation. @param {AsyncIterable<unknown>} steps */
async function drain(steps) {
  let n = 0;
  for await (const _ of steps) n++;
  return n;
}

/** @typedef {typeof import('../../web/lib/api/index.js')} Library */
/** What a row measured: milliseconds by default, `times` where the name says so. @typedef {Record<string, number>} Figures */

/**
 * onnxruntime-web on one thread, with the weights of an encoder: all inputs in one run.
 * @param {import('../../web/lib/api/model.js').Model} model @param {'f32' | 'int8'} type @param {number[][]} inputs
 */
async function onnxruntime(model, type, inputs) {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'glassformer/bench');
  const dist = join(fetchPackage(cache, 'onnxruntime-web', ONNXRUNTIME), 'dist');
  const { InferenceSession, Tensor, env } = await import(pathToFileURL(join(dist, 'ort.wasm.min.mjs')).href);
  env.wasm.numThreads = 1;
  env.wasm.wasmPaths = pathToFileURL(`${dist}/`).href;
  const session = await InferenceSession.create(await encoderFile(model, type), { executionProviders: ['wasm'] });
  const [rows, n] = [inputs.length, inputs[0].length];
  const ids = new Tensor('int64', BigInt64Array.from(inputs.flat(), BigInt), [rows, n]);
  const run = async () => (await session.run({ input_ids: ids })).hidden.data;
  return { run, end: () => session.release() };
}

/** @type {Record<string, (library: Library) => Promise<Figures>>} */
const rows = {
  async lens({ create }) {
    const model = await create({ ...SMOLLM2, tie_word_embeddings: true }, { seed: 1, dtype: 'q8_0', worker: false });
    const plain = await timed(() => model.forward(ids(35))),
      lens = await timed(() => model.logitLens(ids(35)));
    model.dispose();
    return { 'logit lens of 35 tokens, 135M Q8_0': lens, 'the same, times a forward pass': lens / plain };
  },
  async attribution({ create }) {
    const model = await create(GPT2, { seed: 1, dtype: 'q8_0', worker: false });
    const parts = await timed(() => model.attribution(ids(35)));
    model.dispose();
    return { 'attribution over 35 tokens, GPT-2 Q8_0': parts };
  },
  async sweep({ create }) {
    const model = await create(GPT2, { seed: 1, dtype: 'f32', worker: false });
    if (!model.sweep) return (model.dispose(), {});
    const sets = Array.from({ length: 12 }, (_, l) => [{ at: `blocks.${l}.attn.hook_z`, head: 5, scale: 0 }]);
    const loop = async () => {
      for (const edits of sets) await model.forward(ids(35), { edits });
    };
    const passes = await timed(loop, 2),
      clean = await timed(() => model.sweep(ids(35), [], { metric: { token: 1 } })),
      swept = await timed(() => model.sweep(ids(35), sets, { metric: { token: 1 } }), 2);
    model.dispose();
    return { 'sweep of 12 sets of edits, GPT-2 f32': swept, 'pass by pass, times a sweep': passes / (swept - clean) };
  },
  async batch({ create }) {
    const model = await create({ ...SMOLLM2, tie_word_embeddings: true }, { seed: 1, dtype: 'q8_0', worker: false });
    const step = async (/** @type {number} */ n) => {
      const prompts = n === 1 ? ids(8) : Array.from({ length: n }, (_, i) => ids(8, i));
      const run = (/** @type {number} */ maxTokens) => () =>
        drain(model.generate(prompts, { maxTokens, temperature: 0, ignoreEos: true }));
      return ((await timed(run(33))) - (await timed(run(1)))) / 32;
    };
    const [one, two, eight] = [await step(1), await step(2), await step(8)];
    model.dispose();
    return {
      'a step of one sequence, 135M Q8_0': one,
      'of two, times that': two / one,
      'of eight, times that': eight / one,
    };
  },
  async sentences({ create }) {
    const [d, f, n] = [MINILM.d_model, MINILM.d_ff, 24];
    const inputs = Array.from({ length: 100 }, (_, i) => ids(n, i));
    const operations = 2 * 100 * n * MINILM.n_layers * (4 * d * d + 2 * d * f + 2 * n * d);
    /** @type {Figures} */
    const figures = {};
    for (const dtype of /** @type {const} */ (['f32', 'q8_0'])) {
      const model = await create(MINILM, { seed: 1, dtype, worker: false });
      const ours = await timed(() => model.embed(inputs));
      figures[`100 sentences of ${n} tokens, MiniLM's shape, ${dtype}`] = ours;
      if (dtype === 'f32') figures['the same, G operations/s'] = operations / ours / 1e6;
      model.dispose();
      if (!given.onnxruntime || !model.matrix) continue; // an earlier package gives no matrices
      const source = await create(MINILM, { seed: 1, dtype: 'f32', worker: false });
      const other = await onnxruntime(source, dtype === 'f32' ? 'f32' : 'int8', inputs);
      const hidden = await other.run();
      const { data } = await source.embed(inputs[99]);
      const mean = data.map((_, i) => {
        let sum = 0;
        for (let t = 0; t < n; t++) sum += hidden[((99 * n + t) * d + i) | 0] / n;
        return sum;
      });
      const apart = Math.max(...mean.map((x, i) => Math.abs(x - data[i]))) / Math.max(...data.map(Math.abs));
      if (apart > (dtype === 'f32' ? 1e-4 : 0.1)) throw new Error(`onnxruntime-web: ${dtype} differs by ${apart}`);
      figures[`onnxruntime-web, times that, ${dtype}`] = (await timed(other.run)) / ours;
      await other.end();
      source.dispose();
    }
    return figures;
  },
  async schema({ load }) {
    const file = fileURLToPath(new URL('../../weights/stories-1m.gguf', import.meta.url));
    const model = await load(file, { worker: false });
    const options = { maxTokens: 60, seed: 1, ignoreEos: true };
    const from = process.cpuUsage();
    await drain(model.generate('Once', { ...options, maxTokens: 1, json: SCHEMA }));
    const { user, system } = process.cpuUsage(from);
    let n = 0;
    const json = async () => {
      n = await drain(model.generate('Once', { ...options, json: SCHEMA }));
    };
    const bound = (await timed(json, 20)) / n;
    const free = (await timed(() => drain(model.generate('Once', { ...options, maxTokens: n })), 20)) / n;
    model.dispose();
    return {
      'first token of JSON under a schema, stories-1m': (user + system) / 1000,
      'a later token, times a free one': bound / free,
    };
  },
};

const { values: given, positionals: named } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    onnxruntime: { type: 'boolean', default: false },
  },
});
const unknown = named.find((name) => !Object.hasOwn(rows, name));
if (unknown) throw new Error(`There is no row ${unknown}; the rows are ${Object.keys(rows).join(', ')}.`);
const library = (/** @type {string} */ folder) =>
  import(pathToFileURL(join(resolve(folder), 'web/lib/api/index.js')).href);
const here = fileURLToPath(new URL('../..', import.meta.url));
/** @type {[string, Library][]} */
const checkouts = [['now', await library(here)]];
if (given.against) checkouts.unshift(['before', await library(given.against)]);
for (const name of named.length ? named : Object.keys(rows)) {
  /** @type {Map<string, Record<string, number[]>>} */
  const found = new Map();
  for (let round = 0; round < Number(given.rounds); round++)
    for (const [checkout, its] of checkouts)
      for (const [figure, x] of Object.entries(await rows[name](its))) {
        const row = found.get(figure) ?? found.set(figure, {}).get(figure);
        (row[checkout] ??= []).push(x);
      }
  for (const [figure, by] of found)
    console.log(
      `${figure}: ${checkouts.map(([checkout]) => `${median(by[checkout] ?? [NaN]).toPrecision(3)} (${checkout})`).join(', ')}`,
    );
}
