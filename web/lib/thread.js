// thread.js - a helper of the engine's worker: a second instance of its module on its memory, which works off tiles
// until the pool is closed or the engine's worker ends (src/base/pool.h)

const parent = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;

/** @param {{module: WebAssembly.Module, memory: WebAssembly.Memory, pool: number, index: number, stack: number}} job */
function help({ module, memory, pool, index, stack }) {
  /** @type {Record<string, Record<string, any>>} */
  const imports = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = kind === 'memory' ? memory : () => 0; // a tile calls none of them
  }
  const x = /** @type {any} */ (new WebAssembly.Instance(module, imports).exports);
  x.__stack_pointer.value = stack;
  x.gf_pool_worker(pool, index);
  if (parent) parent.close();
  else globalThis.close();
}

if (parent) parent.once('message', help);
else globalThis.onmessage = ({ data }) => help(data);
