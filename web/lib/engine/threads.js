// threads.js - helper threads for the engine's worker: how many, and the workers that run them
import { usualThreads } from './features.js';
import { spawn } from '../base/spawn.js';

/** Weights below which a second thread gains nothing: waking it takes as long as its share of a token's work. */
const FEW_BYTES = 4e6;

/** @param {number} weightBytes */
export function suitable(weightBytes) { return weightBytes < FEW_BYTES ? 1 : usualThreads(); }

/**
 * Start a worker for each thread but the engine's own. They join the pool when they run; nothing waits for them, and the tiles of one
 * that fails to start are claimed by the others. They end when the engine's worker ends. One that ends earlier while it holds a tile would
 * block the pool for ever: the owner of the model watches each helper's line for that.
 * @param {number} n  threads, the engine's own included
 * @param {string} file  address of the worker's file, which helpers run too
 * @param {(index: number) => {module: WebAssembly.Module, memory: WebAssembly.Memory, pool: number, index: number, stack: number}} job
 * @param {(line: MessagePort) => void} [watch]  receives the line of each helper
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
