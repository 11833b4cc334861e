// roster_rows.js - the tables of all weights
//
// Made from src/model/roster.c by scripts/generate.js. Do not edit it.
import { isGated, isSparse } from './config.js';

/** @typedef {'embedding'|'position'|'attention'|'cross_attention'|'ffn'|'norm'|'final_norm'|'head'} Component */

/**
 * The weights of each part, in the engine's order. A row is a weight (dims, or the same for heads), another part
 * (count: as often), or what holds for the rows that follow it (component or width alone).
 * @type {Record<string, import('./roster.js').Row[]>}
 */
export const ROWS = {
  model: [
    { component: 'embedding' },
    {
      when: (c) => c.kind === 'encoder_decoder' && !c.shared_embedding,
      name: 'encoder.embed.weight',
      dims: ['vocab_size', 'd_model'],
    },
    { when: (c) => c.d_embed === 0, name: 'embed.weight', dims: ['vocab_size', 'd_model'] },
    { when: (c) => c.d_embed > 0, name: 'embed.weight', dims: ['vocab_size', 'd_embed'] },
    { when: (c) => c.d_embed > 0, name: 'embed_project.weight', dims: ['d_model', 'd_embed'] },
    { component: 'position' },
    {
      when: (c) => c.position === 'learned' && c.kind === 'encoder_decoder',
      name: 'encoder.position.weight',
      dims: ['position_offset + context_length', 'd_model'],
    },
    {
      when: (c) => c.position === 'learned',
      name: 'position.weight',
      dims: ['position_offset + context_length', 'd_model'],
    },
    {
      when: (c) => c.relative_buckets > 0 && c.kind === 'encoder_decoder',
      name: 'encoder.relative_bias.weight',
      dims: ['relative_buckets', 'n_heads'],
    },
    { when: (c) => c.relative_buckets > 0, name: 'relative_bias.weight', dims: ['relative_buckets', 'n_heads'] },
    {
      when: (c) => c.embed_norm && c.kind === 'encoder_decoder',
      name: 'encoder.embed_norm.',
      part: 'norm',
      component: 'norm',
    },
    { component: 'embedding' },
    { when: (c) => c.n_token_types > 0, name: 'token_type.weight', dims: ['n_token_types', 'd_model'] },
    { when: (c) => c.embed_norm, name: 'embed_norm.', part: 'norm', component: 'norm' },
    {
      when: (c) => c.kind === 'encoder_decoder',
      name: 'encoder.',
      count: 'n_encoder_layers',
      part: 'block',
      stack: 'encoder',
      cross: false,
    },
    {
      when: (c) => c.kind === 'encoder_decoder' && c.final_norm,
      name: 'encoder.final_norm.',
      part: 'final_norm',
      component: 'final_norm',
    },
    {
      when: (c) => c.kind === 'encoder_decoder',
      name: 'decoder.',
      count: 'n_layers',
      part: 'block',
      stack: 'decoder',
      cross: true,
    },
    {
      when: (c) => c.kind === 'encoder',
      name: 'blocks.',
      count: 'n_layers',
      part: 'block',
      stack: 'encoder',
      cross: false,
    },
    {
      when: (c) => c.kind === 'decoder',
      name: 'blocks.',
      count: 'n_layers',
      part: 'block',
      stack: 'decoder',
      cross: false,
    },
    { when: (c) => c.final_norm, name: 'final_norm.', part: 'final_norm', component: 'final_norm' },
    { when: (c) => c.pooler, name: 'pooler.', part: 'dense', component: 'head' },
    { when: (c) => c.mlm_head, name: 'head_transform.', part: 'dense', component: 'head' },
    { when: (c) => c.mlm_head, name: 'head_norm.', part: 'norm', component: 'head' },
    { component: 'head' },
    { when: (c) => c.d_embed > 0, name: 'head_project.weight', dims: ['d_embed', 'd_model'] },
    { when: (c) => c.tie_word_embeddings, name: 'head.weight', tiedTo: 'embed.weight' },
    { when: (c) => !c.tie_word_embeddings && c.d_embed > 0, name: 'head.weight', dims: ['vocab_size', 'd_embed'] },
    {
      when: (c) => !c.tie_word_embeddings && c.d_embed === 0 && (c.kind !== 'encoder' || c.mlm_head),
      name: 'head.weight',
      dims: ['vocab_size', 'd_model'],
    },
    { when: (c) => c.bias_head, name: 'head.bias', dims: ['vocab_size'] },
  ],
  block: [
    { name: 'norm1.', part: 'norm', component: 'norm' },
    { name: 'attn.', part: 'qkv', component: 'attention' },
    { when: (c) => c.qk_norm, name: 'attn.', part: 'qk_norm', component: 'attention' },
    { name: 'attn.', part: 'attention_output', component: 'attention' },
    { when: (c) => c.norm_placement === 'sandwich', name: 'norm1_post.', part: 'norm', component: 'norm' },
    { when: (c, at) => at.cross, name: 'norm2.', part: 'norm', component: 'norm' },
    { when: (c, at) => at.cross, name: 'cross_attn.', part: 'qkv', component: 'cross_attention' },
    { when: (c, at) => at.cross, name: 'cross_attn.', part: 'attention_output', component: 'cross_attention' },
    { when: (c, at) => at.cross && !c.shared_norm, name: 'norm3.', part: 'norm', component: 'norm' },
    { when: (c, at) => !at.cross && !c.shared_norm, name: 'norm2.', part: 'norm', component: 'norm' },
    { width: 'd_ff' },
    { when: (c, at) => isSparse(c, at.layer), name: 'ffn.', part: 'experts', component: 'ffn' },
    { when: (c, at) => !isSparse(c, at.layer), name: 'ffn.', part: 'ffn', component: 'ffn' },
    { when: (c) => c.norm_placement === 'sandwich', name: 'norm2_post.', part: 'norm', component: 'norm' },
  ],
  qkv: [
    { name: 'q.weight', dims: ['n_heads × d_head', 'd_model'] },
    { name: 'k.weight', dims: ['n_kv_heads × d_head', 'd_model'] },
    { name: 'v.weight', dims: ['n_kv_heads × d_head', 'd_model'] },
    { when: (c) => c.bias_qkv, name: 'q.bias', dims: ['n_heads × d_head'] },
    { when: (c) => c.bias_qkv, name: 'k.bias', dims: ['n_kv_heads × d_head'] },
    { when: (c) => c.bias_qkv, name: 'v.bias', dims: ['n_kv_heads × d_head'] },
  ],
  qk_norm: [
    { name: 'q_norm.', end: 'weight', heads: 'n_heads' },
    { when: (c) => c.bias_qk_norm, name: 'q_norm.', end: 'bias', heads: 'n_heads' },
    { name: 'k_norm.', end: 'weight', heads: 'n_kv_heads' },
    { when: (c) => c.bias_qk_norm, name: 'k_norm.', end: 'bias', heads: 'n_kv_heads' },
  ],
  attention_output: [
    { name: 'o.weight', dims: ['d_model', 'n_heads × d_head'] },
    { when: (c) => c.bias_attn_out, name: 'o.bias', dims: ['d_model'] },
  ],
  ffn: [
    { when: (c) => isGated(c), name: 'gate.weight', dims: ['width', 'd_model'] },
    { name: 'up.weight', dims: ['width', 'd_model'] },
    { when: (c) => isGated(c) && c.bias_ffn, name: 'gate.bias', dims: ['width'] },
    { when: (c) => c.bias_ffn, name: 'up.bias', dims: ['width'] },
    { name: 'down.weight', dims: ['d_model', 'width'] },
    { when: (c) => c.bias_ffn, name: 'down.bias', dims: ['d_model'] },
  ],
  experts: [
    { name: 'router.weight', dims: ['n_experts', 'd_model'] },
    { when: (c) => c.d_shared_expert > 0, name: 'shared_gate.weight', dims: ['1', 'd_model'] },
    { width: 'd_expert' },
    { name: 'experts.', count: 'n_experts', part: 'ffn', component: 'ffn' },
    { width: 'd_shared_expert' },
    { when: (c) => c.d_shared_expert > 0, name: 'shared_expert.', part: 'ffn', component: 'ffn' },
  ],
  norm: [
    { when: (c) => c.norm_gain, name: 'weight', dims: ['d_model'] },
    { when: (c) => c.bias_norm && c.norm === 'layernorm', name: 'bias', dims: ['d_model'] },
  ],
  final_norm: [
    { when: (c) => c.norm_gain, name: 'weight', dims: ['d_model'] },
    { when: (c) => c.bias_norm && c.final_norm_kind === 'layernorm', name: 'bias', dims: ['d_model'] },
  ],
  dense: [
    { name: 'weight', dims: ['d_model', 'd_model'] },
    { name: 'bias', dims: ['d_model'] },
  ],
};
