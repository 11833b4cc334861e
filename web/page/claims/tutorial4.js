// claims/tutorial4.js - "Transformer_Forward_Pass": GPT-2's forward pass as PicoGPT computes it, and the four sizes.

import { claims as attention } from './tutorial4/gpt2_attention.js';
import { claims as ffn } from './tutorial4/gpt2_ffn.js';
import { claims as model } from './tutorial4/gpt2_model.js';
import { claims as output } from './tutorial4/gpt2_output.js';

export const claims = [...model, ...attention, ...ffn, ...output];
