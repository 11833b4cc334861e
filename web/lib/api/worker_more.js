// worker_more.js - the package's dist/worker_more.js and the export `glassformer/worker_more`: the second script of the
// engine's worker (worker/second_script.js). In the source tree the worker needs none.
export {};
