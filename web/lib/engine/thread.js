// thread.js - a helper thread of the engine's worker: a second instance of the module on the same memory. It computes
// tiles until the pool is closed or the engine's worker ends (src/base/pool.h)
//
// A helper runs the same file as the engine's worker, so that there is one file to deploy: bundlers turn a file as
// small as this one into a data: address, whose worker has an opaque origin and cannot share memory.
import { packError } from '../base/failure.js';

/**
 * Join the pool and end the worker afterwards. Posts 'joined' on its line, then 'left', or `{ crash }` when a tile
 * trapped.
 * @param
 *   {{module: WebAssembly.Module, memory: WebAssembly.Memory, pool: number, index: number, stack: number, line: MessagePort}}
 *   job
 */
export function help({ module, memory, pool, index, stack, line }) {
  /** @type {Record<string, Record<string, any>>} */
  const imports = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = kind === 'memory' ? memory : () => 0; // tiles call no imported function
  }
  const x = /** @type {any} */ (new WebAssembly.Instance(module, imports).exports);
  x.__stack_pointer.value = stack;
  line.postMessage('joined');
  try {
    x.gf_pool_worker(pool, index);
    line.postMessage('left');
  } catch (error) {
    // in the middle of a tile
    line.postMessage({ crash: packError(error) });
  }
  const parent = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;
  if (parent) parent.close();
  else globalThis.close();
}
