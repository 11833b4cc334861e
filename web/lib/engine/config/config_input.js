// config_input.js - types only: the configurations that callers may pass, for completion in editors

/** @typedef {import('./config_fields.js').Config} Fields */
/**
 * Token ids of a config.json: one, several or none.
 * @typedef {number | readonly number[] | null} TokenIds
 */
/**
 * Keys of config.json that every family has, besides the sizes.
 * @typedef {object} Common
 * @property {readonly string[] | null} [architectures]
 * @property {TokenIds} [bos_token_id]
 * @property {TokenIds} [eos_token_id]
 * @property {TokenIds} [pad_token_id]
 * @property {TokenIds} [decoder_start_token_id]
 * @property {string | null} [torch_dtype]
 * @property {string | null} [dtype]
 * @property {string} [transformers_version]
 * @property {boolean} [use_cache]
 * @property {number} [initializer_range]
 */
/**
 * Our own fields in snake_case, as in a config.json of model_type "glassformer".
 * @typedef {Partial<Fields> & Common & {model_type?: 'glassformer'}} OwnConfig
 */
/**
 * Our own fields in camelCase, as Model.config has them.
 * @typedef {Partial<import('./config_fields.js').CamelConfig>} OwnConfigCamel
 */
/**
 * Values of model_type that are supported.
 * @typedef {'llama' | 'mistral' | 'qwen2' | 'qwen3' | 'mixtral' | 'qwen2_moe' | 'qwen3_moe' | 'phi3' | 'gemma'
 *   | 'gemma2' | 'gemma3_text' | 'olmo' | 'olmo2' | 'smollm3' | 'granite' | 'stablelm' | 'gpt2' | 'gpt_neo'
 *   | 'gptj' | 'gpt_neox' | 'phi' | 'starcoder2' | 'opt' | 'bloom' | 'bert' | 'roberta' | 'xlm-roberta'
 *   | 'camembert' | 'distilbert' | 'mpnet' | 'marian' | 'bart' | 't5' | 'mt5' | 'ernie4_5' | 'helium'
 *   | 'seed_oss' | 'ministral' | 'glm' | 'glm4' | 'cohere' | 'cohere2' | 'exaone4' | 'olmo3' | 'vaultgemma'
 *   | 'olmoe' | 'granitemoe' | 'granitemoehybrid' | 'arcee' | 'nemotron' | 'jais2' | 'persimmon' | 'nanochat'
 *   | 'gemma3' | 'smolvlm' | 'idefics3' | 'mistral3' | 'qwen2_vl' | 'qwen2_5_vl' | 'qwen2_vl_text'
 *   | 'qwen2_5_vl_text' | 'qwen3_vl' | 'qwen3_vl_text' | 'gpt_bigcode' | 'codegen' | 'openai-gpt' | 'falcon'
 *   | 'mpt' | 'biogpt' | 'xglm' | 'plbart' | 'mbart' | 'blenderbot' | 'pegasus' | 'm2m_100' | 'ernie'
 *   | 'electra' | 'roformer' | 'megatron-bert' | 'xlm-roberta-xl' | 'nomic_bert' | 'jina_embeddings_v3'
 *   | 'eurobert' | 'modernbert' | 'modernbert-decoder' | 'albert' | 'hunyuan_v1_dense' | 'cwm' | 'flex_olmo'
 *   | 'roberta-prelayernorm' | 'data2vec-text' | 'big_bird' | 'rembert' | 'mvp'
 *   | 'llava' | 'llava_next' | 'llava_onevision' | 'vipllava' | 'internvl' | 'aya_vision' | 'got_ocr2' | 'voxtral'
 *   | 'rlvr-from-scratch' | 'bare-bones-ml-transformer' | 'gpt-prenorm-erf' | 'nanogpt' | 'mingpt'
 *   | 'mingpt-2020' | 'gpt-lecture' | 'llama2c' | 'llms-from-scratch-gpt' | 'llms-from-scratch-llama'
 *   | 'transformer-lens' | 'litgpt' | 'torchtune' | 'cs336'} ModelType
 */
/**
 * Keys of a config.json that are numbers: of Llama, GPT-2, BERT, DistilBERT, the tutorials, nanoGPT.
 * @typedef {'vocab_size' | 'hidden_size' | 'num_hidden_layers' | 'num_attention_heads' | 'intermediate_size'
 *   | 'max_position_embeddings' | 'rms_norm_eps' | 'rope_theta' | 'attention_dropout' | 'max_window_layers'
 *   | 'n_embd' | 'n_layer' | 'n_head' | 'n_positions' | 'n_ctx' | 'layer_norm_epsilon' | 'attn_pdrop'
 *   | 'embd_pdrop' | 'resid_pdrop' | 'type_vocab_size' | 'dim' | 'hidden_dim' | 'd_model' | 'n_layers'
 *   | 'n_heads' | 'd_ff' | 'max_seq_len' | 'max_len' | 'context' | 'norm_eps' | 'rope_base' | 'num_layers'
 *   | 'num_heads' | 'ff_size' | 'layer_norm_eps' | 'embedding_scale' | 'mlp_mult' | 'mlp_ratio'
 *   | 'block_size'} HfNumber
 */
/**
 * Keys that are true or false.
 * @typedef {'tie_word_embeddings' | 'attention_bias' | 'mlp_bias' | 'use_sliding_window'
 *   | 'scale_attn_weights' | 'scale_attn_by_inverse_layer_idx' | 'reorder_and_upcast_attn' | 'bias'
 *   | 'pre_norm' | 'tie_embeddings' | 'tie_weights' | 'tied_head' | 'shared_embedding' | 'post_norm'
 *   | 'attn_bias' | 'ln_bias' | 'fused_qkv'} HfFlag
 */
/**
 * Keys that are words.
 * @typedef {'hidden_act' | 'activation_function' | 'position_embedding_type' | 'norm' | 'positional'
 *   | 'rope_convention' | 'ffn' | 'activation'} HfWord
 */
/**
 * Keys of a config.json of Hugging Face, and of the tutorials. An object from JSON.parse may hold further keys: keys
 * without effect on the numbers are skipped, features that the engine lacks are refused by name.
 * @typedef {{[key in HfNumber]?: number} & {[key in HfFlag]?: boolean} & {[key in HfWord]?: string} & {
 *   model_type: ModelType | (string & {}),
 *   num_key_value_heads?: number | null,
 *   head_dim?: number | null,
 *   sliding_window?: number | null,
 *   n_inner?: number | null,
 *   rope_scaling?: Record<string, any> | null,
 *   rope_parameters?: Record<string, any> | null,
 *   layer_types?: readonly string[] | null,
 *   mask_mode?: 'causal' | 'padmask' | 'nomask' | (string & {}),
 *   pad_positions?: readonly number[],
 * }} HfFields
 */
/** @typedef {HfFields & Common} HfConfig */
/**
 * A configuration as callers pass it: our own fields in either spelling, the JSON of a supported config.json, or the
 * name of a preset.
 * @typedef {OwnConfig | OwnConfigCamel | HfConfig | import('./presets.js').Preset} ConfigInput
 */
/**
 * A configuration to train: our own fields in either spelling, or the name of a preset.
 * @typedef {Partial<Fields> | OwnConfigCamel | import('./presets.js').Preset} TrainConfig
 */

export {};
