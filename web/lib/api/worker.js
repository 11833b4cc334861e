// worker.js - entry point of the engine's worker: the package's dist/worker.js and the export `glassformer/worker`
import '../worker/model_worker.js';
