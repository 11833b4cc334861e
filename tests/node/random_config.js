// random_config.js - small configurations of every kind, for property tests
import fc from 'fast-check';

/** Our own fields of the usual architectures; always a model that can exist. */
export const randomConfig = fc
  .record({
    kind: fc.constantFrom('decoder', 'encoder', 'encoder_decoder'),
    vocab_size: fc.integer({ min: 1, max: 40 }),
    n_layers: fc.integer({ min: 1, max: 3 }),
    n_encoder_layers: fc.integer({ min: 1, max: 3 }),
    n_kv_heads: fc.integer({ min: 1, max: 3 }),
    group: fc.integer({ min: 1, max: 3 }),
    half: fc.integer({ min: 1, max: 4 }),
    encoder_heads: fc.integer({ min: 0, max: 2 }),
    width: fc.integer({ min: 1, max: 12 }),
    d_ff: fc.integer({ min: 1, max: 24 }),
    context_length: fc.integer({ min: 1, max: 20 }),
    norm: fc.constantFrom('layernorm', 'rmsnorm', 'none'),
    norm_placement: fc.constantFrom('pre', 'post'),
    final_norm: fc.boolean(),
    qk_norm: fc.boolean(),
    ffn: fc.constantFrom('relu', 'gelu_erf', 'gelu_tanh', 'swiglu', 'none'),
    position: fc.constantFrom('none', 'sinusoidal', 'learned', 'rope'),
    sinusoid_pairs: fc.constantFrom('adjacent', 'half'),
    relative_buckets: fc.constantFrom(0, 0, 4, 9),
    relative_max_distance: fc.constantFrom(5, 128),
    embed_norm: fc.boolean(),
    bias_qkv: fc.boolean(),
    bias_attn_out: fc.boolean(),
    bias_ffn: fc.boolean(),
    bias_norm: fc.boolean(),
    bias_head: fc.boolean(),
    tie_word_embeddings: fc.boolean(),
    shared_embedding: fc.boolean(),
    types: fc.integer({ min: 0, max: 3 }),
    pad: fc.integer({ min: -1, max: 2 }),
    pooler: fc.boolean(),
    mlm_head: fc.boolean(),
  })
  .map(({ group, half, width, encoder_heads, n_encoder_layers: encoders, types, pad, ...c }) => ({
    ...c,
    ...(c.norm === 'none' && { norm_placement: 'pre', final_norm: false, embed_norm: false }),
    ...(c.ffn === 'none' && { d_ff: 0, mlm_head: false }),
    n_encoder_layers: c.kind === 'encoder_decoder' ? encoders : 0,
    n_heads: c.n_kv_heads * group,
    ...(c.kind === 'encoder_decoder' &&
      ![c.qk_norm, c.relative_buckets, c.position === 'rope', group > 1].some(Boolean) && {
        n_encoder_heads: [0, 1, 2 * half * c.n_kv_heads][encoder_heads],
      }),
    d_head: 2 * half,
    d_model: 2 * width,
    causal: c.kind !== 'encoder',
    shared_embedding: c.shared_embedding || c.kind !== 'encoder_decoder',
    bias_head: c.bias_head && (c.kind !== 'encoder' || (c.mlm_head && c.ffn !== 'none')),
    n_token_types: c.kind === 'encoder' ? types : 0,
    ...(c.kind === 'encoder' && c.position === 'learned' && { position_pad_id: pad, position_offset: pad + 1 }),
  }));

/** The same with a classifier in place of the head of the vocabulary. */
export const randomClassifier = fc
  .tuple(
    randomConfig,
    fc.record({
      n_labels: fc.constantFrom(1, 5),
      label_pooling: fc.constantFrom('none', 'first', 'mean', 'pooler'),
      label_transform: fc.constantFrom('none', 'tanh', 'gelu_erf'),
      label_norm: fc.boolean(),
      bias_head: fc.boolean(),
    }),
  )
  .map(([usual, { label_pooling: pooling, ...c }]) => ({
    ...usual,
    ...c,
    mlm_head: false,
    ...(usual.kind === 'encoder' && { pooler: usual.pooler || pooling === 'pooler' }),
    label_pooling: usual.kind === 'encoder' || pooling === 'none' ? pooling : 'last',
    label_norm: c.label_norm && c.label_transform !== 'none' && usual.norm !== 'none',
  }));

/** The same of decoders, with the parts that only some families have. */
export const randomVariant = fc
  .tuple(
    randomConfig,
    fc.record({
      norm_placement: fc.constantFrom('pre', 'post', 'sandwich', 'output'),
      norm_gain: fc.boolean(),
      final_norm_kind: fc.constantFrom('rmsnorm', 'layernorm'),
      final_norm_eps: fc.constantFrom(0, 0.01),
      embed_norm: fc.boolean(),
      parallel_residual: fc.boolean(),
      shared_norm: fc.boolean(),
      qk_norm: fc.boolean(),
      qk_norm_kind: fc.constantFrom('rmsnorm', 'layernorm'),
      qk_norm_span: fc.constantFrom('head', 'each_head', 'projection'),
      bias_qk_norm: fc.boolean(),
      ffn: fc.constantFrom('silu', 'reglu', 'geglu_erf', 'geglu_tanh'),
      position: fc.constantFrom('learned', 'rope', 'alibi'),
      position_offset: fc.integer({ min: 0, max: 3 }),
      d_embed: fc.integer({ min: 1, max: 9 }),
      window_layers: fc.array(fc.boolean(), { maxLength: 3 }),
      rotary_kv_heads: fc.constantFrom(0, 1),
      rope_layers: fc.array(fc.boolean(), { maxLength: 3 }),
      n_experts: fc.integer({ min: 0, max: 4 }),
      unused: fc.integer({ min: 0, max: 3 }),
      d_expert: fc.integer({ min: 1, max: 30 }),
      norm_expert_weights: fc.boolean(),
      d_shared_expert: fc.integer({ min: 0, max: 30 }),
      expert_layers: fc.array(fc.boolean(), { maxLength: 3 }),
    }),
  )
  .filter(([{ kind, norm, ffn }]) => kind === 'decoder' && norm !== 'none' && ffn !== 'none')
  .map(([usual, { position_offset: offset, unused, ...c }]) => ({
    ...usual,
    mlm_head: false,
    ...c,
    n_experts_used: Math.max(Math.min(c.n_experts, 1), c.n_experts - unused),
    ...(c.n_experts > 0 ? { bias_ffn: false } : { d_shared_expert: 0 }),
    ...(c.parallel_residual ? { norm_placement: 'pre' } : { shared_norm: false }),
    ...(c.position === 'learned' && { position_offset: offset }),
  }));
