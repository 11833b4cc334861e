// start_worker.js - starts the package's workers: from their file, from another origin, or from the embedded copy
import { GlassformerError, fail, messageOf, show } from '../base/errors.js';
import { spawn, spawnText } from '../base/spawn.js';

/** @typedef {'worker'|'train_worker'} WorkerFile */
/** @typedef {import('./message_port.js').SecondScript} SecondScript */
/**
 * Where the workers of the package are: the addresses of their scripts (null: none), and copies as text (null: none).
 * @typedef {{addressOf: (file: WorkerFile | SecondScript) => string | null,
 *   embeddedWorker: (file: WorkerFile) => Promise<string | null>}} WorkerFiles
 */
/**
 * The option `worker`, checked: the absolute address of the worker's file, or a function that starts the worker.
 * @typedef {boolean | string | (() => Worker | Promise<Worker>)} WorkerOption
 */

const SILENT =
  'the worker you passed did not answer: it has to load glassformer/worker; look for its errors in the console';

const NAMES = { worker: 'glassformer', train_worker: 'glassformer training' };

/**
 * A worker that has answered, and the address of its file (null: unknown).
 * @typedef {{worker: Worker, address: string | null}} Started
 */

/**
 * Start a worker and wait for its answer.
 * @param {WorkerFiles} files
 * @param {WorkerFile} file
 * @param {WorkerOption} [option]  the caller's; default: the package's own file
 * @param {AbortSignal} [signal]
 * @returns {Promise<Started>}
 */
export async function startWorker(files, file, option = true, signal) {
  const scripts = file === 'worker' ? secondScripts(files) : undefined;
  if (typeof option === 'function') {
    const worker = await Promise.resolve()
      .then(option)
      .catch((error) => fail('worker', `the function given as worker failed: ${messageOf(error)}`, error));
    return { worker: await firstAnswer(worker, signal, scripts, false), address: null };
  }
  const own = typeof option === 'boolean';
  const address = own ? files.addressOf(file) : option;
  /** @type {unknown} */
  let cause;
  if (address !== null) {
    try {
      // A copy has its further scripts beside it; a thread of Node does not know where it is, and takes the package's.
      const beside = own || typeof Worker === 'undefined' ? scripts : undefined;
      return { worker: await firstAnswer(spawn(address, NAMES[file], own), signal, beside, own), address };
    } catch (error) {
      signal?.throwIfAborted();
      cause = error;
    }
  }
  const text = own ? await files.embeddedWorker(file) : null;
  if (text !== null) {
    try {
      return { worker: await firstAnswer(spawnText(text, NAMES[file]), signal), address: null };
    } catch (error) {
      signal?.throwIfAborted();
      cause ??= error;
    }
  }
  return failToStart(file, address, cause);
}

/**
 * The addresses of the scripts that the worker loads on demand.
 * @param {WorkerFiles} files
 */
const secondScripts = ({ addressOf }) => ({
  worker_more: addressOf('worker_more') ?? undefined,
  worker_files: addressOf('worker_files') ?? undefined,
});

/**
 * Wait until a worker has run its script and answers. Its first message is a reply to `{ hello }`.
 * @param {Worker} worker
 * @param {AbortSignal} [signal]
 * @param {ReturnType<typeof secondScripts>} [scripts]  default: beside the worker's own file
 * @param {boolean} [own]  whether it runs the package's file, which either answers or gives an error
 * @returns {Promise<Worker>}
 */
function firstAnswer(worker, signal, scripts, own = true) {
  if (typeof worker?.postMessage !== 'function' || typeof worker.addEventListener !== 'function') {
    fail('bad-option', `the function given as worker returned ${show(worker)}, expected a Worker`);
  }
  return new Promise((resolve, reject) => {
    let settled = false;
    /** @type {ReturnType<typeof setInterval> | undefined} */
    let timer;
    const settle = (/** @type {() => void} */ how) => {
      if (settled) return;
      settled = true;
      clearInterval(timer);
      signal?.removeEventListener('abort', abort);
      worker.removeEventListener('message', message);
      how();
    };
    const stop = (/** @type {unknown} */ error) =>
      settle(() => {
        worker.terminate();
        reject(error);
      });
    const abort = () => stop(signal?.reason);
    const message = (/** @type {MessageEvent} */ { data }) => {
      if (data?.ready) settle(() => resolve(worker));
    };
    worker.addEventListener('message', message);
    for (const name of ['error', 'messageerror', 'exit']) {
      worker.addEventListener(name, (/** @type {any} */ event) => {
        if (settled) return;
        event.preventDefault?.();
        stop(
          new GlassformerError('worker', event.message || 'it gave no reason', {
            cause: event.error ?? (event instanceof Error ? event : undefined),
          }),
        );
      });
    }
    // It is also sent after an abort: a thread of Node must not be ended before it has answered (base/spawn.js).
    const sendHello = () => worker.postMessage({ hello: true, scripts });
    sendHello();
    // A caller's worker loses what comes before its dynamic import of the package, and no event tells that it closed.
    let left = 20;
    const again = () => (left-- ? sendHello() : stop(new GlassformerError('worker', SILENT)));
    if (!own) timer = setInterval(again, 250);
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
  });
}

/**
 * Throws the error for a worker that did not start, with the reason and what to change.
 * @param {WorkerFile} file
 * @param {string | null} address
 * @param {unknown} cause
 * @returns {Promise<never>}
 */
async function failToStart(file, address, cause) {
  if (!(cause instanceof Error) || (cause instanceof GlassformerError && cause.code !== 'worker')) throw cause;
  if (cause.message === SILENT) throw cause;
  const why = address === null ? 'its URL cannot be determined here' : ((await diagnosis(address)) ?? cause.message);
  fail(
    'worker',
    `the worker${address === null ? '' : ` of ${address}`} could not be started: ${why}. ` +
      `Serve the package's dist/${file}.js at that address, or pass { worker: () => new Worker(...) }` +
      (file === 'worker' ? ', or { worker: false }' : ''),
    cause,
  );
}

/**
 * The likely cause, found by requesting the file: browsers give no reason when a worker does not load.
 * @param {string} address
 * @returns {Promise<string | null>}
 */
async function diagnosis(address) {
  if (!/^https?:/.test(address)) return null;
  try {
    const response = await fetch(address);
    response.body?.cancel().catch(() => {});
    if (!response.ok) return `the server answers with status ${response.status}`;
    const type = response.headers.get('content-type') ?? 'no type';
    if (!/javascript|ecmascript/.test(type)) return `the server answers with ${type} instead of JavaScript`;
    return (
      'the file is there, so a policy of the page forbids it ' +
      '(Content-Security-Policy: worker-src must allow its address, and blob: for another origin; ' +
      'Cross-Origin-Embedder-Policy: the file needs this header)'
    );
  } catch {
    return 'the request for it failed (offline, connect-src of the Content-Security-Policy, or CORS)';
  }
}
