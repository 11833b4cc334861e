// families_modern.js - encoders with rotary positions: nomic-bert, jina-embeddings-v3, EuroBERT, ModernBERT
import { windowFields } from '../../engine/config/layer_flags.js';
import { bert, biasIn, prefixes } from './families_bert.js';
import { SIZE_KEYS, activation, family, gated, like, ropeFields, windowLayers } from './families_common.js';
import { llama } from './families_llama.js';

/** @import { Family } from './families_common.js' */

/** Names of the classes with rotary positions and one tensor for q, k and v. */
const NOMIC_NAMES = {
  blocks: 'encoder.layers',
  embed_norm: 'emb_ln',
  norm1: 'norm1',
  'ffn.down': 'mlp.fc2',
  norm2: 'norm2',
};

/**
 * Whether there is a head of the masked language model.
 * @param {import('./families_common.js').Json} json
 * @param {Set<string> | undefined} files  all names in the checkpoint
 * @param {string} tensor  of the head
 */
const masked = (json, files, tensor) => (files?.size ? files.has(tensor) : isMasked(json));

/** Whether its class has such a head. @param {import('./families_common.js').Json} json */
const isMasked = ({ architectures }) => /ForMaskedLM$/.test(String([architectures ?? []].flat()[0]));

/** nomic-bert (Nussbaum et al. 2024): BERT with rotary positions, a gate and no biases. */
const nomicBert = like(bert, {
  keys: { d_head: 'head_dim' },
  base: {
    ...{ position: 'rope', bias_qkv: false, bias_attn_out: false, bias_ffn: false, context_length: 2048 },
    pooler: false,
  },
  reads: 'hidden_act rope_theta',
  derive: (json, unsupported, files) => ({
    ...ropeFields(json, unsupported),
    rope_theta: json.rope_parameters?.rope_theta ?? json.rope_theta ?? 1000,
    ffn: gated('hidden_act', json.hidden_act ?? 'silu', unsupported),
    mlm_head: masked(json, files, 'cls.predictions.transform.dense.weight'),
  }),
  prefixes: prefixes('nomic_bert.'),
  names: {
    ...NOMIC_NAMES,
    head_norm: '/cls.predictions.transform.layer_norm',
    'attn.q': 'attn.Wqkv',
    'attn.k': 'attn.Wqkv',
    'attn.v': 'attn.Wqkv',
    'attn.o': 'attn.out_proj',
    'ffn.up': 'mlp.fc11',
    'ffn.gate': 'mlp.fc12',
  },
});

/** jina-embeddings-v3 without its adapters: XLM-RoBERTa with rotary positions. */
const jinaV3 = like(bert, {
  base: { position: 'rope', n_token_types: 1, norm_eps: 1e-5, context_length: 8194, rope_theta: 20000 },
  reads: `${bert.reads} rope_theta`,
  derive: (json, unsupported, files) => ({
    ...bert.derive(json, unsupported, files),
    ...ropeFields(json, unsupported),
    rope_theta: json.rope_parameters?.rope_theta ?? json.rope_theta ?? 20000,
    mlm_head: masked(json, files, 'lm_head.dense.weight'),
    head_activation: 'gelu_erf',
  }),
  prefixes: prefixes('roberta.'),
  names: (config, json, files) => ({
    ...NOMIC_NAMES,
    'attn.q': 'mixer.Wqkv',
    'attn.k': 'mixer.Wqkv',
    'attn.v': 'mixer.Wqkv',
    'attn.o': 'mixer.out_proj',
    'ffn.up': 'mlp.fc1',
    head_transform: '/lm_head.dense',
    head_norm: '/lm_head.layer_norm',
    head: '/lm_head.decoder',
    'head.bias': biasIn(files, 'lm_head', config),
  }),
  others: /^(classifier|qa_outputs)\./,
});

/**
 * EuroBERT (Boizard et al. 2025): Llama without a causal mask. Its masked language model has the head of a decoder, so
 * that it is one here.
 */
const euroBert = like(llama, {
  base: { kind: 'encoder', norm_eps: 1e-5, context_length: 8192, tie_word_embeddings: undefined },
  reads: 'clf_pooling classifier_pooling mask_token_id pretraining_tp rope_theta tie_word_embeddings',
  derive: (json, unsupported, files) => ({
    ...llama.derive(json, unsupported),
    rope_theta: json.rope_parameters?.rope_theta ?? json.rope_theta ?? 250000,
    ...(isMasked(json) && {
      ...{ kind: 'decoder', causal: false, tie_word_embeddings: files?.size ? !files.has('lm_head.weight') : false },
      bias_head: json.mlp_bias ?? false,
    }),
  }),
  names: { 'head.bias': '/lm_head.bias' },
  others: /^(classifier|dense)\./,
});

/** ModernBERT (Warner et al. 2024): norms as in Llama but for the first attention, windows to both sides. */
const modernBert = family({
  keys: {
    ...SIZE_KEYS,
    norm_eps: 'norm_eps',
    bias_norm: 'norm_bias',
    bias_qkv: 'attention_bias',
    bias_attn_out: 'attention_bias',
    bias_ffn: 'mlp_bias',
    bias_head: 'decoder_bias',
    bias_head_transform: 'classifier_bias',
  },
  base: {
    ...{ kind: 'encoder', norm: 'layernorm', norm_eps: 1e-5, bias_norm: false, norm_placement: 'pre' },
    ...{ final_norm: true, embed_norm: true, first_norm: false, position: 'rope', context_length: 8192 },
    ...{ bias_head: true, bias_head_transform: false, tie_word_embeddings: true },
  },
  required: ['d_ff'],
  reads:
    'hidden_activation classifier_activation classifier_pooling local_attention global_attn_every_n_layers ' +
    'sliding_window layer_types global_rope_theta local_rope_theta position_embedding_type layer_norm_eps ' +
    'sparse_prediction sparse_pred_ignore_index deterministic_flash_attn reference_compile repad_logits_with_grad ' +
    'initializer_cutoff_factor num_key_value_heads',
  derive(json, unsupported, files) {
    const every = json.global_attn_every_n_layers ?? 3;
    if (!Number.isInteger(every) || every < 1) unsupported('global_attn_every_n_layers', every);
    const { full_attention: full = {}, sliding_attention: local = {} } = json.rope_parameters ?? {};
    if ((local.rope_type ?? 'default') !== 'default') unsupported('rope_parameters.sliding_attention', local);
    const most = Math.floor((json.local_attention ?? 128) / 2) + 1; // the query and half of the window to each side
    return {
      ...ropeFields(json, unsupported, { parameters: json.rope_scaling ?? full }),
      rope_theta: full.rope_theta ?? json.global_rope_theta ?? 160000,
      rope_local_theta: local.rope_theta ?? json.local_rope_theta ?? 10000,
      ...windowFields(
        windowLayers(json, unsupported, (l) => l % every !== 0),
        most,
      ),
      ffn: gated('hidden_activation', json.hidden_activation ?? 'gelu', unsupported),
      head_activation: activation(json.classifier_activation ?? 'gelu'),
      mlm_head: files?.size ? files.has('head.dense.weight') && !files.has('classifier.weight') : isMasked(json),
    };
  },
  prefixes: ['model.', ''],
  names: {
    blocks: 'layers',
    embed: 'embeddings.tok_embeddings',
    embed_norm: 'embeddings.norm',
    norm1: 'attn_norm',
    norm2: 'mlp_norm',
    'attn.*': 'attn.Wqkv',
    'attn.o': 'attn.Wo',
    'ffn.*': 'mlp.Wi',
    'ffn.down': 'mlp.Wo',
    final_norm: 'final_norm',
    head_transform: '/head.dense',
    head_norm: '/head.norm',
    head: '/decoder',
  },
  tied: true,
  head: 'decoder.weight',
  others: /^(head|classifier|drop)\./,
});

/**
 * ModernBERT's decoder, as in the Ettin models: the same layers with a causal mask, windows to the left. The head is
 * that of the masked language model.
 */
const modernBertDecoder = like(modernBert, {
  base: { kind: undefined, mlm_head: true },
  derive(json, unsupported, files) {
    const { sliding_window: both, mlm_head: _, ...fields } = modernBert.derive(json, unsupported, files);
    return { ...fields, sliding_window: both && both - 1 };
  },
  names: { 'attn.*': 'attn.*_proj', 'attn.o': 'attn.Wo', head_transform: '/lm_head.dense', head_norm: '/lm_head.norm' },
  others: /^classifier\./,
});

/** The families of this file by model_type. @type {Record<string, Family>} */
export const MODERN = {
  nomic_bert: nomicBert,
  jina_embeddings_v3: jinaV3,
  eurobert: euroBert,
  modernbert: modernBert,
  'modernbert-decoder': modernBertDecoder,
};
