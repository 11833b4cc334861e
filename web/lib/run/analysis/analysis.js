// analysis.js - the functions of this folder that run beside the engine
export { circuit, matrix, storedWeight } from './circuit.js';
export { headScores } from './head_scores.js';
export { pathPatching } from './path_patching.js';
export { provenance } from './provenance.js';
export { scanTexts } from './scan_batch.js';
export { sweep } from './sweep.js';
export { attributionPatching, gradients } from './gradients.js';
export { integratedGradients } from './integrated_gradients.js';
