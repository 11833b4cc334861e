// embedded_worker_more.js - the text of the worker's second script (worker/second_script.js); see embedded_worker.js

/** @type {import('../package_files.js').Embedded | null} */
export const embedded = null;
