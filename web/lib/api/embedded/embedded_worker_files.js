// embedded_worker_files.js - the text of worker_files.js, a script of the worker (worker/second_script.js); see
// embedded_worker.js

/** @type {import('../package_files.js').Embedded | null} */
export const embedded = null;
