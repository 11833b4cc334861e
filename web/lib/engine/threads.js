// threads.js - opens the pool of threads of an engine or a trainer, in its worker
import { defaultThreads } from './wasm_features.js';
import { fail } from '../base/errors.js';
import { ownType } from '../base/spawn.js';

/**
 * A model with fewer bytes of weights uses one thread: waking a second one takes as long as its share of one token.
 */
const SMALL_MODEL_BYTES = 4e6;

/**
 * The default number of threads for a model.
 * @param {number} weightBytes
 */
export function threadCount(weightBytes) {
  return weightBytes < SMALL_MODEL_BYTES ? 1 : defaultThreads();
}

/**
 * Starts a helper thread. job: the port that receives its job (thread.js); file: address of the script; type: of the
 * worker
 * @typedef {(asked: {job: MessagePort, file: string, type: WorkerType}) => void} OnHelper
 */

/**
 * Open a pool of threads, and ask the caller's side (WorkerModel) for one worker for each except the engine's own. Each
 * joins the pool when it runs. Nothing waits for it: the other threads take the tiles of a helper that does not start.
 * The caller's side starts the helpers because `new Worker` in a worker does not return in one of 100 cases in Firefox
 * 153, and because it must notice a helper that ends while it computes a tile, which would block the pool for ever.
 * @param {import('./instance.js').Instance} instance  with shared memory
 * @param {WebAssembly.Module} module  its binary
 * @param {number} n  threads, the engine's own included, at least 2
 * @param {string} file  address of the worker's file, which helpers run too
 * @param {OnHelper} [onHelper]
 * @returns {number} address of the struct gf_pool
 */
export function openPool({ x, memory }, module, n, file, onHelper) {
  const pool = x.gf_pool_open(n) || fail('out-of-memory', `the stacks of ${n} threads could not be allocated`);
  for (let index = 1; index < n; index++) {
    const { port1, port2 } = new MessageChannel();
    // The caller's thread must not receive the memory: it would keep it until its next collection of garbage.
    port2.postMessage({ module, memory, pool, index, stack: x.gf_pool_stack(pool, index) });
    onHelper?.({ job: port1, file, type: ownType() });
  }
  return pool;
}
