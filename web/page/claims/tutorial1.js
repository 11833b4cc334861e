// claims/tutorial1.js - V. Sousa, "Building a Transformer: The Complete Forward Pass" (2026): the modern decoder and
// its classical variants, generation with a kv cache, and the parameters of a 123.6M model.

import { claims as cache } from './tutorial1/kv_cache.js';
import { claims as coverage } from './tutorial1/coverage.js';
import { claims as ffn } from './tutorial1/swiglu.js';
import { claims as generation } from './tutorial1/generation.js';
import { claims as model } from './tutorial1/decoder_model.js';
import { claims as norms } from './tutorial1/rmsnorm.js';
import { claims as parameters } from './tutorial1/decoder_parameters.js';
import { claims as residuals } from './tutorial1/residuals.js';

export const claims = [...parameters, ...model, ...cache, ...norms, ...residuals, ...ffn, ...generation, ...coverage];
