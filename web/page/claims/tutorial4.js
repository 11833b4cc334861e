// claims/tutorial4.js - "Transformer_Forward_Pass": GPT-2's forward pass as PicoGPT computes it, and the four sizes.

import { claims as attention } from './tutorial4/attention.js';
import { claims as ffn } from './tutorial4/ffn.js';
import { claims as model } from './tutorial4/model.js';
import { claims as output } from './tutorial4/output.js';

/** @type {import('./check.js').Claim[]} */
export const claims = [...model, ...attention, ...ffn, ...output];
