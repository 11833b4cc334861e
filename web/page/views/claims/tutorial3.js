// tutorial3.js - claims of "The transformer block" (step 07 of a tiny LLM): LayerNorm, attention, residual, LayerNorm,
// MLP, residual.
//
// Three of its printed figures do not follow from its code; here the code's are expected and the printed ones shown
// beside.

import { BLOCK, WIDE } from './configs.js';
import { byBlock } from './parameter_table.js';
import { sectionsOf, seen } from './tutorial_sections.js';
import { runs } from './runs/block_runs.js';

const section = sectionsOf(3, runs);

/** Variants of the model. */
const FOUR = { ...BLOCK, n_layers: 4 },
  EIGHT_POST = { ...BLOCK, n_layers: 8, norm_placement: 'post' },
  TWELVE_WIDE = { ...WIDE, n_layers: 12 },
  LARGE_MLP = { ...BLOCK, d_ff: 512 },
  POST_BLOCK = { ...BLOCK, norm_placement: 'post' };

export const sections = [
  section('What is built', [
    seen('stream', FOUR, {
      'stream-sum': 'The stream at any depth is the embedding plus what every sublayer before it wrote',
      'block-definition':
        'A block is x + attention(LN(x)), then x + MLP(LN(x)): each sublayer reads the stream through its norm',
    }),
  ]),
  section('Pre-norm and post-norm', [
    seen('stream', EIGHT_POST, {
      'post-constant': 'Post-norm brings the stream back to one size after every block, pre-norm lets it grow',
    }),
  ]),
  section('The MLP', [
    seen('ffn', BLOCK, {
      gelu: 'GELU is x · Φ(x), exactly: the erf form',
      'gelu-relu': 'GELU is ReLU far from zero and smooth at zero, where ReLU has a kink',
    }),
    seen('parameters', BLOCK, { 'no-biases': 'No linear map of the block has a bias, only the norms have a shift' }),
    seen('parameters', WIDE, {
      'mlp-128': 'At width 128 the MLP holds 131,072 parameters',
      'attention-128': 'At width 128 attention holds 65,536',
    }),
    seen('parameters', TWELVE_WIDE, { 'twelve-blocks': 'In a model of 12 blocks the MLPs hold most parameters' }),
  ]),
  section('The block', [
    seen('training', BLOCK, { init: 'Fresh weights are normal with standard deviation 0.02' }),
    seen('stream', BLOCK, {
      reference: 'A file with the names of this model gives the logits of its arithmetic in double precision',
      shape: 'A block takes (2, 12, 64) and gives (2, 12, 64)',
    }),
  ]),
  section(
    'Sanity check',
    [
      seen('parameters', BLOCK, {
        params: 'Parameters of the block of width 64',
        'params-attention': 'Attention of the block: four matrices of 64 × 64',
        'params-mlp': 'MLP of the block',
      }),
      seen('parameters', LARGE_MLP, {
        'params-mlp-8x': 'An MLP of 8 times the width would hold the printed 65,536, and its block 82,176',
      }),
      seen('parameters', BLOCK, {
        'params-norms': 'Both LayerNorms: a gain and a shift of 64 each',
        'norms-free': 'The norms are almost free',
        'mlp-share': 'Parameters of the MLP for each one of attention',
      }),
      seen('stream', BLOCK, { change: 'Relative change of a unit-normal input by a fresh block, mean of 20 blocks' }),
      seen('stream', LARGE_MLP, { 'change-8x': 'The same with an MLP of 8 times the width' }),
      seen('stream', POST_BLOCK, {
        identity: 'A fresh pre-norm block is close to the identity; a post-norm one is not',
      }),
    ],
    { table: byBlock('tutorial-3') },
  ),
  section('LayerNorm from scratch', [
    seen('norm', BLOCK, {
      layernorm: 'LayerNorm: minus the mean, over the root of variance + 0.00001, on live activations',
      'layernorm-init': 'A fresh LayerNorm has gain 1 and shift 0',
    }),
  ]),
];
