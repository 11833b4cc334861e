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
 *   | 'camembert' | 'distilbert' | 'mpnet' | 'marian' | 'bart' | 't5' | 'mt5' | 'rlvr-from-scratch'
 *   | 'bare-bones-ml-transformer' | 'gpt-prenorm-erf' | 'nanogpt' | 'mingpt' | 'mingpt-2020'} ModelType
 */
/**
 * Keys of a config.json of Hugging Face, and of the tutorials. An object from JSON.parse may hold further keys: keys
 * without effect on the numbers are skipped, features that the engine lacks are refused by name.
 * @typedef {object} HfFields
 * @property {ModelType | (string & {})} model_type
 * @property {number} [vocab_size]
 * @property {boolean} [tie_word_embeddings]
 * @property {number} [hidden_size]                 Llama and those like it
 * @property {number} [num_hidden_layers]
 * @property {number} [num_attention_heads]
 * @property {number | null} [num_key_value_heads]
 * @property {number | null} [head_dim]
 * @property {number} [intermediate_size]
 * @property {number} [max_position_embeddings]
 * @property {number} [rms_norm_eps]
 * @property {number} [rope_theta]
 * @property {Record<string, any> | null} [rope_scaling]
 * @property {Record<string, any> | null} [rope_parameters]
 * @property {boolean} [attention_bias]
 * @property {number} [attention_dropout]
 * @property {boolean} [mlp_bias]
 * @property {string} [hidden_act]
 * @property {number | null} [sliding_window]
 * @property {boolean} [use_sliding_window]
 * @property {number} [max_window_layers]
 * @property {readonly string[] | null} [layer_types]
 * @property {number} [n_embd]                      GPT-2
 * @property {number} [n_layer]
 * @property {number} [n_head]
 * @property {number | null} [n_inner]
 * @property {number} [n_positions]
 * @property {number} [n_ctx]
 * @property {string} [activation_function]
 * @property {number} [layer_norm_epsilon]
 * @property {boolean} [scale_attn_weights]
 * @property {boolean} [scale_attn_by_inverse_layer_idx]
 * @property {boolean} [reorder_and_upcast_attn]
 * @property {number} [attn_pdrop]
 * @property {number} [embd_pdrop]
 * @property {number} [resid_pdrop]
 * @property {number} [type_vocab_size]             BERT
 * @property {string} [position_embedding_type]
 * @property {number} [dim]                         DistilBERT
 * @property {number} [hidden_dim]
 * @property {number} [d_model]                     the tutorials
 * @property {number} [n_layers]
 * @property {number} [n_heads]
 * @property {number} [d_ff]
 * @property {number} [max_seq_len]
 * @property {number} [max_len]
 * @property {number} [context]
 * @property {string} [norm]
 * @property {number} [norm_eps]
 * @property {string} [positional]
 * @property {number} [rope_base]
 * @property {string} [rope_convention]
 * @property {string} [ffn]
 * @property {boolean} [bias]
 * @property {boolean} [pre_norm]
 * @property {boolean} [tie_embeddings]
 * @property {boolean} [tie_weights]
 * @property {number} [num_layers]
 * @property {number} [num_heads]
 * @property {number} [ff_size]
 * @property {number} [layer_norm_eps]
 * @property {boolean} [tied_head]
 * @property {number} [embedding_scale]
 * @property {boolean} [shared_embedding]
 * @property {string} [activation]
 * @property {boolean} [post_norm]
 * @property {'causal' | 'padmask' | 'nomask' | (string & {})} [mask_mode]
 * @property {readonly number[]} [pad_positions]
 * @property {number} [mlp_mult]
 * @property {number} [mlp_ratio]
 * @property {boolean} [attn_bias]
 * @property {boolean} [ln_bias]
 * @property {boolean} [fused_qkv]
 * @property {number} [block_size]                  nanoGPT and minGPT
 */
/** @typedef {HfFields & Common} HfConfig */
/**
 * A configuration as callers pass it: our own fields in either spelling, the JSON of a supported config.json, or the
 * name of a preset.
 * @typedef {OwnConfig | OwnConfigCamel | HfConfig | import('./presets.js').Preset} ConfigInput
 */

export {};
