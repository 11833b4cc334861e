// threads.js - starts the helper threads of the engine, in the engine's worker
import { defaultThreads } from './features.js';
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
 * Start one worker for each thread except the engine's own. Each joins the pool when it runs. Nothing waits for it: the
 * other threads take the tiles of a helper that does not start. Helpers end with the engine's worker. A helper that
 * ends earlier, while it computes a tile, would block the pool for ever; the caller's side watches the port of each
 * helper for this case (WorkerModel).
 * @param {number} n  threads, the engine's own included
 * @param {string} file  address of the worker's file, which helpers run too
 * @param {(index: number) => import('./thread.js').HelperJob} job  for the thread with this index
 * @param {(port: MessagePort) => void} [onHelper]  receives the port of each helper
 */
export function startHelpers(n, file, job, onHelper) {
  for (let index = 1; index < n; index++) {
    const { port1, port2 } = new MessageChannel();
    onHelper?.(port2);
    const worker = spawn(file, 'glassformer helper', true, ownType());
    worker.addEventListener('error', (event) => event.preventDefault?.());
    worker.postMessage({ help: { ...job(index), port: port1 } }, [port1]);
  }
}
