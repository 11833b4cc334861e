// programme.js - calls of the library that run in every browser engine, and in Node for the expected results. The
// functions run in pages: they take the package and JSON, and return JSON.

/** The models of weights/, as addresses below it. */
export const MODELS = ['stories-1m.gguf', 'stories.gguf', 'stories-gpt2.gguf', 'dates/'];

const PROMPT = 'Once upon a time, there was a little',
  SOURCE = 'the 24th of December, 1999';

/** What a model is given: the encoder-decoder reads a source and begins with its own token. */
const given = (/** @type {any} */ model) =>
  model.config.kind === 'encoder_decoder'
    ? { prompt: [model.special.bos], source: { source: SOURCE } }
    : { prompt: PROMPT, source: {} };

/**
 * FNV-1a hash of the bits of numbers.
 * @param {ArrayLike<number>} numbers
 */
function hash(numbers) {
  let sum = 0x811c9dc5;
  for (const word of new Uint32Array(Float32Array.from(numbers).buffer)) sum = Math.imul(sum ^ word, 0x01000193) >>> 0;
  return sum;
}

/** @param {Record<string, {data: Float32Array, shape: number[]}>} tensors */
const hashes = (tensors) =>
  Object.fromEntries(Object.entries(tensors).map(([name, { data, shape }]) => [name, [hash(data), ...shape]]));

/** Greedy and drawn tokens with their probabilities. */
async function texts(/** @type {any} */ model) {
  const { prompt, source } = given(model),
    said = {};
  for (const [name, how] of Object.entries({
    greedy: { temperature: 0 },
    drawn: { seed: 11, temperature: 0.9, topK: 40, topP: 0.95 },
  })) {
    const ids = [],
      logprobs = [];
    for await (const { id, logprob } of model.generate(prompt, { ...source, ...how, maxTokens: 40, ignoreEos: true })) {
      ids.push(id);
      logprobs.push(logprob);
    }
    said[name] = { ids, logprobs: hash(logprobs), text: await model.decode(ids) };
  }
  return said;
}

/** Every captured point, what edits change, the lens, one logit's terms. */
async function insides(/** @type {any} */ model) {
  const { prompt, source } = given(model),
    two = model.config.kind === 'encoder_decoder';
  const block = two ? 'decoder.0' : 'blocks.0';
  const { logits, captured } = await model.forward(prompt, { ...source, capture: ['*'] });
  const edits = [
    { at: `${block}.attn.hook_z`, head: 1, scale: 0 },
    { at: `${block}.hook_mlp_out`, position: 0, add: new Array(model.config.dModel).fill(0.25) },
  ];
  const edited = await model.forward(prompt, { ...source, edits });
  const plain = await model.forward(prompt, source);
  const lens = await model.logitLens(prompt, { ...source, top: 3 });
  const { logit, sum, parts } = await model.attribution(prompt, source);
  return {
    logits: hash(logits.data),
    plain: hash(plain.logits.data),
    edited: hash(edited.logits.data),
    captured: hashes(captured),
    lens: lens.map((/** @type {any[][]} */ row) => row.map((top) => top.map(({ id, logprob }) => [id, logprob]))),
    attribution: [logit, sum, ...parts.map((/** @type {any} */ p) => p.value)],
    generated: await (async () => {
      const rows = [];
      for await (const { captured: c } of model.generate(prompt, {
        ...source,
        temperature: 0,
        maxTokens: 3,
        capture: ['*.attn.hook_pattern'],
        edits,
      }))
        rows.push(hashes(c));
      return rows;
    })(),
  };
}

/** Sessions: going back and splitting give what a fresh one gives. */
async function timelines(/** @type {any} */ model) {
  const { prompt, source } = given(model);
  const ids = typeof prompt === 'string' ? await model.encode(prompt) : [...prompt, 4, 5, 6];
  const one = await model.session(source),
    sums = [];
  sums.push(hash(await one.eval(ids)));
  await one.rewind(2);
  sums.push(hash(await one.eval(ids.slice(2))));
  const other = await one.fork();
  sums.push(hash(await one.eval([7])), hash(await other.eval([8])), one.length, other.length);
  await one.close();
  sums.push(hash(await other.eval([9])));
  await other.close();
  return sums;
}

/** Several prompts at once, and a beam search. */
async function batch(/** @type {any} */ model) {
  const { prompt, source } = given(model),
    two = model.config.kind === 'encoder_decoder';
  const prompts = two ? [prompt, prompt] : ['The cat', 'One day Tom', PROMPT];
  const how = { ...source, maxTokens: 12, ignoreEos: true };
  const end = async (/** @type {any} */ steps) => {
    for (;;) {
      const { done, value } = await steps.next();
      if (done) return value;
    }
  };
  const many = await end(model.generate(prompts, { ...how, seed: 3 }));
  const { logits } = await model.forward(two ? prompts : ['The cat', 'One day'], source);
  const beams = await end(model.generate(prompt, { ...how, beams: 3, maxTokens: 6 }));
  return { sequences: many.sequences, logits: [hash(logits.data), ...logits.shape], beams: beams.ids };
}

/** @type {Record<string, (model: any) => Promise<any>>} */
const asked = { texts, insides, timelines, batch };
export const QUESTIONS = Object.keys(asked);

/**
 * @param {any} library  the package
 * @param {string | URL} source
 * @param {Record<string, any>} options  of load
 * @param {string[]} questions
 * @returns {Promise<{backend: string, warnings: string[]} & Record<string, any>>}
 */
export async function ask(library, source, options, questions) {
  const model = await library.load(source, options);
  try {
    /** @type {any} */
    const answers = { backend: model.backend, warnings: model.warnings };
    for (const name of questions) answers[name] = await asked[name](model);
    return answers;
  } finally {
    model.dispose();
  }
}

/**
 * An adapter for a model: its losses, and the logits before, with it, and without it again.
 * @param {any} library
 * @param {any} model
 */
async function adapts(library, model) {
  const run = library.train(model, 'The cat sat on the mat.', { lora: { rank: 2 }, steps: 4, lr: 0.01 }),
    losses = [];
  for await (const { loss, norm } of run) losses.push(loss, norm);
  const [config, weights] = await run.files();
  const lora = await model.addAdapter({ config: config.bytes, weights: weights.bytes });
  const logits = async () => hash((await model.forward([1, 2, 3])).logits.data);
  const hashes = [await logits()];
  for (const adapter of [lora, null]) {
    await model.setAdapter(adapter);
    hashes.push(await logits());
  }
  await run.dispose();
  return { losses, logits: hashes, switched: hashes[0] === hashes[2] && hashes[0] !== hashes[1] };
}

/**
 * A few steps of training: the losses, the resulting model, an adapter for it, and the result of depth().
 * @param {any} library
 * @param {string} text
 * @param {number} [threads]
 */
export async function trains(library, text, threads) {
  const config = { d_model: 32, n_layers: 2, n_heads: 2, context_length: 32 },
    losses = [],
    ids = [];
  const run = library.train(config, text, {
    steps: 8,
    vocabSize: 280,
    batchTokens: 128,
    validation: 0.1,
    validateEvery: 4,
    threads,
  });
  for await (const { loss, norm, validation, tokensPerSecond } of run) {
    losses.push(loss, norm, validation?.nats ?? null);
    if (!(tokensPerSecond >= 0 && tokensPerSecond < 1e9)) throw new Error(`${tokensPerSecond} tokens per second`);
  }
  const model = await run.model();
  for await (const { id } of model.generate('Once', { maxTokens: 8, temperature: 0, ignoreEos: true })) ids.push(id);
  const [{ name, bytes }] = await run.files({ dtype: 'q8_0' });
  const checkpoint = await run.checkpoint();
  const adapter = await adapts(library, model);
  model.dispose();
  await run.dispose();
  return {
    losses,
    ids,
    adapter,
    file: [name, bytes.length],
    checkpoint: checkpoint.length,
    depth: await library.depth({ ...config, n_layers: 6 }),
  };
}

/**
 * Load a file twice through a cache.
 * @param {any} library
 * @param {string} url
 * @param {'cache-storage'|'opfs'} cache
 */
export async function keeps(library, url, cache) {
  // MiniBrowser runs in a private session, whose caches WebKit deletes when no one has them open; the library's worker
  // ends with its model
  const open = cache === 'cache-storage' ? await caches.open('glassformer-models-1') : null;
  const said = [];
  for (let i = 0; i < 2; i++) {
    /** @type {any[]} */
    const seen = [];
    const model = await library.load(url, { cache, onProgress: (/** @type {any} */ p) => seen.push(p) });
    const ids = [];
    for await (const { id } of model.generate('Once', { maxTokens: 4, temperature: 0, ignoreEos: true })) ids.push(id);
    model.dispose();
    said.push({ ids, fromCache: seen.filter((p) => p.phase === 'download').at(-1)?.fromCache });
  }
  if (open && !(await open.keys()).length) throw new Error('the cache is empty');
  return said;
}
