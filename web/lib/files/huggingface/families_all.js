// families_all.js - the model families of Hugging Face and of the tutorials: how their config.json and their tensor
// names map to ours
//
// A family's defaults are those of its configuration class in transformers. To add a family, add its entry to
// families_llama.js, families_gpt.js, families_bert.js or families_seq2seq.js, or here; that of a class that people
// write to families_written.js.
import { fail } from '../../base/errors.js';
import { BIASED, activation, biasKeys, family, nameIn, product } from './families_common.js';
import { BERT_LIKE } from './families_bert.js';
import { FUSED } from './families_fused.js';
import { GPT_LIKE } from './families_gpt.js';
import { VARIANTS } from './families_variants.js';
import { WITH_PICTURES } from './families_pictures.js';
import { LLAMA_LIKE } from './families_llama.js';
import { MODERN } from './families_modern.js';
import { SEQ2SEQ } from './families_seq2seq.js';
import { TOOLKITS } from './families_toolkits.js';
import { WRITTEN } from './families_written.js';

/** @import { Family } from './families_common.js' */

/** Tutorial 1's modern decoder and its classical variants. */
const rlvr = family({
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'd_model',
    n_layers: 'n_layers',
    n_heads: 'n_heads',
    d_ff: 'd_ff',
    context_length: 'max_seq_len',
    norm: 'norm',
    norm_eps: 'norm_eps',
    position: 'positional',
    rope_theta: 'rope_base',
    ...biasKeys('bias'),
    tie_word_embeddings: 'tie_embeddings',
  },
  aliases: { max_len: 'max_seq_len', tie_weights: 'tie_embeddings' },
  notInTensors: ({ position }) => ['n_heads', 'pre_norm', ...(position ? [] : ['position'])],
  sizes: ({ ffn }) => ({ ffn: ffn ?? 'gelu' }),
  base: { context_length: 8192, final_norm: true },
  reads: 'final_norm final_norm_eps',
  derive(json, unsupported, files) {
    const isPrinted = (json.norm ?? 'rmsnorm') === 'rmsnorm' && (json.ffn ?? 'swiglu') === 'swiglu';
    for (const key of files && !isPrinted ? ['pre_norm', 'positional'] : [])
      if (json[key] === undefined)
        fail(
          'bad-config',
          `config.json: ${key} is missing, and the tensors do not tell it: add it, or give it in the option config`,
        );
    // The literal Transformer ends with an RMSNorm, whatever the norms of its blocks are.
    const isLiteral = files?.has('final_norm.gamma') && !files.has('final_norm.beta') && json.norm === 'layernorm';
    const kind = json.final_norm ?? (isLiteral ? 'rmsnorm' : undefined);
    const pairs = json.rope_convention ?? 'rotate_half';
    if (pairs !== 'rotate_half' && pairs !== 'interleaved') unsupported('rope_convention', pairs);
    return {
      ffn: activation(json.ffn ?? 'swiglu'),
      norm_placement: (json.pre_norm ?? true) ? 'pre' : 'post',
      rope_pairs: pairs === 'interleaved' ? 'adjacent' : 'half',
      final_norm_kind: kind,
      final_norm_eps: json.final_norm_eps ?? (kind === 'rmsnorm' && json.norm === 'layernorm' ? 1e-6 : undefined),
    };
  },
  names: (config, json, files) => ({
    embed: 'token_emb',
    position: 'pos_emb.embedding',
    'attn.q': 'attn.W_Q',
    'attn.k': 'attn.W_K',
    'attn.v': 'attn.W_V',
    'attn.o': 'attn.W_O',
    ...(config.ffn === 'swiglu' && !files.has('blocks.0.ffn.W_1.weight')
      ? { 'ffn.*': 'ffn.W_*' }
      : { 'ffn.up': 'ffn.W_1', 'ffn.down': 'ffn.W_2' }),
    head: 'lm_head',
  }),
  conventions: { gamma: true },
});

/**
 * Tutorial 2's encoder-decoder of 2017. Its layers are named decoder.layers.0 by PyTorch, and decoder.0 by a loop over
 * the modules of its Decoder, which is a list.
 */
const bareBones = family({
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'hidden_size',
    n_layers: 'num_layers',
    n_encoder_layers: 'num_layers',
    n_heads: 'num_heads',
    d_ff: 'ff_size',
    context_length: 'max_len',
    norm_eps: 'layer_norm_eps',
    tie_word_embeddings: 'tied_head',
    embedding_scale: 'embedding_scale',
  },
  base: {
    kind: 'encoder_decoder',
    context_length: 5000,
    norm: 'layernorm',
    final_norm: false,
    position: 'sinusoidal',
    ...BIASED,
    bias_head: true,
    tie_word_embeddings: false,
  },
  required: ['d_ff'],
  derive(json, unsupported) {
    if (json.shared_embedding === false) unsupported('shared_embedding', false);
    const mask = json.mask_mode ?? 'causal';
    if (!['causal', 'padmask', 'nomask'].includes(mask)) unsupported('mask_mode', mask);
    return {
      ffn: activation(json.activation ?? 'relu'),
      norm_placement: (json.post_norm ?? true) ? 'post' : 'pre',
      causal: mask !== 'nomask',
    };
  },
  names: (config, json, files) => ({
    'embed.weight': 'token_embedding.embedding',
    encoder: 'encoder.layers',
    decoder: files.has('decoder.0.masked_self_attn.q_linear.weight') ? 'decoder' : 'decoder.layers',
    'encoder.attn.*': 'self_attn.*_linear',
    'encoder.attn.o': 'self_attn.fc',
    'decoder.attn.*': 'masked_self_attn.*_linear',
    'decoder.attn.o': 'masked_self_attn.fc',
    'cross_attn.*': 'enc_dec_attn.*_linear',
    'cross_attn.o': 'enc_dec_attn.fc',
    norm1: 'add_norm1.norm',
    norm2: 'add_norm2.norm',
    norm3: 'add_norm3.norm',
    'ffn.up': 'ff.linear1',
    'ffn.down': 'ff.linear2',
    head: 'final_linear',
  }),
  conventions: { gamma: true },
});

/**
 * The plain pre-norm GPT of tutorials 3 and 5. Tutorial 3 names the norms ln_1 and ln_2 and does not print its
 * attention class: the usual names are accepted. Tutorial 5 has norm1, norm2, attn.W_QKV, attn.W_O and norm_f.
 */
const plainGpt = family({
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'd_model',
    n_layers: 'n_layers',
    n_heads: 'n_heads',
    context_length: 'context',
    norm_eps: 'norm_eps',
    bias_qkv: 'attn_bias',
    bias_attn_out: 'attn_bias',
    bias_ffn: 'mlp_bias',
    bias_norm: 'ln_bias',
    tie_word_embeddings: 'tie_embeddings',
  },
  aliases: { max_seq_len: 'context', mlp_ratio: 'mlp_mult', tie_weights: 'tie_embeddings' },
  base: { norm: 'layernorm', position: 'learned' },
  required: ['context_length'],
  notInTensors: () => ['n_heads'],
  sizes: ({ d_ff, d_model }) => ({ mlp_mult: d_ff / d_model }),
  derive: (json) => ({
    ffn: activation(json.activation ?? 'gelu_erf'),
    d_ff: product(json.mlp_mult ?? 4, json.d_model),
  }),
  names(config, json, files) {
    const qkv = nameIn(files, ['attn.qkv', 'attn.W_QKV', 'attn.W_qkv', 'attn.qkv_proj', 'attn.c_attn']);
    /** @param {string} l  q, k or v */
    const separateName = (l) =>
      nameIn(files, [`attn.${l}`, `attn.W_${l.toUpperCase()}`, `attn.W_${l}`, `attn.${l}_proj`]);
    const separate = { 'attn.q': separateName('q'), 'attn.k': separateName('k'), 'attn.v': separateName('v') };
    const isFused =
      files.has(`blocks.0.${qkv}.weight`) ||
      (!files.has(`blocks.0.${separate['attn.q']}.weight`) && (json.fused_qkv ?? true));
    return {
      embed: 'tok_emb',
      position: 'pos_emb',
      norm1: nameIn(files, ['ln1', 'ln_1', 'norm1']),
      norm2: nameIn(files, ['ln2', 'ln_2', 'norm2']),
      ...(isFused ? { 'attn.*': qkv } : separate),
      'attn.o': nameIn(
        files,
        'proj W_O W_o o o_proj out_proj c_proj'.split(' ').map((name) => `attn.${name}`),
      ),
      'ffn.up': 'mlp.fc1',
      'ffn.down': 'mlp.fc2',
      final_norm: nameIn(files, ['ln_f', 'norm_f'], ''),
      head: 'lm_head',
    };
  },
});

/** Families of which a checkpoint without a config.json is none: their classes always save one. */
export const ALWAYS_CONFIGURED = new Set([
  ...Object.keys({ ...VARIANTS, ...FUSED, ...WITH_PICTURES, ...MODERN }).filter((name) => name !== 'nanochat'),
  ...['plbart', 'mvp', 'mbart', 'blenderbot', 'pegasus', 'm2m_100'],
  ...['albert', 'ernie', 'electra', 'roformer', 'megatron-bert', 'xlm-roberta-xl'],
  ...['roberta-prelayernorm', 'data2vec-text', 'big_bird', 'rembert'],
]);

/**
 * The supported families by model_type.
 * @type {Record<string, Family>}
 */
export const FAMILIES = {
  ...LLAMA_LIKE,
  ...VARIANTS,
  ...WITH_PICTURES,
  ...GPT_LIKE,
  ...FUSED,
  ...SEQ2SEQ,
  ...BERT_LIKE,
  ...MODERN,
  'rlvr-from-scratch': rlvr,
  'bare-bones-ml-transformer': bareBones,
  'gpt-prenorm-erf': plainGpt,
  ...WRITTEN,
  ...TOOLKITS,
};
