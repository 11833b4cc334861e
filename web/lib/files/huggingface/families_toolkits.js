// families_toolkits.js - the layouts of libraries and courses to study and to train with: TransformerLens, lit-gpt,
// torchtune, Stanford's CS336
import { BIASED, activation, biasKeys, family, gated, like, nameIn, ropeFields } from './families_common.js';
import { llama2c } from './families_written.js';

/** @import { Family } from './families_common.js' */

/** Kinds of norm by TransformerLens' normalization_type: the kind, and whether it has weights. */
const LENS_NORMS = /** @type {Record<string, [string, boolean]>} */ ({
  ...{ LN: ['layernorm', true], LNPre: ['layernorm', false] },
  ...{ RMS: ['rmsnorm', true], RMSPre: ['rmsnorm', false] },
});
/** Positions by its positional_embedding_type. */
const LENS_POSITIONS = /** @type {Record<string, string>} */ ({ standard: 'learned', rotary: 'rope', alibi: 'alibi' });

/** TransformerLens: W_Q is [heads, d_model, d_head], and all matrices are [in, out]. */
const lens = family({
  keys: {
    vocab_size: 'd_vocab',
    d_model: 'd_model',
    n_layers: 'n_layers',
    n_heads: 'n_heads',
    n_kv_heads: 'n_key_value_heads',
    d_head: 'd_head',
    d_ff: 'd_mlp',
    context_length: 'n_ctx',
    norm_eps: 'eps',
    parallel_residual: 'parallel_attn_mlp',
    bias_head: 'bias_head',
    norm: 'norm',
    norm_gain: 'norm_gain',
    position: 'position',
  },
  base: { ...BIASED, bias_head: true, tie_word_embeddings: false },
  required: ['d_ff', 'context_length'],
  reads:
    'act_fn ffn normalization_type positional_embedding_type rotary_dim rotary_base rotary_adjacent_pairs gated_mlp',
  notInTensors: ({ norm_gain: gain, position }) => [
    ...['act_fn', 'norm_eps', ...(gain ? [] : ['normalization_type'])],
    ...(position ? [] : ['positional_embedding_type', 'context_length']),
  ],
  derive(json, unsupported) {
    const kind = json.normalization_type ?? (json.norm_gain === false ? 'LNPre' : undefined);
    if (kind !== undefined && !Object.hasOwn(LENS_NORMS, kind)) unsupported('normalization_type', kind);
    const positions = json.positional_embedding_type;
    if (positions !== undefined && !Object.hasOwn(LENS_POSITIONS, positions))
      unsupported('positional_embedding_type', positions);
    const [norm, norm_gain] = kind === undefined ? [] : LENS_NORMS[kind];
    const act = json.ffn ?? activation(json.act_fn);
    return {
      norm,
      norm_gain,
      ffn: json.gated_mlp ? gated('act_fn', json.act_fn, unsupported) : act,
      position: positions && LENS_POSITIONS[positions],
      rope_pairs: json.rotary_adjacent_pairs ? 'adjacent' : 'half',
      rope_theta: json.rotary_base ?? 10000,
      ...(json.rotary_dim && { rotary_dim: json.rotary_dim }),
    };
  },
  head: 'unembed.W_U',
  names: (config, json, files) => ({
    'embed.weight': 'embed.W_E',
    'position.weight': 'pos_embed.W_pos',
    norm1: 'ln1',
    norm2: 'ln2',
    final_norm: 'ln_final',
    ...Object.fromEntries(
      ['q', 'k', 'v', 'o'].flatMap((part) => {
        const own = [...files].some((name) => name.endsWith(`attn._W_${part.toUpperCase()}`)) ? '_' : '';
        return [
          [`attn.${part}.weight`, `attn.${own}W_${part.toUpperCase()}`],
          [`attn.${part}.bias`, `attn.${own}b_${part.toUpperCase()}`],
        ];
      }),
    ),
    ...{ 'ffn.gate.weight': 'mlp.W_gate', 'ffn.up.weight': 'mlp.W_in', 'ffn.up.bias': 'mlp.b_in' },
    ...{ 'ffn.down.weight': 'mlp.W_out', 'ffn.down.bias': 'mlp.b_out' },
    ...{ 'head.weight': 'unembed.W_U', 'head.bias': 'unembed.b_U' },
  }),
  conventions: { cols: true, colsOfHead: true, gamma: ['.w', '.b'] },
});

/**
 * lit-gpt and LitGPT: q, k and v are one tensor, which older versions sort by groups of heads that share a key.
 */
const litGpt = family({
  keys: {
    vocab_size: 'padded_vocab_size',
    d_model: 'n_embd',
    n_layers: 'n_layer',
    n_heads: 'n_head',
    n_kv_heads: 'n_query_groups',
    d_head: 'head_size',
    d_ff: 'intermediate_size',
    context_length: 'block_size',
    norm: 'norm',
    norm_eps: 'norm_eps',
    rope_theta: 'rope_base',
    ...biasKeys('bias'),
    bias_head: 'lm_head_bias',
    parallel_residual: 'parallel_residual',
    shared_norm: 'shared_attention_norm',
    tie_word_embeddings: 'tie_word_embeddings',
  },
  base: { position: 'rope', rope_pairs: 'half' },
  required: ['d_ff', 'context_length'],
  reads: 'norm_class_name mlp_class_name rotary_percentage activation',
  notInTensors: ({ norm }) => [
    ...['n_heads', 'norm_eps', 'rope_theta', 'context_length'],
    ...(norm === 'layernorm' ? ['rotary_percentage', 'parallel_residual'] : []),
  ],
  sizes: ({ bias_qkv, ffn, norm }) => ({
    bias: bias_qkv,
    ...(norm !== 'layernorm' && { norm_class_name: 'RMSNorm', rotary_percentage: 1, parallel_residual: false }),
    mlp_class_name: ffn ? 'LLaMAMLP' : 'GptNeoxMLP',
  }),
  derive(json, unsupported) {
    const mlp = json.mlp_class_name ?? 'GptNeoxMLP';
    if (!['GptNeoxMLP', 'LLaMAMLP', 'GemmaMLP'].includes(mlp)) unsupported('mlp_class_name', mlp);
    const kind = json.norm_class_name ?? 'LayerNorm';
    const share = json.rotary_percentage ?? 0.25;
    return {
      norm: kind === 'RMSNorm' ? 'rmsnorm' : kind === 'LayerNorm' ? 'layernorm' : unsupported('norm_class_name', kind),
      ffn: mlp === 'GptNeoxMLP' ? activation(json.activation ?? 'gelu') : mlp === 'LLaMAMLP' ? 'swiglu' : 'geglu_tanh',
      ...ropeFields({ ...json, partial_rotary_factor: share }, unsupported, { partial: share }),
      rope_theta: json.rope_base ?? 10000,
      parallel_residual: json.parallel_residual ?? true,
    };
  },
  prefixes: ['transformer.', ''],
  names: (config, json, files) => ({
    blocks: 'h',
    embed: 'wte',
    norm1: 'norm_1',
    norm2: 'norm_2',
    'attn.*': nameIn(files, ['attn.qkv', 'attn.attn'], 'transformer.h.0.'),
    'attn.o': 'attn.proj',
    ...(config.ffn.includes('glu')
      ? { 'ffn.gate': 'mlp.fc_1', 'ffn.up': files.has('transformer.h.0.mlp.fc.weight') ? 'mlp.fc' : 'mlp.fc_2' }
      : { 'ffn.up': 'mlp.fc' }),
    'ffn.down': 'mlp.proj',
    final_norm: 'ln_f',
    head: '/lm_head',
  }),
  conventions: (files) => ({ heads: files.has('transformer.h.0.attn.attn.weight') }),
});

/** Names that torchtune and CS336 have in common. */
const OUTPUT_PROJ = { 'attn.*': 'attn.*_proj', 'attn.o': 'attn.output_proj' };

/** torchtune: its Llama and Mistral rotate neighbouring components, its Qwen the halves of each head. */
const torchtune = like(llama2c, {
  keys: { d_head: 'head_dim', bias_qkv: 'bias_qkv', qk_norm: 'qk_norm' },
  derive: (json) => ({ rope_pairs: json.bias_qkv || json.qk_norm ? 'half' : 'adjacent' }),
  names: {
    ...{ ...OUTPUT_PROJ, 'attn.q_norm': 'attn.q_norm', 'attn.k_norm': 'attn.k_norm' },
    ...{ norm1: 'sa_norm', norm2: 'mlp_norm', 'ffn.gate': 'mlp.w1', 'ffn.down': 'mlp.w2', 'ffn.up': 'mlp.w3' },
  },
  conventions: { gamma: ['.scale', '.shift'] },
});

/** The model of the first assignment of Stanford's CS336. */
const cs336 = like(llama2c, {
  keys: { d_model: 'd_model', n_layers: 'num_layers', n_heads: 'num_heads', n_kv_heads: 'num_kv_heads', d_ff: 'd_ff' },
  notInTensors: () => ['n_heads', 'rope_theta', 'context_length'],
  head: 'lm_head.weight',
  names: {
    ...{ ...OUTPUT_PROJ, embed: 'token_embeddings', norm1: 'ln1', norm2: 'ln2', final_norm: 'ln_final' },
    ...{ 'ffn.gate': 'ffn.w1', 'ffn.down': 'ffn.w2', 'ffn.up': 'ffn.w3', head: 'lm_head' },
  },
});

/** The layouts of this file by model_type. @type {Record<string, Family>} */
export const TOOLKITS = { 'transformer-lens': lens, litgpt: litGpt, torchtune, cs336 };
