// claims/tutorial5.js - day 7 of a course on language models: the full GPT, its parameters, its shapes, and its
// exercises.

import { claims as cost } from './tutorial5/gpt_cost.js';
import { claims as families } from './tutorial5/three_families.js';
import { claims as model } from './tutorial5/gpt_model.js';
import { claims as norms } from './tutorial5/gpt_norms.js';
import { claims as parameters } from './tutorial5/gpt_parameters.js';
import { claims as stream } from './tutorial5/gpt_stream.js';

export const claims = [...model, ...norms, ...stream, ...parameters, ...cost, ...families];
