// tutorial5.js - claims of day 7 of a course on language models: the full GPT, its parameters, its shapes, and its
// exercises.

import { number } from '../learn/typed_answer.js';
import { GPT, QUIZ, SMALL, TINY, WALK } from './configs.js';
import { byBlock, count } from './parameter_table.js';
import { sectionsOf, seen } from './tutorial_sections.js';
import { runs as counts } from './runs/gpt_counts.js';
import { runs as model, familyTable } from './runs/gpt_model.js';
import { runs as stream } from './runs/gpt_stream.js';

const section = sectionsOf(5, { ...counts, ...model, ...stream });
const MODEL = { preset: GPT };
const LLAMA = 'llama-7b';

/** @type {import('./tutorial_sections.js').Exercise[]} */
const EXERCISES = [
  { text: 'Forward random ids through the tiny GPT.', ids: { model: MODEL, n: 32 } },
  {
    text: 'How many parameters has the tiny GPT of 4 blocks, width 128, 1000 tokens, 64 positions? (5 % are allowed)',
    answer: (g) => within(g.countParameters(GPT).total),
  },
  {
    text: 'What is its loss before training? (two decimals)',
    answer: () => number(Math.log(1000), 'ln 1000 = 6.91', 0.02),
  },
];

/** A count that the rule 12D² gives too. @param {number} total */
const within = (total) => number(total, total.toLocaleString('en'), 0.05 * total);

/** The quiz gives no number of positions. @param {import('./parameter_table.js').Table} table */
const withoutPositions = (table) => table.total - count(table, 'position');

/** @type {import('./tutorial_sections.js').Exercise[]} */
const QUIZ_QUESTIONS = [
  {
    text: 'How many parameters has D = 2048, 24 layers, V = 50,000, plain GELU, tied? (5 % are allowed)',
    answer: (g) => within(withoutPositions(g.countParameters(QUIZ))),
  },
  {
    text: 'A batch of shape (2, 64) goes through the tiny GPT. How many numbers are its logits?',
    answer: (g) => number(2 * 64 * g.completeConfig(GPT).vocabSize),
  },
  {
    text: 'How many numbers does the feed-forward network make of each token there, at its widest?',
    answer: (g) => number(g.completeConfig(GPT).dFf),
  },
];

/** Variants of the model. */
const EIGHT = { ...MODEL, n_layers: 8 };

export const sections = [
  section('The architecture', [
    seen('stream', MODEL, {
      shape:
        'A batch of shape (2, 32) through the model (1000, 128, 4 heads, 4 layers, 64 positions) becomes logits of shape (2, 32, 1000)',
      'width-kept': 'The stream keeps its shape through all blocks; only the last map widens it to the vocabulary',
    }),
  ]),
  section('Layer normalization', [
    seen('norm', MODEL, {
      'per-token': 'Normalisation works within each token: a sequence gives the same logits alone and in a batch',
    }),
    seen('norm', TINY, { rmsnorm: 'RMSNorm divides by the root mean square alone' }),
    seen('parameters', MODEL, { 'norm-parameters': 'LayerNorm has 2D parameters, RMSNorm D' }),
    seen('cost', MODEL, { 'norm-cost': 'RMSNorm is the cheaper of the two' }),
  ]),
  section('Residual connections', [
    seen('stream', MODEL, {
      'stream-sum': 'The stream is never replaced: behind any block it is the embedding plus all contributions so far',
      'identity-prior':
        'At the start every block is nearly the identity: what it adds is small beside a stream of unit size',
    }),
  ]),
  section('Feed-forward network', [
    seen('compare', LLAMA, {
      'ffn-table': 'GELU at 4D and SwiGLU at about 8D/3 both have about 8D² parameters',
      'ffn-share': 'The FFN holds about two thirds of LLaMA-7B',
    }),
  ]),
  section('The full model', [
    seen('stream', MODEL, {
      reference: 'A file with the names of its classes gives the logits of its arithmetic in double precision',
    }),
    seen('compare', 'gpt2', { tying: 'Tying saves 50,257 × 768 × 4 bytes in GPT-2 small, about 150 MB' }),
    seen('compare', 'llama3-70b', {
      'one-class':
        'One architecture at every scale: GPT-2, LLaMA-7B and LLaMA-3 70B are sizes and components of one configuration',
    }),
  ]),
  section(
    'Counting parameters',
    [
      seen('compare', 'gpt2', {
        projections: 'A block: 3D² for queries, keys and values, D² for the output, 4D² up, 4D² down, 4D in two norms',
        rule: 'A block has about 12D² parameters',
        'gpt2-small': 'GPT-2 small: about 85M in the blocks and 39M in the embeddings, together 124M',
        'positions-small': 'The position table is a small part, often under 1 %',
      }),
      seen('compare', LLAMA, {
        'llama-attention': 'LLaMA-7B: attention of a block, 4 × 4096², about 67M',
        'llama-ffn': 'LLaMA-7B: SwiGLU of a block, 3 × 4096 × 11008, about 135M',
        'llama-block': 'LLaMA-7B: a block about 202M, all 32 about 6.5B',
        'llama-embeddings': 'LLaMA-7B: embedding and head apart, 2 × 32,000 × 4096, about 262M',
        'llama-total': 'LLaMA-7B in all',
      }),
    ],
    { table: byBlock(SMALL) },
  ),
  section(
    'Three families',
    [
      seen('cross', 'weights/dates/', {
        families: 'Encoder-only sees both ways, decoder-only backwards, encoder-decoder both, each in its half',
      }),
    ],
    { table: familyTable },
  ),
  section('Tracing shapes', [
    seen(
      'compare',
      WALK,
      { walk: 'The whole walk of a batch of shape (4, 128) through width 512, 8 heads, 6 layers, vocabulary 32,000' },
      true,
    ),
  ]),
  section('Cost', [
    seen('compare', LLAMA, {
      flops: 'Two operations for each parameter and token: about 14 GFLOPs for LLaMA-7B',
      'tokens-per-second': 'At 80 TFLOPs that is about 5,700 tokens a second',
      'kv-7b': 'The kv cache of LLaMA-7B for 4096 tokens in f16: 32 × 2 × 4096 × 4096 × 2 bytes, about 2 GB',
      'kv-block': 'One block’s share is 2 × T × D_kv × bytes of the number format',
      activations: 'Activations of one LLaMA-7B block for a single token in f16, megabytes by the lesson',
    }),
    seen('compare', 'llama3-70b', { 'kv-70b': 'The kv cache of LLaMA-3 70B for 131,072 tokens: about 40 GB' }),
  ]),
  section(
    'Exercises',
    [
      seen('norm', MODEL, { layernorm: 'Exercise: LayerNorm agrees with the reference formula' }),
      seen('parameters', MODEL, {
        'rule-exercise':
          'Exercise: by the rule, 4 blocks of width 128, 1000 tokens and 64 positions come within 5 % of the exact count',
      }),
      seen('training', MODEL, {
        'fresh-loss': 'Exercise: the loss of a fresh model is close to ln(V), that of a guess over 1000 tokens',
        'default-loss': 'The same exercise on its class as printed, which leaves the weights to PyTorch’s defaults',
      }),
      seen('cache', MODEL, {
        generate: 'Exercise: generation without a cache, by full passes, gives the tokens that the cached one gives',
      }),
      seen('stream', EIGHT, {
        drift:
          'Exercise: the size of the stream drifts from block to block, since nothing normalises it; the final norm does',
      }),
    ],
    { exercises: EXERCISES },
  ),
  section(
    'Quiz',
    [
      seen('compare', QUIZ, { quiz: 'Exercise: D = 2048, 24 layers, V = 50,000, plain GELU, tied' }),
      seen('stream', MODEL, { trace: 'Exercise: the shape after every sublayer, for a batch of shape (2, 64)' }),
    ],
    { exercises: QUIZ_QUESTIONS },
  ),
];
