// worker_more.js - the text of the worker's second script (worker/more.js); see worker.js

/** @type {import('../files.js').Embedded | null} */
export const embedded = null;
