// claims/tutorial2.js - D. Lodha, "Assembling the Full Transformer" (2025): the encoder-decoder of 2017.

import { claims as attention } from './tutorial2/attentions.js';
import { claims as model } from './tutorial2/encoder_decoder_model.js';
import { claims as positions } from './tutorial2/positions.js';
import { claims as sublayers } from './tutorial2/sublayers.js';

export const claims = [...model, ...positions, ...sublayers, ...attention];
