// second_script.js - loads worker_more.js, the second script of the package's worker, at the first call that needs it
//
// worker.js of the package can load and run a GGUF file. Its `import()` of other modules is a call of
// `glassformerMore.load`, and `glassformerImport` is import() itself (scripts/split_worker.js). Embedded copies, and
// workers that import glassformer/worker_more too, run both scripts at once. The source tree does not use this file.
import { fail, messageOf } from '../base/errors.js';
import { ownType } from '../base/spawn.js';
import { greeting } from './message_port.js';

/**
 * What the two scripts share. core: modules of worker.js that worker_more.js uses; modules: those of worker_more.js, by
 * path; null before it was loaded.
 */
const shared = {
  /** @type {Record<string, object>} */
  core: {},
  /** @type {Record<string, object> | null} */
  modules: null,
  /**
   * A module of worker_more.js.
   * @param {string} path  relative to web/lib
   */
  async load(path) {
    if (!shared.modules) await (loading ??= fetchScript().finally(() => (loading = null)));
    const module = /** @type {Record<string, object>} */ (shared.modules)[path];
    if (!module) throw new Error(`this build of the worker has no ${path}`);
    return module;
  },
};
/** @type {Promise<void> | null} */
let loading = null;
/** @type {any} */ (globalThis).glassformerMore = shared;

/**
 * Run worker_more.js.
 * @throws {GlassformerError} `worker`
 */
async function fetchScript() {
  // The owner knows the address that a bundler gave to the file; other copies lie beside worker.js.
  const address = greeting?.more ?? new URL('worker_more.js', globalThis.location?.href).href;
  try {
    // a classic worker needs no CORS headers for it
    await /** @type {any} */ (globalThis)[ownType() === 'classic' ? 'importScripts' : 'glassformerImport'](address);
    if (!shared.modules) throw new Error('it is another file');
  } catch (error) {
    fail(
      'worker',
      `${address}, the second script of the worker, could not be loaded: ${messageOf(error)}. ` +
        "Serve the package's dist/worker_more.js at that address, or let your worker import glassformer/worker_more",
      error,
    );
  }
}
