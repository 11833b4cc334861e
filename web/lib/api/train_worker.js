// train_worker.js - entry point of the trainer's worker: the package's dist/train_worker.js and the export
// `glassformer/train_worker`
import '../train/training_worker.js';
