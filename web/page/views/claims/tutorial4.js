// tutorial4.js - claims of "Transformer_Forward_Pass": GPT-2's forward pass as PicoGPT computes it, and the four sizes.

import { TINY_GPT2 } from './configs.js';
import { sectionsOf, seen } from './tutorial_sections.js';
import { runs, sizes } from './runs/gpt2_runs.js';

const section = sectionsOf(4, runs);
const STORIES = 'weights/stories-gpt2.gguf'; // trained, of the same design

export const sections = [
  section('Description', [
    seen('position', TINY_GPT2, { embedding: 'The input is the sum of token and position embedding' }),
    seen('stream', TINY_GPT2, { residuals: 'Each block adds attention and then the FFN to the stream' }),
    seen('logits', TINY_GPT2, {
      tied: 'Logits are the normed stream times the transposed token embedding',
      'tied-free': 'The tied head costs no parameter',
    }),
    seen('mask', STORIES, {
      causal: 'Causal: no position can attend to a later one, so a later token changes nothing before it',
    }),
  ]),
  section('Usage', [
    seen('logits', STORIES, {
      distributions: 'The output is a probability distribution over the vocabulary at each position',
    }),
    seen('sampling', STORIES, {
      generation: 'Generation feeds on the forward pass: each greedy token is its likeliest',
    }),
  ]),
  section('The forward pass', [
    seen('stream', TINY_GPT2, {
      reference: 'A file with GPT-2’s names gives the logits of this forward pass in double precision',
      shapes: '[n_seq] ids become [n_seq, n_embd], stay so through every block, and end as [n_seq, n_vocab]',
    }),
  ]),
  section('Scaled dot-product attention', [
    seen('scores', STORIES, {
      scores: 'Scores are Q Kᵀ / √d_k, plus a mask of −∞ for later positions and 0 for earlier ones',
    }),
    seen('softmax', STORIES, { pattern: 'Their softmax: each row sums to 1, later positions get exactly 0' }),
  ]),
  section('Multi-head attention', [
    seen('mix', TINY_GPT2, {
      values: 'Each head’s output is its pattern times V',
      concat: 'The heads side by side, times W^O, are what attention writes',
    }),
  ]),
  section('Feed-forward network and GELU', [
    seen('ffn', TINY_GPT2, {
      ffn: 'FFN(x) = GELU(x W₁ + b₁) W₂ + b₂',
      gelu: 'GELU is the tanh form with 0.044715, which is not quite the erf form',
    }),
    seen('compare', 'gpt2', { hidden: 'The FFN’s hidden dimension is 4 times the embedding’s, at every size' }),
  ]),
  section(
    'Model sizes',
    [
      seen('compare', 'gpt2', {
        'size-124M': 'GPT-2 124M: 12 layers, 12 heads, width 768, vocabulary 50,257, context 1,024',
      }),
      seen('compare', 'gpt2-medium', {
        'size-355M': 'GPT-2 355M: 24 layers, 16 heads, width 1024, vocabulary 50,257, context 1,024',
      }),
      seen('compare', 'gpt2-large', {
        'size-774M': 'GPT-2 774M: 36 layers, 20 heads, width 1280, vocabulary 50,257, context 1,024',
      }),
      seen('compare', 'gpt2-xl', {
        'size-1558M': 'GPT-2 1558M: 48 layers, 25 heads, width 1600, vocabulary 50,257, context 1,024',
      }),
      seen('cache', TINY_GPT2, { context: 'No more positions than n_ctx: a longer input is refused' }),
    ],
    { table: sizes },
  ),
];
