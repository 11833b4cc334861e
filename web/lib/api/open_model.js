// open_model.js - opens a model for load and create: starts its worker and its binary, and has it read the checkpoint
import { fail } from '../base/errors.js';
import { untilAborted } from '../base/event_loop.js';
import { engineModule } from '../engine/binary.js';
import { whyNoThreads } from '../engine/wasm_features.js';
import { prefetch, prefetchable } from '../worker/requests_for_worker.js';
import { LocalModel, WorkerModel } from '../worker/model_caller.js';
import { startWorker } from '../worker/start_worker.js';
import { abortableProgress } from './input/load_options.js';
import { Model } from './model.js';
import { packageFiles } from './package_files.js';

const isNode = !!globalThis.process?.versions?.node;
const CALLER = "one thread computes in the caller's thread, several need { worker: true }";
/** Service workers and some servers have none. */
const hasWorkers = typeof Worker !== 'undefined';

/**
 * Opens a model. After a failure nothing of it is left.
 * @param {'load'|'create'} method
 * @param {any} what  the source or the configuration, checked
 * @param {Record<string, any>} options  checked
 * @returns {Promise<Model>}
 */
export async function openModel(method, what, { worker: chosen, signal: given, onProgress: told, ...options }) {
  const worker = chosen ?? (isNode ? options.threads > 1 : hasWorkers);
  if (worker && typeof worker !== 'function' && !hasWorkers && !isNode)
    fail('unsupported', 'there are no workers here: use { worker: false }');
  given?.throwIfAborted();
  const { signal, onProgress, end } = abortableProgress(told, given);
  const url = worker && !isNode && method === 'load' ? prefetchable(what, options) : undefined;
  /** @type {string[]} */
  const warnings = worker || !(options.threads > 1) ? [] : [`threads: ${options.threads} has no effect: ${CALLER}`];
  const engine = startEngine(options, !!worker, warnings, signal);
  const starting = startRemote(worker, signal);
  const prefetched = url === undefined ? undefined : prefetch(url, signal); // while the worker starts
  /** @type {import('../worker/model_caller.js').Remote | undefined} */
  let remote;
  try {
    const { helper, ...started } = await starting;
    ({ remote } = started);
    const { fetch, wasm, backend, names, ...rest } = options;
    const info = await remote.call(method, [what, { ...rest, ...(await posted(what, options, signal)) }], {
      signal,
      onProgress,
      fetch,
      rename: await renameOf(names),
      engine,
      helper,
      prefetched: prefetched && { url: prefetched.url, port: prefetched.port },
    });
    signal?.throwIfAborted();
    info.warnings.unshift(...warnings);
    return new Model(remote, info);
  } catch (error) {
    remote?.close();
    const { code, message } = /** @type {any} */ (error);
    if (code === 'not-found' && typeof what === 'string' && /^[\w.-]+\/[\w.-]+$/.test(what))
      fail('not-found', `${message}; the address of a model on the Hugging Face Hub is 'hf:${what}'`, error);
    throw error;
  } finally {
    prefetched?.close();
    end();
  }
}

/**
 * The compiled binary. A failure is reported by the call that needs it.
 * @param {Record<string, any>} options
 * @param {boolean} inWorker
 * @param {string[]} warnings  a sentence for each binary that another one replaces is appended
 * @param {AbortSignal} [signal]
 */
function startEngine({ backend, wasm, threads }, inWorker, warnings, signal) {
  const threaded = whyNoThreads(threads, inWorker) === null;
  const engine = untilAborted(engineModule(packageFiles, { backend, wasm, warnings, threaded }), signal);
  engine.catch(() => {});
  return engine;
}

/**
 * The caller's side of the model, and the address of the file that helper threads run.
 * @param {import('../worker/start_worker.js').WorkerOption} worker
 * @param {AbortSignal} [signal]
 */
async function startRemote(worker, signal) {
  if (!worker) return { remote: new LocalModel(), helper: undefined };
  const started = await startWorker(packageFiles, 'worker', worker, signal);
  return { remote: new WorkerModel(started.worker), helper: started.address ?? undefined };
}

/**
 * A function that renames tensors, which stays on the caller's side; undefined where `names` is a table or absent.
 * @param {any} names
 */
const renameOf = async (names) =>
  typeof names === 'function' ? (await import('../files/huggingface/weight_names.js')).checkedRename(names) : undefined;

/**
 * The options that are read before they are posted: adapters, and a table of names.
 * @param {any} what
 * @param {Record<string, any>} options
 * @param {AbortSignal} [signal]
 */
async function posted(what, { adapters, names, fetch, ...rest }, signal) {
  const table = typeof names === 'object' ? { names } : {};
  if (!adapters?.length) return table;
  const [{ readAdapters }, { loadFetch }] = await Promise.all([
    import('../files/adapters/adapters.js'),
    import('../files/transfer/requests.js'),
  ]);
  const opened = { fetch: loadFetch(what, rest, fetch), signal, hfEndpoint: rest.hfEndpoint };
  return { ...table, adapters: await readAdapters(adapters, opened) };
}
