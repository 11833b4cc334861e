// claims/tutorial1.js - V. Sousa, "Building a Transformer: The Complete Forward Pass" (2026): the modern decoder and
// its classical variants, generation with a kv cache, and the parameters of a 123.6M model.

import { named, number } from '../views/learn/typed_answer.js';
import { CLASSICAL, DEEP, MODERN, POST, TINY, UNTIED } from './configs.js';
import { byBlock } from './parameter_table.js';
import { sectionsOf, seen } from './section.js';
import { claims as cache } from './tutorial1/kv_cache.js';
import { claims as coverage } from './tutorial1/coverage.js';
import { claims as ffn } from './tutorial1/swiglu.js';
import { claims as generation } from './tutorial1/generation.js';
import { claims as model } from './tutorial1/decoder_model.js';
import { claims as norms } from './tutorial1/rmsnorm.js';
import { claims as parameters } from './tutorial1/decoder_parameters.js';
import { claims as residuals } from './tutorial1/residuals.js';

const section = sectionsOf([
  ...parameters,
  ...model,
  ...cache,
  ...norms,
  ...residuals,
  ...ffn,
  ...generation,
  ...coverage,
]);

/** Five questions of its last section. @type {import('./section.js').Exercise[]} */
const QUESTIONS = [
  {
    text: 'Does the ε of RMSNorm stand inside the square root or outside, in the files of LLaMA?',
    answer: () => named('inside', 'inside: outside it makes other numbers of the same weights'),
  },
  {
    text: 'Which placement of the norms, pre or post, leaves the residual path an identity?',
    answer: () => named('pre', 'pre: the norm conditions only what a sublayer reads'),
  },
  {
    text: 'Which d_ff gives SwiGLU the parameters of a plain FFN of width 4 · 768?',
    answer: () => number((8 * 768) / 3, '8/3 · 768 = 2,048: three matrices in place of two'),
  },
  {
    text: 'Five tokens are in the kv cache. By which position is the key of the next one rotated?',
    answer: () => number(5, '5, the number of cached tokens; cached keys stay as they are'),
  },
  {
    text: 'How many parameters does a tied head add?',
    answer: () => number(0, '0: it is the embedding, read a second time'),
  },
];

export const sections = [
  section('1. Layer normalization', [
    seen('norm', TINY, 'rms-identity', 'rms-near-layernorm', 'eps-inside', 'confusions'),
    seen('parameters', TINY, 'norm-parameters'),
  ]),
  section('2. Residual connections', [
    seen('stream', TINY, 'pre-highway', 'identity-path'),
    seen('norm', POST, 'post-highway', 'same-parts'),
    seen('stream', DEEP, 'fifty-layers'),
  ]),
  section('3. The feed-forward network', [
    seen('compare', MODERN, 'swiglu-budget'),
    seen('ffn', TINY, 'ffn-shapes', 'ffn-alone', 'down-backwards'),
  ]),
  section('4. The transformer block', [
    seen('position', TINY, 'rope-offset'),
    seen('norm', CLASSICAL, 'reference-classical'),
    seen('compare', 'classical-decoder', 'classical-count'),
  ]),
  section('5. The full decoder', [
    seen('stream', TINY, 'reference'),
    seen('logits', { ...TINY, tie_word_embeddings: false }, 'reference-untied'),
    seen('logits', TINY, 'shape', 'tied-zero'),
    seen('position', TINY, 'no-position-input', 'one-rope-table'),
  ]),
  section('6. generate', [
    seen('cache', TINY, 'generate-shape', 'cache-work', 'cache-slots', 'cached', 'wrong-offset'),
    seen('sampling', TINY, 'greedy', 'temperature', 'top-k'),
  ]),
  section(
    '7. Counting parameters',
    [
      seen('compare', MODERN, 'embedding', 'attention', 'ffn', 'norms', 'block', 'blocks', 'final-norm'),
      seen('compare', MODERN, 'non-embedding', 'tied', 'ffn-twice'),
      seen('compare', UNTIED, 'untied', 'tying-saves'),
    ],
    { table: (g) => byBlock(g.countParameters(MODERN)) },
  ),
  section('8. Implementation', [seen('training', TINY, 'gradients'), seen('compare', MODERN, 'invalid')]),
  section('9. Verify your understanding', [], { exercises: QUESTIONS }),
];
