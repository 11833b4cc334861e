// threads.js - starts the helper threads of the engine's worker
import { usualThreads } from './features.js';
import { spawn } from '../base/spawn.js';

/**
 * Models with fewer bytes of weights use one thread: waking a second one takes as long as its share of a token's work.
 */
const FEW_BYTES = 4e6;

/** @param {number} weightBytes */
export function suitable(weightBytes) {
  return weightBytes < FEW_BYTES ? 1 : usualThreads();
}

/**
 * Start one worker for each thread except the engine's own. Each joins the pool when it runs; nothing waits for it, and
 * if it fails to start, the other threads take its tiles. Helpers end with the engine's worker. A helper that ends
 * earlier, while it computes a tile, would block the pool for ever: the owner of the model watches each helper's port
 * for that (WorkerModel).
 * @param {number} n  threads, the engine's own included
 * @param {string} file  address of the worker's file, which helpers run too
 * @param
 *   {(index: number) => {module: WebAssembly.Module, memory: WebAssembly.Memory, pool: number, index: number, stack: number}}
 *   job
 * @param {(line: MessagePort) => void} [watch]  receives the port of each helper
 */
export function startHelpers(n, file, job, watch) {
  for (let index = 1; index < n; index++) {
    const { port1, port2 } = new MessageChannel();
    watch?.(port2);
    const worker = spawn(file, 'glassformer helper');
    worker.addEventListener('error', (event) => event.preventDefault?.());
    worker.postMessage({ help: { ...job(index), line: port1 } }, [port1]);
  }
}
