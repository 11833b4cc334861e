// worker_more.js - the export `glassformer/worker_more`: all scripts that the engine's worker loads on demand
// (worker/second_script.js), dist/worker_more.js and dist/worker_files.js. In the source tree the worker needs none.
export {};
