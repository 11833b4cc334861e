// uses.js - what people do besides writing one text: processor time of one thread in this process, and ratios within
// the run, which change less from machine to machine
//
//   node tests/bench/uses.js [ROW...]     rows: lens attribution sweep batch sentences schema; default: all
//
// Models have random weights. A figure is the least of several rounds: other work on the machine only adds to it.
import { fileURLToPath } from 'node:url';
import { create, load } from '../../web/lib/index.js';

const ROUNDS = 5;
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
async function timed(call, rounds = ROUNDS) {
  let least = Infinity;
  for (let i = 0; i <= rounds; i++) {
    const from = process.cpuUsage();
    await call();
    const { user, system } = process.cpuUsage(from);
    if (i) least = Math.min(least, (user + system) / 1000); // the first round warms up
  }
  return least;
}
/** @param {number} n @param {number} [seed] token ids below 30,000 */
const ids = (n, seed = 0) => Array.from({ length: n }, (_, i) => (i * 977 + seed * 131) % 30000);
/** @param {AsyncIterable<unknown>} steps */
async function drain(steps) {
  for await (const _ of steps);
}
const ms = (/** @type {number} */ x) => `${x.toFixed(x < 10 ? 1 : 0)} ms`;
const times = (/** @type {number} */ x) => `${x.toFixed(1)} times`;

/** @type {Record<string, () => Promise<string>>} */
const rows = {
  async lens() {
    const model = await create({ ...SMOLLM2, tie_word_embeddings: true }, { seed: 1, dtype: 'q8_0', worker: false });
    const plain = await timed(() => model.forward(ids(35))),
      lens = await timed(() => model.logitLens(ids(35)));
    model.dispose();
    return `logit lens of 35 tokens, 135M Q8_0: ${ms(lens)}, ${times(lens / plain)} a forward pass`;
  },
  async attribution() {
    const model = await create(GPT2, { seed: 1, dtype: 'q8_0', worker: false });
    const plain = await timed(() => model.forward(ids(35))),
      parts = await timed(() => model.attribution(ids(35)));
    model.dispose();
    return `attribution over 35 tokens, GPT-2 Q8_0: ${ms(parts)}, ${times(parts / plain)} a forward pass`;
  },
  async sweep() {
    const model = await create(GPT2, { seed: 1, dtype: 'f32', worker: false });
    const sets = Array.from({ length: 12 }, (_, l) => [{ at: `blocks.${l}.attn.hook_z`, head: 5, scale: 0 }]);
    const loop = async () => {
      for (const edits of sets) await model.forward(ids(35), { edits });
    };
    const passes = await timed(loop, 2),
      clean = await timed(() => model.sweep(ids(35), [], { metric: { token: 1 } })),
      swept = await timed(() => model.sweep(ids(35), sets, { metric: { token: 1 } }), 2);
    model.dispose();
    return `sweep of 12 sets of edits, GPT-2 f32: ${ms(swept)}; pass by pass ${times(passes / (swept - clean))} as long`;
  },
  async batch() {
    const model = await create({ ...SMOLLM2, tie_word_embeddings: true }, { seed: 1, dtype: 'q8_0', worker: false });
    const step = async (/** @type {number} */ n) => {
      const prompts = n === 1 ? ids(8) : Array.from({ length: n }, (_, i) => ids(8, i));
      const run = (/** @type {number} */ maxTokens) => () =>
        drain(model.generate(prompts, { maxTokens, temperature: 0, ignoreEos: true }));
      return ((await timed(run(33))) - (await timed(run(1)))) / 32;
    };
    const [one, two, eight] = [await step(1), await step(2), await step(8)];
    model.dispose();
    return `a step of one sequence, 135M Q8_0: ${ms(one)}; of two ${times(two / one)}, of eight ${times(eight / one)} that`;
  },
  async sentences() {
    const found = [];
    const [d, f, n] = [MINILM.d_model, MINILM.d_ff, 24];
    const operations = 2 * 100 * n * MINILM.n_layers * (4 * d * d + 2 * d * f + 2 * n * d);
    for (const dtype of /** @type {const} */ (['f32', 'q8_0'])) {
      const model = await create(MINILM, { seed: 1, dtype, worker: false });
      const time = await timed(() => model.embed(Array.from({ length: 100 }, (_, i) => ids(n, i))));
      found.push(`${dtype} ${ms(time)} (${(operations / time / 1e6).toFixed(0)} G operations/s)`);
      model.dispose();
    }
    return `embeddings of 100 sentences of ${n} tokens, MiniLM's shape: ${found.join(', ')}`;
  },
  async schema() {
    const file = fileURLToPath(new URL('../../weights/stories-1m.gguf', import.meta.url));
    const model = await load(file, { worker: false });
    const options = { maxTokens: 60, seed: 1, ignoreEos: true };
    const from = process.cpuUsage();
    await drain(model.generate('Once', { ...options, maxTokens: 1, json: SCHEMA }));
    const { user, system } = process.cpuUsage(from);
    let n = 0;
    const json = async () => {
      n = (await model.complete('Once', { ...options, json: SCHEMA })).ids.length;
    };
    const bound = (await timed(json, 20)) / n;
    const free = (await timed(() => drain(model.generate('Once', { ...options, maxTokens: n })), 20)) / n;
    model.dispose();
    return `JSON under a schema, stories-1m: first token ${ms((user + system) / 1000)}; then ${(bound / free).toFixed(2)} times a free token`;
  },
};

const named = process.argv.slice(2);
const unknown = named.find((name) => !Object.hasOwn(rows, name));
if (unknown) throw new Error(`There is no row ${unknown}; the rows are ${Object.keys(rows).join(', ')}.`);
for (const name of named.length ? named : Object.keys(rows)) console.log(await rows[name]());
