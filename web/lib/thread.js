// thread.js - a helper of the engine's worker: a second instance of its module on its memory, which works off tiles
// until the pool is closed or the engine's worker ends (src/base/pool.h). On its line it says 'joined', then 'left' or what stopped it.

const parent = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;

/** @param {{module: WebAssembly.Module, memory: WebAssembly.Memory, pool: number, index: number, stack: number, line: MessagePort}} job */
function help({ module, memory, pool, index, stack, line }) {
  /** @type {Record<string, Record<string, any>>} */
  const imports = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = kind === 'memory' ? memory : () => 0; // a tile calls none of them
  }
  const x = /** @type {any} */ (new WebAssembly.Instance(module, imports).exports);
  x.__stack_pointer.value = stack;
  line.postMessage('joined');
  try {
    x.gf_pool_worker(pool, index);
    line.postMessage('left');
  } catch (error) { // in the middle of a tile
    line.postMessage({ crash: /** @type {Error} */ (error).message });
  }
  if (parent) parent.close();
  else globalThis.close();
}

if (parent) parent.once('message', help);
else globalThis.onmessage = ({ data }) => help(data);
