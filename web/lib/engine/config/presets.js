// presets.js - named configurations
import { fail, show } from '../../base/errors.js';
import { didYouMean } from '../../base/nearest.js';

/** @type {Record<string, any>} */
const GPT2 = {
  vocab_size: 50257,
  context_length: 1024,
  norm: 'layernorm',
  norm_eps: 1e-5,
  ffn: 'gelu_tanh',
  position: 'learned',
  bias_qkv: true,
  bias_attn_out: true,
  bias_ffn: true,
  tie_word_embeddings: true,
};
const LLAMA_7B = {
  vocab_size: 32000,
  d_model: 4096,
  n_layers: 32,
  n_heads: 32,
  d_ff: 11008,
  context_length: 2048,
  norm_eps: 1e-6,
  tie_word_embeddings: false,
};
const LLAMA3_8B = {
  vocab_size: 128256,
  d_model: 4096,
  n_layers: 32,
  n_heads: 32,
  n_kv_heads: 8,
  d_ff: 14336,
  context_length: 8192,
  norm_eps: 1e-5,
  rope_theta: 500000,
  tie_word_embeddings: false,
};
const MODERN = {
  vocab_size: 50257,
  d_model: 768,
  n_layers: 12,
  n_heads: 12,
  d_ff: 2048,
  context_length: 8192,
  norm_eps: 1e-6,
};
const TRANSFORMER_2017 = {
  kind: 'encoder_decoder',
  vocab_size: 37000,
  d_model: 512,
  n_layers: 6,
  n_heads: 8,
  d_ff: 2048,
  context_length: 5000,
  norm: 'layernorm',
  norm_placement: 'post',
  ffn: 'relu',
  position: 'sinusoidal',
  bias_qkv: true,
  bias_attn_out: true,
  bias_ffn: true,
  bias_head: true,
  tie_word_embeddings: false,
};
const PLAIN_GPT = {
  norm: 'layernorm',
  norm_eps: 1e-5,
  ffn: 'gelu_erf',
  position: 'learned',
  tie_word_embeddings: true,
};

/**
 * @typedef {'gpt2' | 'gpt2-medium' | 'gpt2-large' | 'gpt2-xl' | 'llama-7b' | 'llama2-7b' | 'llama3-8b' | 'llama3-70b'
 *   | 'smollm2-135m' | 'modern-124m' | 'modern-124m-untied' | 'classical-decoder' | 'transformer-2017' | 'tutorial-2'
 *   | 'tutorial-3' | 'tutorial-5' | 'tutorial-5-walk' | 'tutorial-5-quiz'} Preset
 */
/**
 * Fields of Config by the name of the preset; absent fields have their defaults. The tutorials are numbered as in the
 * documentation: 1 the modern decoder, 2 the encoder-decoder of 2017, 3 the block, 4 GPT-2, 5 the full GPT and its
 * exercises.
 * @type {Readonly<Record<Preset, Readonly<Record<string, any>>>>}
 */
export const PRESETS = Object.freeze({
  gpt2: { ...GPT2, d_model: 768, n_layers: 12, n_heads: 12 },
  'gpt2-medium': { ...GPT2, d_model: 1024, n_layers: 24, n_heads: 16 },
  'gpt2-large': { ...GPT2, d_model: 1280, n_layers: 36, n_heads: 20 },
  'gpt2-xl': { ...GPT2, d_model: 1600, n_layers: 48, n_heads: 25 },
  'llama-7b': LLAMA_7B,
  'llama2-7b': { ...LLAMA_7B, context_length: 4096, norm_eps: 1e-5 },
  'llama3-8b': LLAMA3_8B,
  'llama3-70b': { ...LLAMA3_8B, d_model: 8192, n_layers: 80, n_heads: 64, d_ff: 28672 },
  'smollm2-135m': {
    vocab_size: 49152,
    d_model: 576,
    n_layers: 30,
    n_heads: 9,
    n_kv_heads: 3,
    d_ff: 1536,
    context_length: 8192,
    norm_eps: 1e-5,
    rope_theta: 100000,
    tie_word_embeddings: true,
  },
  'modern-124m': MODERN,
  'modern-124m-untied': { ...MODERN, tie_word_embeddings: false },
  'classical-decoder': {
    vocab_size: 50257,
    d_model: 768,
    n_layers: 12,
    n_heads: 12,
    d_ff: 3072,
    context_length: 8192,
    norm: 'layernorm',
    norm_placement: 'post',
    final_norm: true,
    ffn: 'gelu_erf',
    position: 'sinusoidal',
  },
  'transformer-2017': TRANSFORMER_2017,
  'tutorial-2': {
    ...TRANSFORMER_2017,
    vocab_size: 1000,
    d_model: 64,
    n_layers: 2,
    n_heads: 4,
    d_ff: 128,
    context_length: 50,
  },
  'tutorial-3': { ...PLAIN_GPT, vocab_size: 256, d_model: 64, n_layers: 1, n_heads: 8, context_length: 16 },
  'tutorial-5': { ...PLAIN_GPT, vocab_size: 1000, d_model: 128, n_layers: 4, n_heads: 4, context_length: 64 },
  'tutorial-5-walk': { ...PLAIN_GPT, vocab_size: 32000, d_model: 512, n_layers: 6, n_heads: 8, context_length: 128 },
  'tutorial-5-quiz': {
    ...PLAIN_GPT,
    vocab_size: 50000,
    d_model: 2048,
    n_layers: 24,
    n_heads: 16,
    context_length: 2048,
  },
});

/**
 * The fields of a preset; an unknown name is refused.
 * @param {string} name
 * @returns {Readonly<Record<string, any>>}
 */
export function presetConfig(name) {
  return Object.hasOwn(PRESETS, name)
    ? PRESETS[/** @type {Preset} */ (name)]
    : fail(
        'bad-argument',
        `there is no preset ${show(name)}` +
          (didYouMean(name, Object.keys(PRESETS)) || `, expected one of ${Object.keys(PRESETS).join(', ')}`),
      );
}
