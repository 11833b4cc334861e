// gguf_archs.js - the architectures of GGUF: what each fixes, its tensor names, and the keys that only some have
//
// Names and defaults are those of llama.cpp (src/llama-arch.cpp, src/models, convert_hf_to_gguf.py). Its converter
// stores some weights of Hugging Face in another form: Gemma's norms with the 1 added; the fused q, k and v of GPT-NeoX
// and BLOOM as three blocks of rows; the rows of q and k permuted where rope_pairs is "adjacent". GELU means its tanh
// form.
import { eachLayer, repeating, windowFields } from '../../engine/config/layer_flags.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Names } from '../../engine/config/tensor_plan.js' */
/**
 * The metadata and tensor names of a file, for one architecture. A key is given without the architecture's name.
 * @typedef {object} Metadata
 * @property {(key: string, fallback?: number | null) => any} number  without a fallback the key must be present
 * @property {(key: string, fallback: boolean) => boolean} flag
 * @property {(key: string) => unknown} value  the value in the file; undefined: absent
 * @property {(tensor: string) => boolean} has
 * @property {(pattern: RegExp) => boolean} hasAny  whether a tensor has such a name
 * @property {(tensor: string) => number} rows  0: there is no such tensor
 * @property {(key: string, value: unknown) => never} unsupported  throws the error for a key that the engine lacks
 * @property {number} layers
 * @property {number} heads
 * @property {number} dModel
 * @property {number} dHead
 */
/**
 * @typedef {object} Architecture
 * @property {Record<string, any>} fields  configuration fields that the architecture fixes
 * @property {Names | ((config: Config) => Names)} [names]  tensor names, if they are not the usual ones
 *   architectures
 * @property {string} [keys]  metadata keys that `derive` reads, separated by spaces
 * @property {boolean} [partial]  a part of each head may be rotated (rope.dimension_count)
 * @property {boolean} [hasExperts]  every layer may have experts (expert_count)
 * @property {boolean} [copiesHead]  converters write a tied embedding twice
 * @property {RegExp} [skips]  names of tensors that have no effect
 * @property {(m: Metadata) => Record<string, any>} [derive]  fields that are computed from metadata and tensors
 */

export const rms = { norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', rope_pairs: 'half' };
export const sandwich = { norm1_post: 'post_attention_norm', norm2_post: 'post_ffw_norm' };

/**
 * The sliding window of some of the layers. attention.sliding_window_pattern is a number n, every n-th layer has no
 * window, or a flag for each layer.
 * @param {Metadata} m
 * @param {number} fallback  the pattern where the key is absent
 * @param {number} [width]  the window where the key is absent
 */
export function windows(m, fallback, width = 0) {
  const key = 'attention.sliding_window_pattern';
  const pattern = m.value(key) ?? fallback;
  const window = m.number('attention.sliding_window', width);
  if (!window) return { sliding_window: 0 };
  const isList = Array.isArray(pattern) && pattern.length === m.layers && pattern.every((x) => typeof x === 'boolean');
  if (!isList && !(Number.isInteger(pattern) && Number(pattern) >= 0)) m.unsupported(key, pattern);
  const n = Number(pattern);
  return windowFields(
    eachLayer(m.layers, (l) => (isList ? pattern[l] : n === 0 || l % n < n - 1)),
    window,
  );
}

/**
 * What q.k is multiplied by in Gemma 2 and 3: in the models of 27 billion parameters, which llama.cpp recognises by the
 * number of their layers, it is not the inverse root of the heads' width.
 * @param {Metadata} m
 * @param {number} layers  number of layers of the model with 27 billion parameters
 */
export const gemmaScale = (m, layers) => ({
  score_scale: (m.layers === layers ? Math.floor(m.dModel / m.heads) : m.dHead) ** -0.5,
});

/** @type {Architecture} */
const gemma = {
  fields: { ...rms, ffn: 'geglu_tanh' },
  derive: (m) => ({ embedding_scale: Math.sqrt(m.dModel) }),
};

/**
 * The architectures that most files have, by the value of general.architecture.
 * @type {Record<string, Architecture>}
 */
export const ARCHITECTURES = {
  llama: { fields: { ...rms, rope_pairs: 'adjacent' }, hasExperts: true }, // with experts: Mixtral
  qwen2: { fields: rms },
  qwen2moe: {
    fields: { ...rms, norm_expert_weights: false },
    hasExperts: true,
    keys: 'expert_shared_feed_forward_length',
    derive: (m) => ({
      d_shared_expert: m.number('expert_shared_feed_forward_length', m.number('feed_forward_length')),
    }),
  },
  qwen3: { fields: { ...rms, qk_norm: true } },
  qwen3moe: { fields: { ...rms, qk_norm: true }, hasExperts: true },
  gpt2: {
    fields: { norm: 'layernorm', ffn: 'gelu_tanh', position: 'learned', bias_norm: true },
    copiesHead: true,
  },
  gemma,
  gemma2: {
    fields: { ...gemma.fields, norm_placement: 'sandwich' },
    names: sandwich,
    keys: 'attn_logit_softcapping final_logit_softcapping attention.sliding_window_pattern',
    derive: (m) => ({
      embedding_scale: Math.sqrt(m.dModel),
      ...gemmaScale(m, 46),
      score_softcap: m.number('attn_logit_softcapping', 50),
      logit_softcap: m.number('final_logit_softcapping', 30),
      ...windows(m, 2, 4096),
    }),
  },
  gemma3: {
    fields: { ...gemma.fields, norm_placement: 'sandwich', qk_norm: true },
    names: sandwich,
    keys: 'final_logit_softcapping attention.sliding_window_pattern rope.freq_base_swa',
    derive(m) {
      const window = windows(m, 6);
      return {
        embedding_scale: Math.sqrt(m.dModel),
        ...gemmaScale(m, 62),
        logit_softcap: m.number('final_logit_softcapping', 0),
        ...window,
        ...(window.sliding_window && { rope_local_theta: m.number('rope.freq_base_swa', 10000) }),
      };
    },
  },
  phi3: {
    fields: rms,
    names: { 'ffn.*': 'ffn_up', 'ffn.down': 'ffn_down' },
    partial: true,
  },
  olmo2: {
    fields: { ...rms, norm_placement: 'output', qk_norm: true, qk_norm_span: 'projection' },
    names: { norm1: 'post_attention_norm', norm2: 'post_ffw_norm' },
    keys: 'attention.sliding_window_pattern rope.freq_base_swa',
    derive(m) {
      const window = windows(m, 4); // OLMo 3; its layers with a window rotate without scaling
      const local = m.number('rope.freq_base_swa', m.number('rope.freq_base', 10000));
      return { ...window, ...(window.sliding_window && { rope_local_theta: local }) };
    },
  },
  granite: {
    fields: { ...rms, rope_pairs: 'adjacent' },
    keys: 'embedding_scale residual_scale attention.scale logit_scale',
    derive: (m) => ({
      ...(m.flag('rope.scaling.finetuned', true) ? {} : { position: 'none' }),
      embedding_scale: m.number('embedding_scale', 0) || 1,
      residual_scale: m.number('residual_scale', 0) || 1,
      score_scale: m.number('attention.scale', 0),
      logit_scale: 1 / m.number('logit_scale'),
    }),
  },
  smollm3: {
    fields: { ...rms, rope_pairs: 'adjacent' },
    derive: (m) => ({ rope_layers: repeating(eachLayer(m.layers, (l) => (l + 1) % 4 !== 0)) }),
  },
};

/** Tensor names of most architectures. @type {Names} */
const NAMES = {
  embed: 'token_embd',
  embed_norm: 'token_embd_norm',
  position: 'position_embd',
  blocks: 'blk',
  norm1: 'attn_norm',
  norm2: 'ffn_norm',
  'attn.o': 'attn_output',
  'attn.q_norm': 'attn_q_norm',
  'attn.k_norm': 'attn_k_norm',
  'ffn.*': 'ffn_*',
  'ffn.router': 'ffn_gate_inp',
  'ffn.experts.gate': 'ffn_gate_exps.weight',
  'ffn.experts.up': 'ffn_up_exps.weight',
  'ffn.experts.down': 'ffn_down_exps.weight',
  'ffn.shared_gate': 'ffn_gate_inp_shexp',
  'ffn.shared_expert.*': 'ffn_*_shexp',
  final_norm: 'output_norm',
  head: 'output',
};

/** Names of experts in files of 2023, which have a tensor for each. @type {Names} */
export const EXPERTS_ONE_BY_ONE = {
  'ffn.experts.gate': 'ffn_gate.#.weight',
  'ffn.experts.up': 'ffn_up.#.weight',
  'ffn.experts.down': 'ffn_down.#.weight',
};

/**
 * Tensor names of an architecture.
 * @param {Architecture} architecture
 * @param {Config} config
 * @param {boolean} fused  whether q, k and v are one tensor
 * @returns {Names}
 */
export const namesOf = ({ names }, config, fused) => ({
  ...NAMES,
  ...(typeof names === 'function' ? names(config) : names),
  'attn.*': fused ? 'attn_qkv' : 'attn_*',
});
