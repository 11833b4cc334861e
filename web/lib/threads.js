// threads.js - helpers for the engine's worker: how many, and the workers that they are
import { usualThreads } from './features.js';

/** Weights below which a second thread gains nothing: waking it takes as long as its share of a token's work. */
const FEW_BYTES = 4e6;

/** @param {number} weightBytes */
export function suitable(weightBytes) { return weightBytes < FEW_BYTES ? 1 : usualThreads(); }

/**
 * A worker for each thread but the engine's own. They join when they are up; nothing waits for them, and one that fails to
 * start is missed by nobody: its tiles are claimed by others. They end when the worker that they help ends. One that ends before, with
 * a tile claimed, would be waited for for ever: who has a line to it learns of that.
 * @param {number} n  threads, the engine's own included
 * @param {(index: number) => {module: WebAssembly.Module, memory: WebAssembly.Memory, pool: number, index: number, stack: number}} job
 * @param {(line: MessagePort) => void} [watch]  given the line of each
 */
export function startHelpers(n, job, watch) {
  for (let index = 1; index < n; index++) {
    const { port1, port2 } = new MessageChannel();
    watch?.(port2);
    startHelper().postMessage({ ...job(index), line: port1 }, [port1]);
  }
}

/** @returns {{postMessage(message: any, transfer: any[]): void}} */
function startHelper() {
  const node = globalThis.process?.getBuiltinModule?.('node:worker_threads');
  if (!node) {
    const worker = new Worker(new URL('./thread.js', import.meta.url), { type: 'module', name: 'glassformer helper' });
    worker.onerror = (event) => event.preventDefault();
    return worker;
  }
  const file = ['.', 'thread.js'].join('/'); // in pieces, or bundlers for browsers would copy it a second time
  const worker = new node.Worker(new URL(file, import.meta.url), { execArgv: [] });
  worker.on('error', () => {});
  return worker;
}
