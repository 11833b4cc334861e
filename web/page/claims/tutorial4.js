// claims/tutorial4.js - "Transformer_Forward_Pass": GPT-2's forward pass as PicoGPT computes it, and the four sizes.

import { TINY_GPT2 } from './configs.js';
import { sectionsOf, seen } from './section.js';
import { claims as attention } from './tutorial4/gpt2_attention.js';
import { claims as ffn } from './tutorial4/gpt2_ffn.js';
import { claims as model, sizes } from './tutorial4/gpt2_model.js';
import { claims as output } from './tutorial4/gpt2_output.js';

const section = sectionsOf([...model, ...attention, ...ffn, ...output]);
const STORIES = 'weights/stories-gpt2.gguf'; // trained, of the same design

export const sections = [
  section('Description', [
    seen('position', TINY_GPT2, 'embedding'),
    seen('stream', TINY_GPT2, 'residuals'),
    seen('logits', TINY_GPT2, 'tied', 'tied-free'),
    seen('mask', STORIES, 'causal'),
  ]),
  section('Usage', [seen('logits', STORIES, 'distributions'), seen('sampling', STORIES, 'generation')]),
  section('The forward pass', [seen('stream', TINY_GPT2, 'reference', 'shapes')]),
  section('Scaled dot-product attention', [seen('scores', STORIES, 'scores'), seen('softmax', STORIES, 'pattern')]),
  section('Multi-head attention', [seen('mix', TINY_GPT2, 'values', 'concat')]),
  section('Feed-forward network and GELU', [seen('ffn', TINY_GPT2, 'ffn', 'gelu'), seen('compare', 'gpt2', 'hidden')]),
  section(
    'Model sizes',
    [
      seen('compare', 'gpt2', 'size-124M'),
      seen('compare', 'gpt2-medium', 'size-355M'),
      seen('compare', 'gpt2-large', 'size-774M'),
      seen('compare', 'gpt2-xl', 'size-1558M'),
      seen('cache', TINY_GPT2, 'context'),
    ],
    { table: sizes },
  ),
];
