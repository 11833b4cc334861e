// embedded_engine.js - the WebAssembly binaries that run models, as text; see embedded_worker.js

/** @type {import('../package_files.js').Embedded | null} */
export const embedded = null;
