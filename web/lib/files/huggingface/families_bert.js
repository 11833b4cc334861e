// families_bert.js - the encoders: BERT and its relatives
//
// A file may hold the encoder alone or with a prefix, with or without pooler and head of the masked language model:
// the names in the file decide, and without a file the architecture in config.json.
import { BIASED, SIZE_KEYS, activation, family, like } from './families_common.js';

/** @import { Family, Json, Unsupported } from './families_common.js' */

/**
 * What may stand before the names of the encoder.
 * @param {string} own  of a model with a head
 */
// the last: sentence-transformers, of a pipeline as one module
export const prefixes = (own) => ['', own, '0.auto_model.'];

/**
 * Whether a checkpoint has a tensor, behind any prefix.
 * @param {Set<string>} files  all names in the checkpoint
 * @param {string} tensor
 */
const has = (files, tensor) => [...files].some((name) => `.${name}`.endsWith(`.${tensor}`));

/**
 * Which outputs there are.
 * @param {Json} json
 * @param {Set<string> | undefined} files  all names in the checkpoint
 * @param {string} transform  name of the linear layer before the head
 */
function outputs(json, files, transform) {
  const architecture = String([json.architectures ?? []].flat()[0] ?? 'Model');
  return files?.size
    ? { pooler: has(files, 'pooler.dense.weight'), mlm_head: files.has(`${transform}.weight`) }
    : {
        pooler: /Model$|For(PreTraining|SequenceClassification|MultipleChoice)$/.test(architecture),
        mlm_head: /For(MaskedLM|PreTraining)$/.test(architecture),
      };
}

/**
 * What BERT and its relatives may ask for and the engine lacks.
 * @param {Json} json
 * @param {Unsupported} unsupported
 */
function refuse(json, unsupported) {
  const positions = json.position_embedding_type ?? 'absolute';
  if (positions !== 'absolute') unsupported('position_embedding_type', positions);
  if (json.is_decoder) unsupported('is_decoder', json.is_decoder);
}

/** Tensors of classifiers and of the next-sentence head, which are not part of the encoder. */
const OTHER_HEADS = /^(classifier|pre_classifier|qa_outputs|score|cls\.seq_relationship)\./;
/** Copies of a tied head's tensors, and buffers. */
const COPIES =
  /(^|\.)(token_type_ids|predictions\.(decoder\.(weight|bias)|bias)|lm_head\.(decoder\.(weight|bias)|bias))$/;

/** The head of some families has this activation whatever hidden_act says. */
const GELU_HEAD = { head_activation: 'gelu_erf' };

const BERT_BASE = {
  kind: 'encoder',
  norm: 'layernorm',
  norm_eps: 1e-12,
  norm_placement: 'post',
  final_norm: false,
  embed_norm: true,
  position: 'learned',
  n_token_types: 2,
  ...BIASED,
  bias_head: true,
  tie_word_embeddings: true,
  context_length: 512,
};

/** BERT (Devlin et al. 2019). */
export const bert = family({
  keys: {
    ...SIZE_KEYS,
    norm_eps: 'layer_norm_eps',
    n_token_types: 'type_vocab_size',
  },
  base: BERT_BASE,
  required: ['d_ff'],
  reads:
    'hidden_act position_embedding_type is_decoder chunk_size_feed_forward directionality pooler_fc_size ' +
    'pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type',
  derive(json, unsupported, files) {
    refuse(json, unsupported);
    return {
      ffn: activation(json.hidden_act ?? 'gelu'),
      ...outputs(json, files, 'cls.predictions.transform.dense'),
    };
  },
  prefixes: prefixes('bert.'),
  names: (config, json, files) => ({
    blocks: 'encoder.layer',
    embed: 'embeddings.word_embeddings',
    position: 'embeddings.position_embeddings',
    token_type: 'embeddings.token_type_embeddings',
    embed_norm: 'embeddings.LayerNorm',
    'attn.q': 'attention.self.query',
    'attn.k': 'attention.self.key',
    'attn.v': 'attention.self.value',
    'attn.o': 'attention.output.dense',
    norm1: 'attention.output.LayerNorm',
    'ffn.up': 'intermediate.dense',
    'ffn.down': 'output.dense',
    norm2: 'output.LayerNorm',
    pooler: 'pooler.dense',
    head_transform: '/cls.predictions.transform.dense',
    head_norm: '/cls.predictions.transform.LayerNorm',
    head: '/cls.predictions.decoder',
    'head.bias': biasIn(files, 'cls.predictions', config),
  }),
  // TensorFlow's names of gain and bias, which the oldest files have.
  conventions: (files) => ({ gamma: has(files, 'embeddings.LayerNorm.gamma') }),
  tied: true,
  skips: COPIES,
  others: OTHER_HEADS,
});

/**
 * The name of the head's bias, of which files hold one or two; they are the same unless the head has a matrix of its
 * own, whose bias is then added.
 * @param {Set<string>} files
 * @param {string} head
 * @param {import('../../engine/config/config.js').Config} config
 */
export const biasIn = (files, head, { tie_word_embeddings: tied }) =>
  files.has(`${head}.decoder.bias`) && !(tied && files.has(`${head}.bias`)) ? `/${head}.decoder.bias` : `/${head}.bias`;

/**
 * The fields of positions that begin after the id of the padding token.
 * @param {Json} json
 * @param {any} pad
 * @param {Unsupported} unsupported
 */
function paddedPositions(json, pad, unsupported) {
  if (!Number.isInteger(pad) || pad < 0 || pad > 1022) unsupported('pad_token_id', pad);
  const rows = json.max_position_embeddings ?? 512;
  return {
    position_offset: pad + 1,
    position_pad_id: pad,
    context_length: typeof rows === 'number' ? rows - pad - 1 : rows,
  };
}

/**
 * The fields of RoBERTa and MPNet.
 * @param {(json: Json) => any} padOf  id of the padding token
 * @returns {Family['derive']}
 */
const paddedFields = (padOf) => (json, unsupported, files) => {
  refuse(json, unsupported);
  return {
    ffn: activation(json.hidden_act ?? 'gelu'),
    ...outputs(json, files, 'lm_head.dense'),
    ...paddedPositions(json, padOf(json), unsupported),
    ...GELU_HEAD,
  };
};

/**
 * RoBERTa (Liu et al. 2019), XLM-RoBERTa and CamemBERT: the positions begin after the id of the padding token, which
 * is not counted.
 */
const roberta = like(bert, {
  keys: { context_length: undefined },
  reads: `${bert.reads} max_position_embeddings pad_token_id`,
  derive: paddedFields((json) => json.pad_token_id ?? 1),
  prefixes: prefixes('roberta.'),
  names: (config, json, files) => ({
    head_transform: '/lm_head.dense',
    head_norm: '/lm_head.layer_norm',
    head: '/lm_head.decoder',
    'head.bias': biasIn(files, 'lm_head', config),
  }),
});

/** DistilBERT (Sanh et al. 2019): no token types, no pooler, other names. */
const distilbert = family({
  keys: { ...SIZE_KEYS, d_model: 'dim', n_layers: 'n_layers', n_heads: 'n_heads', d_ff: 'hidden_dim' },
  aliases: { hidden_size: 'dim', num_hidden_layers: 'n_layers', num_attention_heads: 'n_heads' },
  base: { ...BERT_BASE, n_token_types: 0 },
  required: ['d_ff'],
  reads: 'activation sinusoidal_pos_embds tie_weights_ chunk_size_feed_forward is_decoder',
  derive(json, unsupported, files) {
    refuse(json, unsupported);
    return {
      ffn: activation(json.activation ?? 'gelu'),
      ...outputs(json, files, 'vocab_transform'),
      pooler: false,
    };
  },
  prefixes: prefixes('distilbert.'),
  names: {
    blocks: 'transformer.layer',
    embed: 'embeddings.word_embeddings',
    position: 'embeddings.position_embeddings',
    embed_norm: 'embeddings.LayerNorm',
    'attn.*': 'attention.*_lin',
    'attn.o': 'attention.out_lin',
    norm1: 'sa_layer_norm',
    'ffn.up': 'ffn.lin1',
    'ffn.down': 'ffn.lin2',
    norm2: 'output_layer_norm',
    head_transform: '/vocab_transform',
    head_norm: '/vocab_layer_norm',
    head: '/vocab_projector',
  },
  tied: true,
  skips: /^vocab_projector\.weight$/,
  others: OTHER_HEADS,
});

/**
 * MPNet (Song et al. 2020): RoBERTa with T5's bias for the distance of two tokens, the same in all layers, and no token
 * types. Its padding token is 1 whatever pad_token_id says.
 */
const mpnet = like(roberta, {
  keys: { n_token_types: undefined, relative_buckets: 'relative_attention_num_buckets' },
  base: { n_token_types: 0, relative_buckets: 32, relative_max_distance: 128 },
  derive: paddedFields(() => 1),
  prefixes: prefixes('mpnet.'),
  names: {
    relative_bias: 'encoder.relative_attention_bias',
    'attn.q': 'attention.attn.q',
    'attn.k': 'attention.attn.k',
    'attn.v': 'attention.attn.v',
    'attn.o': 'attention.attn.o',
    norm1: 'attention.LayerNorm',
  },
  conventions: {},
});

/** ERNIE (Sun et al. 2019): BERT under another name. */
const ernie = like(bert, {
  reads: `${bert.reads} use_task_id task_type_vocab_size pool_act_type`,
  derive(json, unsupported, files) {
    if (json.use_task_id) unsupported('use_task_id', true);
    return bert.derive(json, unsupported, files);
  },
  prefixes: prefixes('ernie.'),
});

/**
 * The width of an embedding that is projected to that of the model.
 * @param {Json} json
 * @param {any} [width]  where the file has none
 */
const narrowed = (json, width = json.hidden_size) => {
  const found = json.embedding_size ?? width;
  return found === json.hidden_size ? {} : { d_embed: found };
};

/** ELECTRA (Clark et al. 2020): BERT whose generator has a head; the head of the discriminator is skipped. */
const electra = like(bert, {
  reads: `${bert.reads} embedding_size`,
  derive(json, unsupported, files) {
    refuse(json, unsupported);
    return {
      ffn: activation(json.hidden_act ?? 'gelu'),
      ...outputs(json, files, 'generator_predictions.dense'),
      ...narrowed(json, 128),
      ...GELU_HEAD,
      pooler: false,
    };
  },
  prefixes: prefixes('electra.'),
  names: {
    embed_project: 'embeddings_project',
    head_transform: '/generator_predictions.dense',
    head_norm: '/generator_predictions.LayerNorm',
    head: '/generator_lm_head',
    'head.bias': '/generator_lm_head.bias',
  },
  skips: /^generator_lm_head\.weight$/,
  others: /^(classifier|qa_outputs|sequence_summary|discriminator_predictions)\./,
});

/**
 * ALBERT (Lan et al. 2020): the blocks of a group have the same weights, and the embedding is narrower than the model.
 */
const albert = like(bert, {
  keys: { n_layer_groups: 'num_hidden_groups' },
  base: { n_layer_groups: 1 },
  reads: `${bert.reads} embedding_size inner_group_num net_structure_type gap_size num_memory_blocks down_scale_factor`,
  derive(json, unsupported, files) {
    refuse(json, unsupported);
    if ((json.inner_group_num ?? 1) !== 1) unsupported('inner_group_num', json.inner_group_num);
    const found = outputs(json, files, 'predictions.dense');
    return {
      ffn: activation(json.hidden_act ?? 'gelu_new'),
      ...found,
      pooler: files?.size ? has(files, 'pooler.weight') : found.pooler,
      d_embed: json.embedding_size ?? 128, // projected even to the same width
    };
  },
  prefixes: prefixes('albert.'),
  names: (config, json, files) => ({
    blocks: 'encoder.albert_layer_groups.#.albert_layers.0',
    embed_project: 'encoder.embedding_hidden_mapping_in',
    'attn.q': 'attention.query',
    'attn.k': 'attention.key',
    'attn.v': 'attention.value',
    'attn.o': 'attention.dense',
    norm1: 'attention.LayerNorm',
    'ffn.up': 'ffn',
    'ffn.down': 'ffn_output',
    norm2: 'full_layer_layer_norm',
    pooler: 'pooler',
    head_transform: '/predictions.dense',
    head_norm: '/predictions.LayerNorm',
    head: '/predictions.decoder',
    'head.bias': biasIn(files, 'predictions', config),
  }),
  others: /^(classifier|qa_outputs|sop_classifier)\./,
});

/** RoFormer (Su et al. 2021): BERT with rotary positions, neighbouring components together. */
const roformer = like(bert, {
  base: { position: 'rope', rope_pairs: 'adjacent', context_length: 1536 },
  reads: `${bert.reads} embedding_size rotary_value`,
  derive(json, unsupported, files) {
    if (json.rotary_value) unsupported('rotary_value', true);
    return { ...bert.derive(json, unsupported, files), ...narrowed(json), pooler: false };
  },
  prefixes: prefixes('roformer.'),
  names: { embed_project: 'embeddings_project' },
  skips: new RegExp(`${COPIES.source}|(^|\\.)encoder\\.embed_positions\\.weight$`),
});

/** Megatron-BERT (Shoeybi et al. 2019): the norms are before the sublayers, and a last one follows. */
const megatronBert = like(bert, {
  base: { norm_placement: 'pre', final_norm: true, embed_norm: false },
  names: { norm1: 'attention.ln', norm2: 'ln', final_norm: 'encoder.ln' },
});

/** XLM-RoBERTa XL (Goyal et al. 2021): RoBERTa with the norms before the sublayers. */
const xlmRobertaXl = like(roberta, {
  base: { norm_placement: 'pre', final_norm: true, embed_norm: false, norm_eps: 1e-5 },
  names: { norm1: 'attention.self_attn_layer_norm', norm2: 'LayerNorm', final_norm: 'encoder.LayerNorm' },
});

/** RoBERTa with the norms before the sublayers (Ott et al. 2019), and a norm of the embedding. */
const robertaPreNorm = like(roberta, {
  base: { norm_placement: 'pre', final_norm: true },
  prefixes: prefixes('roberta_prelayernorm.'),
  names: { norm1: 'attention.LayerNorm', norm2: 'intermediate.LayerNorm', final_norm: 'LayerNorm' },
});

/** BigBird (Zaheer et al. 2020) with full attention: BERT, whose pooler is one layer. */
const bigBird = like(bert, {
  keys: { bias_qkv: 'use_bias' },
  base: { context_length: 4096 },
  reads: `${bert.reads} attention_type block_size num_random_blocks rescale_embeddings hidden_size`,
  derive(json, unsupported, files) {
    if (json.attention_type !== 'original_full') unsupported('attention_type', json.attention_type ?? 'block_sparse');
    const fields = bert.derive({ ...json, hidden_act: json.hidden_act ?? 'gelu_new' }, unsupported, files);
    return {
      ...fields,
      pooler: files?.size ? has(files, 'pooler.weight') : fields.pooler,
      embedding_scale: json.rescale_embeddings ? Math.sqrt(json.hidden_size) : 1,
    };
  },
  names: { pooler: 'pooler' },
});

/** RemBERT (Chung et al. 2021): BERT with a narrow embedding, and a head as wide as the file says. */
const remBert = like(bert, {
  base: { tie_word_embeddings: false },
  reads: `${bert.reads} input_embedding_size output_embedding_size`,
  derive(json, unsupported, files) {
    const { input_embedding_size: input = 256, output_embedding_size: output = 1664 } = json;
    const fields = { ...outputs(json, files, 'cls.predictions.dense'), d_embed: input };
    refuse(json, unsupported);
    if (fields.mlm_head && input !== output) unsupported('output_embedding_size', output);
    return { ...fields, ffn: activation(json.hidden_act ?? 'gelu') };
  },
  prefixes: prefixes('rembert.'),
  names: {
    embed_project: 'encoder.embedding_hidden_mapping_in',
    head_transform: '/cls.predictions.dense',
    head_norm: '/cls.predictions.LayerNorm',
    'head.bias': '/cls.predictions.decoder.bias',
  },
});

/** The families of this file by model_type. @type {Record<string, Family>} */
export const BERT_LIKE = {
  bert,
  ...{ roberta, 'xlm-roberta': roberta, camembert: roberta, 'xlm-roberta-xl': xlmRobertaXl },
  distilbert,
  mpnet,
  ernie,
  electra,
  albert,
  roformer,
  'megatron-bert': megatronBert,
  'roberta-prelayernorm': robertaPreNorm,
  'data2vec-text': like(roberta, { prefixes: prefixes('data2vec_text.') }),
  big_bird: bigBird,
  rembert: remBert,
};
