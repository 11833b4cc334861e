// embedded_train.js - the trainer's worker and its WebAssembly binary, as text; see embedded_worker.js

/** @type {import('../package_files.js').Embedded | null} */
export const embedded = null;
