// families_seq2seq.js - the families of encoder-decoders: Marian, BART, T5 and their relatives
import { BIASED, SIZE_KEYS, activation, family, gated, like, nameIn } from './families_common.js';

/** @import { Family, Json, Unsupported } from './families_common.js' */

/** Keys of how text is generated, which config.json of these families used to hold. They have no effect here. */
const GENERATION =
  'bad_words_ids early_stopping force_bos_token_to_be_generated length_penalty max_length min_length ' +
  'no_repeat_ngram_size encoder_no_repeat_ngram_size num_beams num_return_sequences prefix';

/**
 * The name of the embedding in a checkpoint: frameworks save a shared table under one of them.
 * @param {Set<string>} files  all names in the checkpoint
 * @param {string} prefix
 */
const sharedTable = (files, prefix) =>
  nameIn(files, ['shared', 'encoder.embed_tokens', 'decoder.embed_tokens'], prefix);

/**
 * Whether each stack has an embedding of its own, beside a third one that nothing reads.
 * @param {Json} json
 * @param {Set<string>} [tensors]  names in the checkpoint
 */
const hasTwoTables = (json, tensors) =>
  json.tie_word_embeddings === false &&
  ['encoder', 'decoder'].every((stack) => tensors?.has(`model.${stack}.embed_tokens.weight`));

/**
 * Refuses norms before the sublayers of the families whose classes have them after.
 * @param {Json} json
 * @param {Unsupported} unsupported
 */
function refuseNormsBefore(json, unsupported) {
  for (const name of ['normalize_before', 'add_final_layer_norm']) if (json[name]) unsupported(name, json[name]);
}

/**
 * The fields of Marian's vocabularies, of which there are two where the embeddings are not shared.
 * @param {Json} json
 */
function targetWords({ vocab_size: source, decoder_vocab_size: target = source, ...json }) {
  return json.share_encoder_decoder_embeddings === false && target !== source
    ? { vocab_size: target, encoder_vocab_size: source }
    : {};
}

/**
 * Fields that Marian and BART have in common.
 * @param {Json} json
 * @param {Unsupported} _
 * @param {Set<string>} [tensors]  names in the checkpoint
 * @returns {Json}
 */
function fairseqFields(json, _, tensors) {
  const { d_model: width, scale_embedding: scale, encoder_attention_heads: heads, encoder_ffn_dim: inner } = json;
  return {
    ...(inner !== json.decoder_ffn_dim && { d_encoder_ff: inner }),
    ...(json.model_type === 'marian' && targetWords(json)),
    n_encoder_heads: heads === json.decoder_attention_heads ? 0 : heads,
    ffn: activation(json.activation_function ?? 'gelu'),
    embedding_scale: scale && typeof width === 'number' ? Math.sqrt(width) : 1,
    shared_embedding: json.share_encoder_decoder_embeddings !== false && !hasTwoTables(json, tensors),
    bias_head: !tensors?.size || tensors.has('final_logits_bias'),
  };
}

/**
 * Marian: the transformer of 2017 with sines and cosines in halves, an activation of its choice and a bias of the
 * logits.
 */
const marian = family({
  keys: {
    ...SIZE_KEYS,
    d_model: 'd_model',
    n_layers: 'decoder_layers',
    n_encoder_layers: 'encoder_layers',
    n_heads: 'decoder_attention_heads',
    d_ff: 'decoder_ffn_dim',
  },
  base: {
    kind: 'encoder_decoder',
    norm: 'layernorm',
    norm_placement: 'post',
    position: 'sinusoidal',
    sinusoid_pairs: 'half',
    ...BIASED,
    context_length: 1024,
  },
  required: ['d_ff'],
  reads:
    `${GENERATION} ` +
    'is_encoder_decoder activation_function scale_embedding encoder_attention_heads encoder_ffn_dim ' +
    'encoder_layerdrop decoder_layerdrop num_hidden_layers decoder_vocab_size ' +
    'share_encoder_decoder_embeddings static_position_embeddings normalize_before normalize_embedding ' +
    'add_final_layer_norm add_bias_logits extra_pos_embeddings',
  derive(json, unsupported, tensors) {
    refuseNormsBefore(json, unsupported);
    return fairseqFields(json, unsupported, tensors);
  },
  tied: true,
  names(config, json, files) {
    const prefix = files.has('decoder.layers.0.fc1.weight') ? '' : 'model.';
    return {
      '': prefix,
      embed: config.shared_embedding ? sharedTable(files, prefix) : 'decoder.embed_tokens',
      'encoder.embed': 'encoder.embed_tokens',
      'encoder.position': 'encoder.embed_positions',
      position: 'decoder.embed_positions',
      'encoder.embed_norm': 'encoder.layernorm_embedding',
      embed_norm: 'decoder.layernorm_embedding',
      encoder: 'encoder.layers',
      decoder: 'decoder.layers',
      'attn.*': 'self_attn.*_proj',
      'attn.o': 'self_attn.out_proj',
      'cross_attn.*': 'encoder_attn.*_proj',
      'cross_attn.o': 'encoder_attn.out_proj',
      norm1: 'self_attn_layer_norm',
      'encoder.norm2': 'final_layer_norm',
      'decoder.norm2': 'encoder_attn_layer_norm',
      norm3: 'final_layer_norm',
      'ffn.up': 'fc1',
      'ffn.down': 'fc2',
      head: '/lm_head',
      'head.bias': '/final_logits_bias',
    };
  },
  conventions: { biasRow: true },
  skips: /(^|\.)((encoder|decoder)\.embed_(tokens|positions)|shared)\.weight$/,
});

/** BART: Marian with learned positions, whose tables have two more rows, and a norm after each embedding. */
const bart = like(marian, {
  base: { position: 'learned', sinusoid_pairs: 'adjacent', position_offset: 2, embed_norm: true },
  derive(json, unsupported, tensors) {
    if (json.static_position_embeddings) unsupported('static_position_embeddings', true);
    refuseNormsBefore(json, unsupported);
    return fairseqFields(json, unsupported, tensors);
  },
  skips: /(^|\.)((encoder|decoder)\.embed_tokens|shared)\.weight$/,
});

/** Names of the norm after the last block of each stack. */
const LAST_NORMS = { 'encoder.final_norm': 'encoder.layer_norm', final_norm: 'decoder.layer_norm' };

/** mBART: BART with the norms before the sublayers. */
const mbart = like(bart, {
  base: { norm_placement: 'pre', final_norm: true },
  derive: fairseqFields,
  names: LAST_NORMS,
});

/** Blenderbot: mBART without a norm of the embedding, and without further rows of positions. */
const blenderbot = like(mbart, {
  base: { embed_norm: false, position_offset: 0, context_length: 128 },
});

/** Pegasus: Marian with the norms before the sublayers; its table of sines and cosines is in most files. */
const pegasus = like(marian, {
  base: { norm_placement: 'pre', final_norm: true, position: 'sinusoidal' },
  derive: (json, unsupported, tensors) => ({
    ...fairseqFields(json, unsupported, tensors),
    ...(tensors?.has('model.decoder.embed_positions.weight') && { position: 'learned', sinusoid_pairs: 'adjacent' }),
  }),
  names: LAST_NORMS,
  skips: /(^|\.)((encoder|decoder)\.embed_tokens|shared)\.weight$/,
});

/** M2M-100 and NLLB-200: mBART with sines and cosines in halves, of which the last has the longest wavelength. */
const m2m = like(mbart, {
  base: { position: 'sinusoidal', sinusoid_pairs: 'half_inclusive', embed_norm: false },
  reads: `${marian.reads} pad_token_id`,
  derive: (json, unsupported, tensors) => ({
    ...fairseqFields(json, unsupported, tensors),
    position_offset: (json.pad_token_id ?? 1) + 1,
  }),
  skips: /(^|\.)((encoder|decoder)\.embed_(tokens|positions)|shared)\.weights?$/,
});

/** Whether a checkpoint of T5 has a decoder. @param {Set<string>} files */
const hasDecoder = (files) => [...files].some((name) => name.startsWith('decoder.block.'));

/**
 * Names of the encoder's feed-forward layer in T5.
 * @param {string} up
 * @param {string} stack  before the names of the weights
 */
const encoderNames = (up, stack) => ({
  [`${stack}ffn.gate`]: 'layer.1.DenseReluDense.wi_0',
  [`${stack}ffn.up`]: `layer.1.DenseReluDense.${up}`,
  [`${stack}ffn.down`]: 'layer.1.DenseReluDense.wo',
});

/**
 * T5: RMSNorm before the sublayers, no biases, scores without a scale, and a bias of the scores by distance in place of
 * positions. The first version multiplies the decoder's output by d_model^-0.5 before the tied head; version 1.1 has a
 * gate with GELU and a head of its own.
 */
const t5 = family({
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'd_model',
    n_heads: 'num_heads',
    d_head: 'd_kv',
    d_ff: 'd_ff',
    context_length: 'n_positions',
    norm_eps: 'layer_norm_epsilon',
    relative_buckets: 'relative_attention_num_buckets',
    relative_max_distance: 'relative_attention_max_distance',
  },
  base: {
    kind: 'encoder_decoder',
    norm: 'rmsnorm',
    position: 'none',
    relative_buckets: 32,
    scale_scores: false,
    d_head: 64,
    context_length: 512,
  },
  required: ['d_ff'],
  reads:
    `${GENERATION} ` +
    'num_layers num_decoder_layers is_encoder_decoder feed_forward_proj dense_act_fn is_gated_act ' +
    'scale_decoder_outputs tie_word_embeddings initializer_factor',
  derive(json, unsupported, files) {
    const hasHead = files?.has('lm_head.weight');
    const { scale_decoder_outputs: scaled, tie_word_embeddings: tied = json.model_type === 't5' || !hasHead } = json;
    const [architecture] = [json.architectures ?? []].flat();
    const isEncoder =
      typeof architecture === 'string' ? architecture.endsWith('EncoderModel') : files?.size && !hasDecoder(files);
    const [kind, ...rest] = (typeof json.feed_forward_proj === 'string' ? json.feed_forward_proj : 'relu').split('-');
    const isGated = kind === 'gated' && rest.length > 0;
    const act = isGated ? rest.join('-') : json.feed_forward_proj;
    return {
      ...(isEncoder
        ? { kind: 'encoder', pooler: false, mlm_head: false, n_layers: json.num_layers }
        : { n_layers: json.num_decoder_layers ?? json.num_layers, n_encoder_layers: json.num_layers }),
      ffn: isGated
        ? gated('feed_forward_proj', act === 'gelu' ? 'gelu_new' : act, unsupported)
        : activation(act ?? 'relu'),
      // release 5 says whether the output is scaled, and leaves it to the file whether the head is tied
      tie_word_embeddings: scaled === undefined ? tied : files ? !hasHead : scaled,
      logit_scale: (scaled ?? tied) && typeof json.d_model === 'number' ? json.d_model ** -0.5 : 1,
    };
  },
  names(config, json, files) {
    const up = config.ffn.includes('glu') ? 'wi_1' : 'wi';
    if (config.kind === 'encoder')
      return {
        ...encoderNames(up, ''),
        embed: sharedTable(files, ''),
        blocks: 'encoder.block',
        'attn.*': 'layer.0.SelfAttention.*',
        norm1: 'layer.0.layer_norm',
        norm2: 'layer.1.layer_norm',
        relative_bias: 'encoder.block.0.layer.0.SelfAttention.relative_attention_bias',
        final_norm: 'encoder.final_layer_norm',
      };
    return {
      embed: sharedTable(files, ''),
      'encoder.relative_bias': 'encoder.block.0.layer.0.SelfAttention.relative_attention_bias',
      relative_bias: 'decoder.block.0.layer.0.SelfAttention.relative_attention_bias',
      encoder: 'encoder.block',
      decoder: 'decoder.block',
      'attn.*': 'layer.0.SelfAttention.*',
      'cross_attn.*': 'layer.1.EncDecAttention.*',
      norm1: 'layer.0.layer_norm',
      norm2: 'layer.1.layer_norm',
      norm3: 'layer.2.layer_norm',
      ...encoderNames(up, 'encoder.'),
      'decoder.ffn.gate': 'layer.2.DenseReluDense.wi_0',
      'decoder.ffn.up': `layer.2.DenseReluDense.${up}`,
      'decoder.ffn.down': 'layer.2.DenseReluDense.wo',
      'encoder.final_norm': 'encoder.final_layer_norm',
      final_norm: 'decoder.final_layer_norm',
      head: 'lm_head',
    };
  },
  skips: /^(encoder|decoder)\.embed_tokens\.weight$|\.EncDecAttention\.relative_attention_bias\.weight$/,
});

/** mT5: T5 1.1, whose head is never scaled; one in the file is used even where config.json calls it tied. */
const mt5 = like(t5, {
  derive: (json, unsupported, files) => ({
    ...t5.derive({ ...json, feed_forward_proj: json.feed_forward_proj ?? 'gated-gelu' }, unsupported, files),
    tie_word_embeddings: files ? !files.has('lm_head.weight') : json.tie_word_embeddings,
    logit_scale: 1,
  }),
});

/** MVP: BART, which may have prompts of its own. @type {Family['derive']} */
function mvpFields(json, unsupported, tensors) {
  if (json.use_prompt) unsupported('use_prompt', true);
  return bart.derive(json, unsupported, tensors);
}

/** The families of this file by model_type. */
export const SEQ2SEQ = {
  marian,
  bart,
  mvp: like(bart, { derive: mvpFields, reads: `${bart.reads} use_prompt prompt_length prompt_mid_dim` }),
  plbart: bart,
  mbart,
  blenderbot,
  pegasus,
  m2m_100: m2m,
  t5,
  mt5,
};
