// training_options.js - the settings of a training run: the model's architecture and the options of training

/** @typedef {'modern' | 'classical' | 'plain' | 'original'} Block */
/** What is predicted; adapter: the next token, by the loaded model. @typedef {'next' | 'masked' | 'pairs' | 'adapter'} Objective */
/**
 * Values of the form's fields, by their keys.
 * @typedef {{ objective: Objective, block: Block, n_layers: number, n_heads: number, d_model: number, vocab_size: number,
 *   context_length: number, steps: number | null, every: number | null, seed: number | null,
 *   optimiser: 'muon' | 'adamw', lr: number, weight_decay: number, dropout: number,
 *   rank: number, alpha: number, modules: 'some' | 'all' }} Values  the last three: of an adapter
 */

export const SECONDS = 20; // training ends after them, unless a number of steps is set
export const HELD = 0.1; // share of the text that is held out
const BATCH = 256; // tokens of a step: few, so that a short text is not soon known by heart
const LOOKS = 10; // samples of a run, unless set
const BIASES = { bias_qkv: true, bias_attn_out: true, bias_ffn: true };

/** Blocks of the papers. Widths are multiples of 32, so that Q8_0 and Q4_0 hold every matrix.
 * @type {Record<Block, (d: number) => Record<string, any>>} */
const BLOCKS = {
  modern: (d) => ({ norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', d_ff: Math.ceil(d / 12) * 32 }),
  classical: (d) => ({
    ...{ norm: 'layernorm', norm_eps: 1e-5, ffn: 'gelu_tanh', position: 'learned', d_ff: 4 * d },
    ...BIASES,
  }),
  plain: (d) => ({ norm: 'layernorm', norm_eps: 1e-5, ffn: 'gelu_erf', position: 'learned', d_ff: 4 * d }),
  original: (d) => ({
    ...{ norm: 'layernorm', norm_placement: 'post', ffn: 'relu', position: 'sinusoidal', d_ff: 4 * d },
    ...BIASES,
  }),
};

/** Stacks by objective. @type {Record<Objective, (layers: number) => Record<string, any>>} */
const KINDS = {
  adapter: () => ({}),
  next: () => ({ kind: 'decoder' }),
  masked: () => ({ kind: 'encoder', mlm_head: true }),
  pairs: (n_encoder_layers) => ({ kind: 'encoder_decoder', n_encoder_layers }),
};
/** Targets of each token of a batch. @type {Record<Objective, number>} */
const TARGETS = { next: 1, masked: 0.15, pairs: 1, adapter: 1 };

/** @type {Record<string, Partial<Values>>} */
export const PRESETS = {
  'modern, 2 layers × 64': { block: 'modern', n_layers: 2, n_heads: 4, d_model: 64 },
  'GPT-2 style, 2 layers × 64': { block: 'classical', n_layers: 2, n_heads: 4, d_model: 64 },
  'tutorials 3 and 5, 2 layers × 64': { block: 'plain', n_layers: 2, n_heads: 4, d_model: 64 },
  'the block of 2017, 2 layers × 64': { block: 'original', n_layers: 2, n_heads: 4, d_model: 64 },
  'one layer, one head': { block: 'modern', n_layers: 1, n_heads: 1, d_model: 32 },
};
/** The preset that these values are, '' for none. */
export const presetOf = (/** @type {Values} */ values) =>
  Object.keys(PRESETS).find((name) =>
    Object.entries(PRESETS[name]).every(([key, v]) => values[/** @type {keyof Values} */ (key)] === v),
  ) ?? '';

export const BYTES = 257; // each byte a token, and the separator
/** Choices of a field. @type {Record<string, number[]>} */
export const CHOICES = {
  n_layers: [1, 2, 3, 4, 6],
  n_heads: [1, 2, 4, 8],
  d_model: [32, 64, 96, 128],
  vocab_size: [BYTES, 384, 512, 1024],
  context_length: [32, 64, 128, 256],
  lr: [0.0003, 0.001, 0.003, 0.01],
  weight_decay: [0, 0.01, 0.1, 0.3],
  dropout: [0, 0.1, 0.2],
  rank: [1, 2, 4, 8, 16, 32],
  alpha: [1, 2, 4, 8, 16, 32, 64],
};
/** Least and most of a number. @type {Record<'steps' | 'every' | 'seed', [number, number]>} */
export const RANGES = { steps: [1, 100_000], every: [1, 100_000], seed: [0, 4294967295] };

/** @type {Values} */
export const FIRST = {
  ...{ objective: 'next', block: 'modern', n_layers: 2, n_heads: 4, d_model: 64 },
  ...{ vocab_size: 384, context_length: 64, steps: null, every: null, seed: 1 },
  ...{ optimiser: 'muon', lr: 0.003, weight_decay: 0.1, dropout: 0.1 },
  ...{ rank: 8, alpha: 16, modules: 'some' },
};

/** @param {'steps' | 'every' | 'seed'} key @param {number | null} value */
function within(key, value) {
  const [least, most] = RANGES[key];
  return value === null || !Number.isFinite(value) ? null : Math.min(most, Math.max(least, Math.trunc(value)));
}

/** @param {Values} values */
export function setupOf(values) {
  const { objective, block, n_layers, n_heads, d_model, vocab_size, context_length } = values;
  const steps = within('steps', values.steps),
    { rank, alpha, modules, optimiser, lr, weight_decay: weightDecay, dropout } = values;
  return {
    config: {
      ...{ ...KINDS[objective](n_layers), d_model, n_layers, n_heads, context_length, tie_word_embeddings: true },
      ...BLOCKS[block](d_model),
    },
    objective,
    /** Options of the library's `train`, without `steps`. */
    options: {
      ...(objective === 'adapter'
        ? { lora: { rank, alpha, ...(modules === 'all' && { modules: /** @type {const} */ ('all-linear') }) } }
        : { vocabSize: vocab_size, muon: optimiser === 'muon', lr, weightDecay }),
      batchTokens: Math.max(BATCH, context_length),
      dropout,
      seed: within('seed', values.seed) ?? 1,
    },
    steps, // null: as many as fit into SECONDS
    /** Steps between two samples. */
    every: within('every', values.every) ?? Math.max(1, Math.round((steps ?? 400) / LOOKS)),
    gguf: objective === 'next' && (block === 'modern' || block === 'classical'), // whether that format knows such a model
  };
}

/**
 * Steps that fit into SECONDS at this speed, in whole tens.
 * @param {number} targetsPerSecond
 * @param {number} batchTokens
 * @param {Objective} objective
 */
export const stepsFor = (targetsPerSecond, batchTokens, objective) =>
  Math.min(2000, Math.max(60, 10 * Math.round((SECONDS * targetsPerSecond) / TARGETS[objective] / batchTokens / 10)));

export const SEPARATOR = '<|endoftext|>';
/** Each paragraph is learnt by itself. */
export const stories = (/** @type {string} */ text) =>
  text
    .trim()
    .split(/\n\s*\n/)
    .join(`\n${SEPARATOR}\n`);
export const paragraphs = (/** @type {string} */ text) => stories(text).split(SEPARATOR).length;
