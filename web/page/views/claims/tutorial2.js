// tutorial2.js - claims of "Assembling the Full Transformer" (D. Lodha, 2025): the encoder-decoder of 2017

import { SEQ2SEQ } from './configs.js';
import { byBlock } from './parameter_table.js';
import { sectionsOf, seen } from './tutorial_sections.js';
import { runs } from './runs/encoder_decoder_runs.js';

const section = sectionsOf(2, runs);
const MODEL = { preset: SEQ2SEQ };
const DATES = 'weights/dates/'; // trained, of the same design

/** Variants of the model. */
const UNPLACED = { ...MODEL, position: 'none' },
  UNMASKED = { ...MODEL, causal: false };

export const sections = [
  section('Positional encoding', [
    seen('position', MODEL, {
      sinusoids: 'Position p, dimension 2i: sin(p / 10000^(2i / d)); dimension 2i + 1: the cosine; all 50 × 64 of them',
      'positions-unique':
        'Each position has a signature of its own, and how alike two are depends on their distance alone',
      added: 'Positions are simply added to the embedding',
    }),
    seen('position', UNPLACED, {
      'bag-of-words': 'Without positions attention sees a bag of words: other order, same states; with positions not',
    }),
  ]),
  section('Layer normalization', [
    seen('norm', MODEL, { layernorm: 'LayerNorm gives each token mean 0 and variance 1 before its gain and shift' }),
  ]),
  section('Feed-forward network', [
    seen('ffn', MODEL, {
      relu: 'Between the two linear maps of an FFN is max(0, x)',
      'ffn-alone': 'The FFN is applied to each position independently',
    }),
  ]),
  section('Residual connections', [
    seen('norm', MODEL, {
      'add-and-norm': 'Add & Norm: the output is LayerNorm of input plus sublayer, on live activations',
    }),
    seen('stream', MODEL, { 'residual-path': 'Residual connections give a direct path through a deep stack' }),
  ]),
  section('Encoder and decoder layers', [
    seen('stream', MODEL, { sublayers: 'An encoder layer has two sublayers with a norm each, a decoder layer three' }),
    seen('softmax', DATES, {
      'encoder-sees-all': 'Encoder: every position sees every other, and each row of the pattern sums to 1',
    }),
    seen('mask', DATES, { masked: 'Decoder: masked self-attention sees no later position' }),
    seen('cross', DATES, {
      cross: 'Cross-attention: queries from the target, keys and values from the encoder’s output',
      'source-mask': 'A source mask hides positions from encoder and cross-attention',
      'source-matters': 'The encoder’s output reaches the logits: another source, other logits',
    }),
    seen('cache', DATES, {
      cached: 'Token by token with a cache equals one pass over the target, cross keys and values computed once',
    }),
  ]),
  section(
    'The final assembly',
    [
      seen('logits', MODEL, {
        shape:
          'Sources and targets of shape (8, 20) flow through the whole model and become logits of shape (8, 20, 1000)',
        reference:
          'A file with the tutorial’s names gives the logits of its arithmetic in double precision, the target masked',
      }),
      seen('logits', UNMASKED, {
        'shape-unmasked': 'The same without a causal mask, as the tutorial runs it',
        'reference-unmasked': 'So it does without masks',
      }),
      seen('parameters', MODEL, {
        parameters: 'Parameters of the model with vocabulary 1000, width 64, 2 + 2 layers, 4 heads, FFN 128',
        parts:
          'Which are 64,000 in the embedding, 33,472 in an encoder layer, 50,240 in a decoder layer and 65,000 in the output layer',
      }),
    ],
    {
      table: byBlock(SEQ2SEQ),
      exercises: [{ text: 'Its structural test: random ids as source and as target.', ids: { model: MODEL, n: 20 } }],
    },
  ),
];
