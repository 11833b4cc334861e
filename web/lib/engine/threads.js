// threads.js - starts the helper threads of an engine or a trainer, in its worker
import { defaultThreads } from './features.js';
import { fail } from '../base/errors.js';
import { ownType, spawn } from '../base/spawn.js';

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
 * Open a pool of threads, and start one worker for each except the engine's own. Each joins the pool when it runs.
 * Nothing waits for it: the other threads take the tiles of a helper that does not start. Helpers end with the engine's
 * worker. A helper that ends earlier, while it computes a tile, would block the pool for ever; the caller's side
 * watches the port of each helper for this case (WorkerModel).
 * @param {import('./instance.js').Instance} instance  with shared memory
 * @param {WebAssembly.Module} module  its binary
 * @param {number} n  threads, the engine's own included, at least 2
 * @param {string} file  address of the worker's file, which helpers run too
 * @param {(port: MessagePort) => void} [onHelper]  receives the port of each helper
 * @returns {number} address of the struct gf_pool
 */
export function openPool({ x, memory }, module, n, file, onHelper) {
  const pool = x.gf_pool_open(n) || fail('out-of-memory', `the stacks of ${n} threads could not be allocated`);
  for (let index = 1; index < n; index++) {
    const { port1, port2 } = new MessageChannel();
    onHelper?.(port2);
    const worker = spawn(file, 'glassformer helper', true, ownType());
    worker.addEventListener('error', (event) => event.preventDefault?.());
    const stack = x.gf_pool_stack(pool, index);
    worker.postMessage({ help: { module, memory, pool, index, stack, port: port1 } }, [port1]);
  }
  return pool;
}
