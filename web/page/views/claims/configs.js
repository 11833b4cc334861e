// configs.js - configurations and tokens that several claims use
import { ids } from './arithmetic.js';

/** Tokens for the small checkpoints of all tutorials but the second, which has a source and a target. */
export const WORDS = ids(12, 48, 3),
  SOURCE = ids(9, 40, 4),
  TARGET = ids(12, 40, 3),
  TRANSLATION = { ids: TARGET, source: SOURCE };

/** Presets of tutorials 1 and 5. */
export const MODERN = 'modern-124m',
  UNTIED = 'modern-124m-untied',
  GPT = 'tutorial-5',
  WALK = 'tutorial-5-walk',
  QUIZ = 'tutorial-5-quiz';

/** The modern decoder of tutorial 1, small. */
export const TINY = {
  ...{ vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 4, d_ff: 96, context_length: 64 },
  norm_eps: 1e-6,
};

/** The modern decoder with post-norm, in the design of 2017, and with fifty blocks that have no norms. */
export const POST = /** @type {const} */ ({ ...TINY, norm: 'layernorm', norm_placement: 'post', final_norm: true }),
  CLASSICAL = /** @type {const} */ ({ ...POST, ffn: 'gelu_erf', position: 'sinusoidal' }),
  DEEP = { ...TINY, d_model: 16, n_heads: 2, d_ff: 32, n_layers: 50, use_norm: false };

/** Preset of tutorial 2. */
export const SEQ2SEQ = 'tutorial-2';

const BIASES = { bias_qkv: true, bias_attn_out: true, bias_ffn: true };

/** One encoder block, as the first half of the model of tutorial 2 has it. */
export const ENCODER = /** @type {const} */ ({
  kind: 'encoder',
  ...{ vocab_size: 40, d_model: 32, n_layers: 2, n_heads: 4, d_ff: 64, context_length: 50 },
  norm: 'layernorm',
  norm_placement: 'post',
  ffn: 'relu',
  position: 'sinusoidal',
  ...BIASES,
});

/** The block of tutorial 3 alone: its sizes, without positions or a final norm around it. */
export const BLOCK = /** @type {const} */ ({
  ...{ vocab_size: 32, d_model: 64, n_layers: 1, n_heads: 8, context_length: 16 },
  norm: 'layernorm',
  norm_eps: 1e-5,
  ffn: 'gelu_erf',
  position: 'none',
  final_norm: false,
});
/** The same, twice as wide. */
export const WIDE = { ...BLOCK, d_model: 128 };

/** GPT-2 of tutorial 4, small. */
export const TINY_GPT2 = /** @type {const} */ ({
  ...{ vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 4, context_length: 32 },
  norm: 'layernorm',
  ffn: 'gelu_tanh',
  position: 'learned',
  ...BIASES,
});

/** GPT-2 small as the class of tutorial 5 has it: no biases in linear maps. */
export const SMALL = /** @type {const} */ ({
  ...{ vocab_size: 50257, d_model: 768, n_layers: 12, n_heads: 12, context_length: 1024 },
  norm: 'layernorm',
  ffn: 'gelu_erf',
  position: 'learned',
});
