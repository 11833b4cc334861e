// engines.js - the measured engines behind the same three calls. They run in a page; this project's also in Node.
//
//   load(job)      loads the model
//   run(n, k)      runs a prompt of n tokens and generates k more: { prefillMs, decodeMs, decoded }. The prefill gives
//                  the first of the k tokens, so decoded is k - 1 passes
//   backend()      a description of what computes
import { promptIds } from './prompt.js';

/** This engine as a page uses it: `generate` drained on the main thread, the engine in its worker. */
export function glassformer({ load }) {
  let model;
  return {
    async load({ model: source, backend, threads, worker, dtype, kvDtype }) {
      const cache = kvDtype === 'default' ? {} : { kvDtype };
      model = await load(source, { backend, threads, worker, dtype, ...cache, contextLength: 1280 });
    },
    async run(n, k) {
      const start = performance.now();
      let first,
        count = 0;
      for await (const _ of model.generate(promptIds(n), { maxTokens: k, temperature: 0, ignoreEos: true })) {
        first ??= performance.now();
        count++;
      }
      return { prefillMs: first - start, decodeMs: performance.now() - first, decoded: count - 1 };
    },
    backend: () => model.backend,
    close: () => model.dispose(),
  };
}

const quiet = { debug() {}, log() {}, warn() {}, error: console.error };
const settings = ({ threads }) => ({ n_ctx: 1280, n_batch: 512, n_threads: threads });

/** wllama 2 by its token calls: a message to its worker and back for each, as its own completion does. */
export function wllama2({ Wllama }, library) {
  let wllama;
  return {
    async load(job) {
      const paths = { 'single-thread/wllama.wasm': `${library}single-thread/wllama.wasm` };
      if (job.threads > 1) paths['multi-thread/wllama.wasm'] = `${library}multi-thread/wllama.wasm`;
      wllama = new Wllama(paths, { logger: quiet, suppressNativeLog: true });
      await wllama.loadModel([await (await fetch(job.model)).blob()], settings(job));
      await wllama.samplingInit({ temp: 0 });
    },
    async run(n, k) {
      await wllama.kvClear();
      const start = performance.now();
      await wllama.decode(promptIds(n), {});
      let { token } = await wllama.samplingSample();
      const first = performance.now();
      for (let i = 1; i < k; i++) {
        await wllama.decode([token], {});
        ({ token } = await wllama.samplingSample());
      }
      return { prefillMs: first - start, decodeMs: performance.now() - first, decoded: k - 1 };
    },
    backend: () => `${wllama.getNumThreads()} thread${wllama.isMultithread() ? 's' : ''}`,
    close: () => wllama.exit(),
  };
}

/** wllama 3 has no calls for tokens: a streamed completion of a text that is n tokens long. */
export function wllama3({ Wllama }, library) {
  let wllama;
  return {
    async load(job) {
      wllama = new Wllama({ default: `${library}wasm/wllama.wasm` }, { logger: quiet, suppressNativeLog: true });
      await wllama.loadModel([await (await fetch(job.model)).blob()], {
        ...settings(job),
        n_gpu_layers: 0,
        warmup: false,
        n_parallel: 1,
      });
    },
    async run(n, k) {
      const prompt = Array(n - 1)
        .fill('e')
        .join(' ');
      const start = performance.now();
      const stream = await wllama.createCompletion({
        prompt,
        max_tokens: k,
        temperature: 0,
        stream: true,
        cache_prompt: false,
        ignore_eos: true,
      });
      const times = [];
      for await (const chunk of stream)
        if (chunk.choices?.[0]?.text !== undefined || chunk.choices?.[0]?.delta) times.push(performance.now());
      const decoded = Math.min(k, times.length) - 1;
      return { prefillMs: times[0] - start, decodeMs: times[decoded] - times[0], decoded };
    },
    backend: () => `${wllama.getNumThreads()} thread${wllama.isMultithread() ? 's' : ''}`,
    close: () => wllama.exit(),
  };
}

/**
 * onnxruntime-web on the page's own thread, as Transformers.js uses it: the cache of keys and values leaves a run as
 * output and enters the next one as input.
 */
export function onnxruntime({ InferenceSession, Tensor, env }, library) {
  let session, threads;
  const caches = () => session.inputMetadata.filter(({ name }) => name.startsWith('past.'));
  const emptyCache = () =>
    Object.fromEntries(
      caches().map(({ name, shape: [, heads, , width] }) => [
        name,
        new Tensor('float32', new Float32Array(0), [1, heads, 0, width]),
      ]),
    );
  /** One pass over `ids` after the positions that `past` holds: the most likely next token, and the new cache. */
  async function pass(ids, past, nPast) {
    const total = nPast + ids.length;
    const outputs = await session.run({
      ...past,
      input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
      seqlens_k: new Tensor('int32', Int32Array.of(total - 1), [1]),
      total_sequence_length: new Tensor('int32', Int32Array.of(total), [1]),
    });
    const logits = outputs.logits.data;
    let token = 0;
    for (let i = 1; i < logits.length; i++) if (logits[i] > logits[token]) token = i;
    const present = Object.fromEntries(caches().map(({ name }) => [name, outputs[name.replace('past', 'present')]]));
    return { token, present };
  }
  return {
    async load(job) {
      threads = job.threads;
      env.wasm.wasmPaths = library;
      env.wasm.numThreads = threads;
      session = await InferenceSession.create(job.model, { executionProviders: ['wasm'] });
    },
    async run(n, k) {
      const start = performance.now();
      let { token, present } = await pass(promptIds(n), emptyCache(), 0);
      const first = performance.now();
      for (let i = 1; i < k; i++) ({ token, present } = await pass([token], present, n + i - 1));
      return { prefillMs: first - start, decodeMs: performance.now() - first, decoded: k - 1 };
    },
    backend: () => `${threads} thread${threads > 1 ? 's' : ''}`,
    close: () => session.release(),
  };
}
