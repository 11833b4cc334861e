// claims/tutorial3.js - "The transformer block" (step 07 of a tiny LLM): LayerNorm, attention, residual, LayerNorm,
// MLP, residual.
//
// Three of its printed figures do not follow from its code; here the code's are expected and the printed ones shown
// beside.

import { BLOCK, WIDE } from './configs.js';
import { byBlock } from './parameter_table.js';
import { sectionsOf, seen } from './section.js';
import { claims as change } from './tutorial3/change.js';
import { claims as layers } from './tutorial3/block_layers.js';
import { claims as parameters } from './tutorial3/block_parameters.js';
import { claims as stream } from './tutorial3/block_stream.js';

const section = sectionsOf([...parameters, ...change, ...stream, ...layers]);

export const sections = [
  section('What is built', [seen('stream', { ...BLOCK, n_layers: 4 }, 'stream-sum', 'block-definition')]),
  section('Pre-norm and post-norm', [
    seen('stream', { ...BLOCK, n_layers: 8, norm_placement: 'post' }, 'post-constant'),
  ]),
  section('The MLP', [
    seen('ffn', BLOCK, 'gelu', 'gelu-relu'),
    seen('parameters', BLOCK, 'no-biases'),
    seen('parameters', WIDE, 'mlp-128', 'attention-128'),
    seen('parameters', { ...WIDE, n_layers: 12 }, 'twelve-blocks'),
  ]),
  section('The block', [seen('training', BLOCK, 'init'), seen('stream', BLOCK, 'reference', 'shape')]),
  section(
    'Sanity check',
    [
      seen('parameters', BLOCK, 'params', 'params-attention', 'params-mlp'),
      seen('parameters', { ...BLOCK, d_ff: 512 }, 'params-mlp-8x'),
      seen('parameters', BLOCK, 'params-norms', 'norms-free', 'mlp-share'),
      seen('stream', BLOCK, 'change'),
      seen('stream', { ...BLOCK, d_ff: 512 }, 'change-8x'),
      seen('stream', { ...BLOCK, norm_placement: 'post' }, 'identity'),
    ],
    { table: (g) => byBlock(g.countParameters('tutorial-3')) },
  ),
  section('LayerNorm from scratch', [seen('norm', BLOCK, 'layernorm', 'layernorm-init')]),
];
