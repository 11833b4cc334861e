// families_bert.js - the encoders: BERT, RoBERTa, DistilBERT and MPNet
//
// A file may hold the encoder alone or with a prefix, with or without pooler and head of the masked language model:
// the names in the file decide, and without a file the architecture in config.json.
import { BIASED, SIZE_KEYS, activation, family, like } from './families_common.js';

/** @import { Family, Json, Unsupported } from './families_common.js' */

/**
 * What may stand before the names of the encoder.
 * @param {string} own  of a model with a head
 */
const prefixes = (own) => ['', own, '0.auto_model.']; // the last: sentence-transformers, of a pipeline as one module

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
const COPIES = /(^|\.)(token_type_ids|predictions\.decoder\.(weight|bias)|lm_head\.decoder\.(weight|bias))$/;

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
const bert = family({
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
    'head.bias': biasIn(files, 'cls.predictions'),
  }),
  // TensorFlow's names of gain and bias, which the oldest files have.
  conventions: (files) => ({ gamma: has(files, 'embeddings.LayerNorm.gamma') }),
  tied: true,
  skips: COPIES,
  others: OTHER_HEADS,
});

/**
 * The name of the head's bias, of which files hold one or two copies.
 * @param {Set<string>} files
 * @param {string} head
 */
const biasIn = (files, head) =>
  files.has(`${head}.decoder.bias`) && !files.has(`${head}.bias`) ? `/${head}.decoder.bias` : `/${head}.bias`;

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
  const fields = {
    ffn: activation(json.hidden_act ?? 'gelu'),
    ...outputs(json, files, 'lm_head.dense'),
    ...paddedPositions(json, padOf(json), unsupported),
  };
  // Their head has this activation whatever hidden_act says.
  if (fields.mlm_head && fields.ffn !== 'gelu_erf') unsupported('hidden_act', json.hidden_act);
  return fields;
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
    'head.bias': biasIn(files, 'lm_head'),
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

/** The families of this file by model_type. @type {Record<string, Family>} */
export const BERT_LIKE = { bert, roberta, 'xlm-roberta': roberta, camembert: roberta, distilbert, mpnet };
