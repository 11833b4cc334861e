// thread.js - a helper thread of the engine's worker: another instance of the module on the same memory
//
// A helper computes tiles until the pool is closed or the engine's worker ends (src/base/pool.h). It runs the same file
// as the engine's worker: there is one file to deploy, and bundlers would turn a file as small as this one into a data:
// address, whose worker has an opaque origin and cannot share memory.
import { packError } from '../base/failure.js';

/**
 * The message that starts a helper.
 * @typedef {object} HelperJob
 * @property {WebAssembly.Module} module
 * @property {WebAssembly.Memory} memory
 * @property {number} pool   address of the struct gf_pool
 * @property {number} index  of the thread in the pool
 * @property {number} stack  address of the top of its stack
 */

/**
 * Join the pool and end the worker afterwards. Posts 'joined' on its port, then 'left', or `{ crash }` when a tile
 * trapped.
 * @param {HelperJob & {port: MessagePort}} job
 */
export function help({ module, memory, pool, index, stack, port }) {
  /** @type {Record<string, Record<string, any>>} */
  const imports = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = kind === 'memory' ? memory : () => 0; // a tile never calls an imported function
  }
  const x = /** @type {any} */ (new WebAssembly.Instance(module, imports).exports);
  x.__stack_pointer.value = stack;
  port.postMessage('joined');
  try {
    x.gf_pool_worker(pool, index);
    port.postMessage('left');
  } catch (error) {
    // a tile trapped
    port.postMessage({ crash: packError(error) });
  }
  const parent = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;
  if (parent) parent.close();
  else globalThis.close();
}
