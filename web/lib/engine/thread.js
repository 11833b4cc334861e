// thread.js - a helper thread of the engine's worker: another instance of the module on the same memory
//
// A helper computes tiles until the pool is closed or its owner ends it (src/base/pool.h). It runs the same file
// as the engine's worker: there is one file to deploy, and bundlers would turn a file as small as this one into a data:
// address, whose worker has an opaque origin and cannot share memory.
import { packError } from '../base/failure.js';

/**
 * A helper's job.
 * @typedef {object} HelperJob
 * @property {WebAssembly.Module} module
 * @property {WebAssembly.Memory} memory
 * @property {number} pool   address of the struct gf_pool
 * @property {number} index  of the thread in the pool
 * @property {number} stack  address of the top of its stack
 */

/**
 * Join the pool, and return when it is closed.
 * @param {HelperJob} job
 * @param {(message: {joined: true} | {crash: object}) => void} tell  posts that it joins, and that a tile trapped
 */
export function help({ module, memory, pool, index, stack }, tell) {
  /** @type {Record<string, Record<string, any>>} */
  const imports = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = kind === 'memory' ? memory : () => 0; // a tile never calls an imported function
  }
  const x = /** @type {any} */ (new WebAssembly.Instance(module, imports).exports);
  x.__stack_pointer.value = stack;
  tell({ joined: true });
  try {
    x.gf_pool_worker(pool, index);
  } catch (error) {
    tell({ crash: packError(error) });
  }
}
