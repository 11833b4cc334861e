// claims/tutorial2.js - D. Lodha, "Assembling the Full Transformer" (2025): the encoder-decoder of 2017.

import { SEQ2SEQ } from './configs.js';
import { byBlock } from './parameter_table.js';
import { sectionsOf, seen } from './section.js';
import { claims as attention } from './tutorial2/attentions.js';
import { claims as model } from './tutorial2/encoder_decoder_model.js';
import { claims as positions } from './tutorial2/positions.js';
import { claims as sublayers } from './tutorial2/sublayers.js';

const section = sectionsOf([...model, ...positions, ...sublayers, ...attention]);
const MODEL = { preset: SEQ2SEQ };
const DATES = 'weights/dates/'; // trained, of the same design

export const sections = [
  section('Positional encoding', [
    seen('position', MODEL, 'sinusoids', 'positions-unique', 'added'),
    seen('position', { ...MODEL, position: 'none' }, 'bag-of-words'),
  ]),
  section('Layer normalization', [seen('norm', MODEL, 'layernorm')]),
  section('Feed-forward network', [seen('ffn', MODEL, 'relu', 'ffn-alone')]),
  section('Residual connections', [seen('norm', MODEL, 'add-and-norm'), seen('stream', MODEL, 'residual-path')]),
  section('Encoder and decoder layers', [
    seen('stream', MODEL, 'sublayers'),
    seen('softmax', DATES, 'encoder-sees-all'),
    seen('mask', DATES, 'masked'),
    seen('cross', DATES, 'cross', 'source-mask', 'source-matters'),
    seen('cache', DATES, 'cached'),
  ]),
  section(
    'The final assembly',
    [
      seen('logits', MODEL, 'shape', 'reference'),
      seen('logits', { ...MODEL, causal: false }, 'shape-unmasked', 'reference-unmasked'),
      seen('parameters', MODEL, 'parameters', 'parts'),
    ],
    {
      table: (g) => byBlock(g.countParameters(SEQ2SEQ)),
      exercises: [{ text: 'Its structural test: random ids as source and as target.', ids: { model: MODEL, n: 20 } }],
    },
  ),
];
