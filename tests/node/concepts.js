// concepts.js - small decoders that differ in one concept each, and what the page has to say about them

export const TINY = {
  kind: 'decoder',
  vocab_size: 64,
  d_model: 32,
  n_layers: 3,
  n_heads: 4,
  d_ff: 40,
  context_length: 64,
};
/**
 * One concept each: a config, stages that it has (true) or lacks (false), and words that a stage's title, formula or
 * sentence has. `ID@LAYER` is a stage of another layer than the first.
 * @type {Record<string, [config: any, has: Record<string, boolean>, says: Record<string, RegExp[]>]>}
 */
export const CONCEPTS = {
  'pre-norm': [
    {},
    { norm1: true, norm2: true, post1: false, post2: false },
    { norm1: [/^RMSNorm\n/, /· gain\n/, /heads read.*not changed \(pre-norm\)/], out: [/x = x \+ W_o z\n/] },
  ],
  'post-norm': [
    { norm_placement: 'post', final_norm: false, norm: 'layernorm' },
    { final: false, post1: false },
    {
      norm2: [/stream itself, after each sum/, /· gain \+ bias\n/],
      out: [/x = norm\(x \+ W_o z\)\n/],
      resid: [/x = norm\(x \+ y\)/],
    },
  ],
  'sandwich norms': [
    { norm_placement: 'sandwich' },
    { norm1: true, norm2: true, post1: true, post2: true },
    {
      post1: [/output of the heads before it is added/],
      out: [/x = x \+ norm\(W_o z\)\n/, /is added, after a norm, to the residual stream/],
      resid: [/x = x \+ norm\(y\)\n/],
    },
  ],
  'norms of outputs': [
    { norm_placement: 'output' },
    { norm1: true, norm2: true, post1: false },
    {
      norm1: [/output of the heads before it is added/],
      norm2: [/the FFN reads it as it is/],
      out: [/x = x \+ norm\(W_o z\)\n/],
    },
  ],
  'parallel blocks': [
    { parallel_residual: true },
    { norm2: true },
    {
      out: [/^Out\n/, /a = W_o z\n/, /together with that of the FFN/],
      ffn: [/as it came into the block/],
      resid: [/x = x \+ a \+ y\n/],
    },
  ],
  'attention alone, without norms': [
    { d_ff: 0, ffn: 'none', norm: 'none' },
    { norm1: false, norm2: false, ffn: false, resid: true, final: false },
    { out: [/x = x \+ W_o z\n/], resid: [/^Residual\n\n/] },
  ],
  'a norm for both': [
    { parallel_residual: true, shared_norm: true },
    { norm1: true, norm2: false },
    { norm1: [/^RMSNorm, shared\n/, /both the heads and the FFN/] },
  ],
  'norms without weights': [
    { norm: 'layernorm', norm_gain: false },
    { final: true },
    { norm1: [/√\(var \+ ε\)\n/, /no weights/], final: [/√\(var \+ ε\)\n/] },
  ],
  'a norm of the embedding': [{ embed_norm: true }, {}, { embed: [/x₀ = norm\(E\[token\]\)\n/, /RMSNorm rescales/] }],
  'norms of q and k': [
    { qk_norm: true, qk_norm_kind: 'layernorm', bias_qk_norm: true },
    {},
    { qkv: [/q = norm\(q\), k = norm\(k\)/, /LayerNorm rescales q and k within each head\./] },
  ],
  'norms of q and k, each head its own': [
    { qk_norm: true, qk_norm_span: 'each_head' },
    {},
    { qkv: [/a gain for each head/] },
  ],
  'norms of q and k as whole vectors': [
    { qk_norm: true, qk_norm_span: 'projection', n_kv_heads: 2 },
    {},
    { qkv: [/over all heads together/, /2 groups of heads/] },
  ],
  'rotation of a part of the head': [
    { rotary_dim: 4 },
    {},
    { qkv: [/rotated by position in 4 of 8 components\n/, /first 4 of the 8 components/] },
  ],
  'heads without rotation': [
    { n_kv_heads: 2, rotary_kv_heads: 1 },
    {},
    { qkv: [/rotated by position in 2 of 4 heads\n/, /heads after the first 2 do not depend on positions/] },
  ],
  'layers without rotation': [
    { rope_layers: [true, false, true] },
    {},
    {
      qkv: [/rotated by position\n/],
      'qkv@1': [/W_v x\n/, /does not rotate/],
      embed: [/enters later, where q and k are rotated/],
    },
  ],
  'another base in layers with a window': [
    { sliding_window: 4, window_layers: [true, false], rope_local_theta: 500, rope_theta: 80000 },
    {},
    { qkv: [/base 500\n/], 'qkv@1': [/base 80,000\n/] },
  ],
  'windows by layer': [
    { sliding_window: 4, window_layers: [true, false] },
    {},
    {
      heads: [/its own key and the 3 before it/],
      'heads@1': [/every key before it\. Other layers use a sliding window/],
    },
  ],
  'a window in all layers': [{ sliding_window: 1 }, {}, { heads: [/its own key only/] }],
  ALiBi: [
    { position: 'alibi' },
    {},
    {
      embed: [/penalty on the scores of distant keys/],
      heads: [/− m · distance \+ mask\)/, /slope m/],
      qkv: [/W_v x\n/],
    },
  ],
  'learned positions behind an offset': [
    { position: 'learned', position_offset: 2 },
    {},
    { embed: [/^Embedding \+ position\n/, /E\[token\] \+ P\[position \+ 2\]\n/] },
  ],
  'a bias of distances': [
    { position: 'none', relative_buckets: 8, relative_max_distance: 20 },
    {},
    {
      embed: [/learned bias of the scores for each distance/],
      heads: [/ \+ b\[distance\] \+ mask\)/, /one of 8 that all layers share/],
    },
  ],
  experts: [
    { n_experts: 4, n_experts_used: 2, d_expert: 24 },
    {},
    { ffn: [/^Experts, 2 of 4\n/, /softmax\(W_router x\)/, /divided by their sum/] },
  ],
  'experts in some layers': [
    { n_experts: 4, n_experts_used: 1, d_expert: 24, expert_layers: [true, false], norm_expert_weights: false },
    {},
    { ffn: [/^Experts, 1 of 4\n/], 'ffn@1': [/^SwiGLU\n/] },
  ],
  'a shared expert': [
    { n_experts: 4, n_experts_used: 2, d_expert: 24, d_shared_expert: 40 },
    {},
    { ffn: [/^Experts, 2 of 4\n/, /One more, 40 wide, works on every token/] },
  ],
  'another kind of final norm': [
    { norm: 'layernorm', final_norm_kind: 'rmsnorm' },
    {},
    { final: [/^Final RMSNorm\n/, /√\(mean\(x²\) \+ ε\) · gain\n/], norm1: [/^LayerNorm\n/] },
  ],
  'no positions': [{ position: 'none' }, {}, { embed: [/^Embedding\n/, /no position embedding/] }],
  'positions switched off': [{ use_position: false }, {}, { embed: [/positions are switched off/], qkv: [/W_v x\n/] }],
  'a soft cap of scores': [
    { score_softcap: 50 },
    {},
    { heads: [/softmax\(50 tanh\(\(q kᵀ \/ √8\) \/ 50\) \+ mask\)/, /between −50 and 50/] },
  ],
  'a factor of scores': [{ score_scale: 0.0625 }, {}, { heads: [/softmax\(0\.0625 · q kᵀ \+ mask\)/] }],
  'scores as they are': [{ scale_scores: false }, {}, { heads: [/softmax\(q kᵀ \+ mask\)/] }],
  'factors of embedding, sums and logits': [
    { embedding_scale: 12, residual_scale: 0.22, logit_scale: 0.125 },
    {},
    {
      embed: [/x₀ = 12 · E\[token\]\n/, /multiplied by 12/],
      out: [/x = x \+ 0\.22 · W_o z\n/],
      resid: [/x = x \+ 0\.22 · y\n/],
      head: [/logits = 0\.125 · E x\n/, /multiplied by 0\.125/],
    },
  ],
  'a soft cap of logits and a bias': [
    { logit_softcap: 30, bias_head: true },
    {},
    { head: [/logits = 30 tanh\(\(E x \+ b\) \/ 30\)\n/, /between −30 and 30/] },
  ],
  'a narrow embedding': [
    { d_embed: 12, tie_word_embeddings: false },
    {},
    {
      embed: [/x₀ = W_in E\[token\]\n/, /64 rows of 12 numbers, from which a matrix makes 32;/],
      head: [/^Scores \(head\)\n/, /logits = W W_out x\n/],
    },
  ],
  'an encoder with a narrow embedding': [
    { kind: 'encoder', d_embed: 12, mlm_head: true, position: 'learned', norm: 'layernorm', embed_norm: true },
    {},
    { embed: [/x₀ = W_in norm\(E\[token\] \+ P\[position\]\) \+ b_in\n/] },
  ],
  'norms of q and k after the rotation': [
    { qk_norm: true, qk_norm_rotated: true },
    {},
    { qkv: [/rotated by position; q = norm\(q\), k = norm\(k\)\n/] },
  ],
  'no norm before the first attention': [
    { first_norm: false, embed_norm: true },
    { norm1: false, norm2: true, 'norm1@1': true },
    {},
  ],
  'outputs that are added to the norm': [
    { residual_normed: true },
    { norm1: true },
    { out: [/x = norm\(x\) \+ W_o z\n/], resid: [/x = norm\(x\) \+ y/] },
  ],
  'scores divided by the layer': [
    { scores_by_layer: true },
    {},
    { heads: [/q kᵀ \/ √8 \+ mask/], 'heads@1': [/0\.1768 · q kᵀ \+ mask/] },
  ],
  'a layer before the head': [
    { mlm_head: true, head_activation: 'mish', ffn: 'quick_gelu', bias_head_transform: false },
    {},
    { ffn: [/^QuickGELU/, /quick_gelu\(/], head: [/logits = E norm\(mish\(W x\)\)\n/] },
  ],
  'layers with the same weights': [{ n_layer_groups: 2 }, {}, {}],
  'an encoder of other widths': [
    {
      ...{ kind: 'encoder_decoder', n_encoder_layers: 2, d_encoder_ff: 24 },
      ...{ encoder_vocab_size: 50, shared_embedding: false },
    },
    {},
    {},
  ],
  'q, k and v limited': [{ clip_qkv: 1.5 }, {}, { qkv: [/q, k, v limited to ±1\.5/] }],
  'one key for all heads': [{ n_kv_heads: 1 }, {}, { qkv: [/all heads share one key \(k\) and one value/] }],
  biases: [
    { bias_qkv: true, bias_attn_out: true, bias_ffn: true },
    {},
    {
      qkv: [/q = W_q x \+ b_q/],
      out: [/x = x \+ W_o z \+ b_o\n/],
      ffn: [/silu\(W_gate x \+ b_gate\) ⊙ \(W_up x \+ b_up\)\) \+ b_down/],
    },
  ],
  'no norms, no residual connections': [
    { use_norm: false, use_residual: false, use_final_norm: false },
    { norm1: true, final: true },
    { norm1: [/y = x\n/, /switched off/], out: [/x = W_o z\n/, /switched off/], final: [/switched off/] },
  ],
  ...Object.fromEntries(
    Object.entries({
      relu: 'ReLU FFN',
      silu: 'SiLU FFN',
      gelu_erf: 'GELU-erf FFN',
      reglu: 'ReGLU',
      geglu_erf: 'GEGLU-erf',
      geglu_tanh: 'GEGLU-tanh',
    }).map(([ffn, title]) => [
      title,
      [
        { ffn },
        {},
        {
          ffn: [
            new RegExp(`^${title}\n`),
            title.endsWith('FFN') ? /W_down \w+\(W_up x\)\n/ : /\(\w+\(W_gate x\) ⊙ W_up x\)\n/,
          ],
        },
      ],
    ]),
  ),
};
