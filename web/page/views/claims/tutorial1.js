// tutorial1.js - claims of "Building a Transformer: The Complete Forward Pass" (V. Sousa, 2026): a modern decoder and
// its classical variants, its kv cache, and the parameters of a 123.6M model

import { named, number } from '../learn/typed_answer.js';
import { CLASSICAL, DEEP, MODERN, POST, TINY, UNTIED } from './configs.js';
import { byBlock } from './parameter_table.js';
import { sectionsOf, seen } from './tutorial_sections.js';
import { runs as model } from './runs/decoder_model.js';
import { runs as parameters } from './runs/decoder_parameters.js';
import { runs as generation } from './runs/generation.js';
import { runs as norms } from './runs/norms.js';

const section = sectionsOf(1, { ...model, ...parameters, ...generation, ...norms });

/** Five questions of its last section. @type {import('./tutorial_sections.js').Exercise[]} */
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

/** Variants of the model. */
const HEADED = { ...TINY, tie_word_embeddings: false };

export const sections = [
  section('1. Layer normalization', [
    seen('norm', TINY, {
      'rms-identity': 'On live activations, RMS² = variance + mean²',
      'rms-near-layernorm':
        'Where the mean is small, RMSNorm and LayerNorm are nearly the same; with a large mean they are not',
      'eps-inside': 'Epsilon belongs inside the square root: outside it gives other numbers',
      confusions:
        'The slips that shapes do not show: gate for up, the other pairing of rotary dimensions, LayerNorm for RMSNorm, post for pre',
    }),
    seen('parameters', TINY, { 'norm-parameters': 'RMSNorm has one vector where LayerNorm has two' }),
  ]),
  section('2. Residual connections', [
    seen('stream', TINY, {
      'pre-highway': 'Pre-norm: the stream passes the block unchanged and sublayers only add to it',
      'identity-path':
        'Pre-norm keeps an identity path from the first block to the last; post-norm loses it at every norm',
    }),
    seen('norm', POST, {
      'post-highway':
        'Post-norm: the norm sits on the sum, so what leaves a block is always of length one per dimension',
      'same-parts': 'Pre-norm and post-norm hold the same weights and give different numbers',
    }),
    seen('stream', DEEP, {
      'fifty-layers': 'Fifty layers without residuals multiply fifty small numbers; with them a change arrives whole',
    }),
  ]),
  section('3. The feed-forward network', [
    seen('compare', MODERN, {
      'swiglu-budget': 'SwiGLU at 8/3 · d_model has the budget of a plain FFN at 4 · d_model',
    }),
    seen('ffn', TINY, {
      'ffn-shapes': 'Gate and up lead from d_model to d_ff, down leads back',
      'ffn-alone': 'The FFN treats each position alone; attention does not',
      'down-backwards': 'A down projection the wrong way round, the usual slip, is refused by name',
    }),
  ]),
  section('4. The transformer block', [
    seen('position', TINY, {
      'rope-offset':
        'A token behind n cached ones is rotated for position n, keys stay as they were, values are never rotated',
    }),
    seen('norm', CLASSICAL, {
      'reference-classical':
        '“Three arguments recover the 2017 design”: post-norm, LayerNorm and GELU give that arithmetic’s logits',
    }),
    seen('compare', 'classical-decoder', {
      'classical-count':
        'The classical block with d_ff 3072 has the same attention and the same FFN budget; only the norms’ shifts come on top',
    }),
  ]),
  section('5. The full decoder', [
    seen('stream', TINY, {
      reference:
        'The modern decoder gives the logits of the tutorial’s arithmetic in double precision, from a file with its names',
    }),
    seen('logits', HEADED, { 'reference-untied': 'So does the one with a head of its own' }),
    seen('logits', TINY, {
      shape: 'Token ids of shape (2, 10) become logits of shape (2, 10, vocabulary)',
      'tied-zero': 'A tied head adds nothing and reads the very same matrix; an untied one has more parameters',
    }),
    seen('position', TINY, {
      'no-position-input':
        'With rotary positions nothing is added to the embedding: the first block reads the rows of the table',
      'one-rope-table': 'One table of sines and cosines serves all layers',
    }),
  ]),
  section('6. generate', [
    seen('cache', TINY, {
      'generate-shape': 'generate returns each prompt followed by its new tokens',
      'cache-work': 'Without a cache, 12 tokens project 1 + 2 + … + 12 positions; with one, each position once',
      'cache-slots': 'One cache slot per layer',
      cached: 'Token by token with a cache equals one full pass',
      'wrong-offset': 'A wrong rotary offset breaks that at once',
    }),
    seen('sampling', TINY, {
      greedy: 'Greedy decoding is deterministic, and is the argmax of full passes without a cache',
      temperature: 'Temperature divides the logits: below 1 sharpens, above 1 flattens, 0 is the argmax',
      'negative-temperature':
        'The tutorial takes the argmax at every temperature up to 0; here 0 takes it, and a negative one is refused',
      'top-k': 'Top-k keeps the k likeliest tokens and shares out their probability',
    }),
  ]),
  section(
    '7. Counting parameters',
    [
      seen('compare', MODERN, {
        embedding: 'Token embedding of the 123.6M model, 50,257 × 768',
        attention: 'Attention of one block: four matrices of 768 × 768',
        ffn: 'SwiGLU of one block: three matrices of 768 × 2048',
        norms: 'Two RMSNorms of one block',
        block: 'One block',
        blocks: 'All twelve blocks',
        'final-norm': 'The final norm',
        'non-embedding': 'Parameters without the embedding',
        tied: 'Total with a tied head',
        'ffn-twice': 'The FFN has twice the parameters of attention in every block',
      }),
      seen('compare', UNTIED, {
        untied: 'Total with a head of its own',
        'tying-saves': 'Tying is worth 38.6M parameters, some 24 % of what the untied model has',
      }),
    ],
    { table: byBlock(MODERN) },
  ),
  section('8. Implementation', [
    seen('training', TINY, { gradients: 'The loss depends on the embedding, on each block’s FFN and on each norm' }),
    seen('compare', MODERN, { invalid: 'Configurations that cannot be are refused, with the reason' }),
  ]),
  section('9. Verify your understanding', [], { exercises: QUESTIONS }),
];
