// claims/tutorial3.js - "The transformer block" (step 07 of a tiny LLM): LayerNorm, attention, residual, LayerNorm,
// MLP, residual.
//
// Three of its printed figures do not follow from its code; here the code's are expected and the printed ones shown
// beside.

import { claims as change } from './tutorial3/change.js';
import { claims as layers } from './tutorial3/block_layers.js';
import { claims as parameters } from './tutorial3/block_parameters.js';
import { claims as stream } from './tutorial3/block_stream.js';

export const claims = [...parameters, ...change, ...stream, ...layers];
