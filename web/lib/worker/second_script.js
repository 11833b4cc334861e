// second_script.js - loads worker_more.js and worker_files.js, further scripts of the package's worker, at the first
// call that needs them
//
// worker.js of the package can load and run a GGUF file. Its `import()` of other modules is a call of
// `glassformerMore.load`, and `glassformerImport` is import() itself (scripts/split_worker.js). Embedded copies, and
// workers that import glassformer/worker_more too, run all scripts at once. The source tree does not use this file.
import { fail, messageOf } from '../base/errors.js';
import { ownType } from '../base/spawn.js';
import { greeting } from './message_port.js';

/** @typedef {import('./message_port.js').SecondScript} SecondScript */

/**
 * What the scripts share. core: modules of worker.js that the others use; modules: those of the scripts that have run,
 * by path.
 */
const shared = {
  /** @type {Record<string, object>} */
  core: {},
  /** @type {Record<string, object>} */
  modules: {},
  /**
   * A module of another script.
   * @param {SecondScript} script
   * @param {string} path  relative to web/lib
   */
  async load(script, path) {
    if (!shared.modules[path])
      await (loading[script] ??= fetchScript(script, path).finally(() => delete loading[script]));
    return shared.modules[path];
  },
};
/** @type {{[script in SecondScript]?: Promise<void>}} */
const loading = {};
/** @type {any} */ (globalThis).glassformerMore = shared;

/**
 * Run a script.
 * @param {SecondScript} script
 * @param {string} path  of a module in it
 * @throws {GlassformerError} `worker`
 */
async function fetchScript(script, path) {
  // The owner knows the address that a bundler gave to the file; other copies lie beside worker.js.
  const address = greeting?.scripts?.[script] ?? new URL(`${script}.js`, globalThis.location?.href).href;
  try {
    // a classic worker needs no CORS headers for it
    await /** @type {any} */ (globalThis)[ownType() === 'classic' ? 'importScripts' : 'glassformerImport'](address);
    if (!shared.modules[path]) throw new Error('it is another file');
  } catch (error) {
    fail(
      'worker',
      `${address}, a further script of the worker, could not be loaded: ${messageOf(error)}. ` +
        `Serve the package's dist/${script}.js at that address, or let your worker import glassformer/worker_more`,
      error,
    );
  }
}
