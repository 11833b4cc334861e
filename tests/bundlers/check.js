// check.js - the calls whose results are compared: each fixture runs them with the package, and the suite runs them
// with this tree's library for the expected values. The same file is copied into every project. It has no imports and
// nothing newer than ES2022, so that all bundlers accept it.
const PROMPT = 'Once upon a time',
  TEXT = 'The cat sat on the mat. The dog sat on the log.';
const GREEDY = { maxTokens: 40, temperature: 0, ignoreEos: true };
const SEEDED = { maxTokens: 40, temperature: 0.9, topK: 40, topP: 0.95, seed: 7, ignoreEos: true };

/**
 * FNV-1a over the bits of 32-bit floats.
 * @param {Float32Array} numbers
 */
function hash(numbers) {
  let sum = 0x811c9dc5;
  for (const word of new Uint32Array(Float32Array.from(numbers).buffer)) sum = Math.imul(sum ^ word, 0x01000193) >>> 0;
  return sum;
}

/**
 * Record where workers and binaries come from: 'file', 'shim' (a Blob that imports a file of another origin) or 'copy'
 * (embedded in the package).
 */
function watch() {
  const seen = { workers: [], copies: 0 },
    blobs = new Map();
  const makeAddress = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    const address = makeAddress.call(URL, blob);
    blobs.set(address, blob.size);
    return address;
  };
  const kind = (address, options) => {
    if (options?.eval) return 'copy';
    const size = blobs.get(String(address));
    return size === undefined ? 'file' : size < 1000 ? 'shim' : 'copy';
  };
  const watched = (Original) =>
    class extends Original {
      constructor(address, options) {
        super(address, options);
        seen.workers.push(kind(address, options));
      }
    };
  if (typeof Worker !== 'undefined') globalThis.Worker = watched(Worker);
  const threads = globalThis.process?.getBuiltinModule?.('node:worker_threads');
  if (threads) threads.Worker = watched(threads.Worker);
  if (typeof DecompressionStream !== 'undefined') {
    // only embedded binaries are compressed
    const Original = DecompressionStream;
    globalThis.DecompressionStream = class extends Original {
      constructor(format) {
        super(format);
        seen.copies++;
      }
    };
  }
  return seen;
}

async function idsOf(model, options) {
  const ids = [];
  for await (const { id } of model.generate(PROMPT, options)) ids.push(id);
  return ids;
}

/**
 * Compute tokens, a capture and training losses.
 * @param {{load: Function, train: Function}} library
 * @param {string} address  of the model
 * @param {{load?: object, train?: object}} [options]  given to load and train
 */
export async function check({ load, train }, address, options = {}) {
  const seen = watch();
  const model = await load(address, { worker: true, ...options.load });
  const greedy = await idsOf(model, GREEDY),
    seeded = await idsOf(model, SEEDED);
  const { logits, captured } = await model.forward('The cat sat', { capture: ['*.attn.hook_pattern'] });
  const { backend } = model,
    [worker] = seen.workers.splice(0).slice(-1);
  model.dispose();
  const capture = [
    hash(logits.data),
    ...Object.entries(captured).flatMap(([name, { data, shape }]) => [name, ...shape, hash(data)]),
  ];
  const losses = [],
    run = train({ d_model: 16, n_layers: 1, n_heads: 2 }, TEXT, { steps: 3, ...options.train });
  for await (const { loss } of run) losses.push(loss);
  await run.dispose();
  const workers = [worker, ...seen.workers.slice(-1)]; // the last of several attempts
  const here = await load(address, { worker: false }); // loads the chunks that otherwise only workers load
  const inCaller = await idsOf(here, GREEDY);
  here.dispose();
  return {
    answers: { greedy, seeded, capture, losses, inCaller },
    from: { workers, binaries: seen.copies > 0 ? 'copy' : 'file' },
    backend,
  };
}

/**
 * The same values with several threads.
 * @param {{load: Function}} library
 * @param {string} address
 * @param {object} [options] of load
 */
export async function checkThreads({ load }, address, options = {}) {
  const model = await load(address, { worker: true, threads: 2, ...options });
  const greedy = await idsOf(model, GREEDY),
    { backend } = model;
  model.dispose();
  return { greedy, backend };
}

/**
 * For pages: the page's address has the address of the model and what to run; the result is written into <output>.
 */
export async function checkPage(library, options = {}) {
  const asked = new URLSearchParams(location.search),
    out = document.querySelector('output');
  let result;
  try {
    result = asked.has('threads')
      ? await checkThreads(library, asked.get('model'), options.load)
      : await check(library, asked.get('model'), options);
  } catch (error) {
    result = { error: `${error.code ?? ''} ${error.stack ?? error} ${error.cause ? `(${error.cause})` : ''}` };
  }
  out.textContent = JSON.stringify(result);
}
