// claims/files.js - small checkpoints as a reader of each tutorial would save them: its state_dict's names in
// safetensors, a config.json beside it. Random weights that are the same on every machine.

import { normal } from './check.js';

/** @typedef {import('./reference.js').Weights} Weights */
/** @typedef {{config: any, weights: Weights}} Checkpoint */

/**
 * A safetensors file.
 * @param {Weights} weights
 * @returns {Uint8Array}
 */
export function safetensors(weights) {
  /** @type {Record<string, any>} */
  const header = {};
  let at = 0;
  for (const [name, { shape, data }] of Object.entries(weights))
    header[name] = { dtype: 'F32', shape, data_offsets: [at, (at += data.byteLength)] };
  const json = new TextEncoder().encode(JSON.stringify(header));
  const file = new Uint8Array(8 + json.length + at);
  new DataView(file.buffer).setUint32(0, json.length, true);
  file.set(json, 8);
  let to = 8 + json.length;
  for (const { data } of Object.values(weights)) {
    const view = new DataView(file.buffer, to);
    data.forEach((v, i) => view.setFloat32(4 * i, v, true));
    to += data.byteLength;
  }
  return file;
}

/**
 * What `load` takes.
 * @param {Checkpoint} checkpoint
 */
export const asSource = ({ config, weights }) => ({ weights: safetensors(weights), config });

/**
 * Gains about 1, biases small, matrices wide enough that every part has its say.
 * @param {number} seed
 * @param {Record<string, number[]>} shapes
 * @returns {Weights}
 */
function fill(seed, shapes) {
  const draw = normal(seed);
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      const gain = /(gamma|ln_?[12f]\.weight)$/.test(name) && shape.length === 1;
      const std = shape.length === 2 ? 0.25 : 0.1;
      return [
        name,
        {
          shape,
          data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (gain ? 1 : 0) + std * draw()),
        },
      ];
    }),
  );
}

/**
 * @param {Record<string, number[]>} shapes
 * @param {string} name
 * @param {number} out
 * @param {number} inner
 * @param {boolean} bias
 */
function linear(shapes, name, out, inner, bias) {
  shapes[`${name}.weight`] = [out, inner];
  if (bias) shapes[`${name}.bias`] = [out];
}

/**
 * Tutorial 1.
 * @param {Record<string, any>} [changes] to its modern configuration
 * @returns {Checkpoint}
 */
export function tutorial1(changes = {}) {
  const config = {
    model_type: 'rlvr-from-scratch',
    vocab_size: 48,
    d_model: 16,
    n_layers: 2,
    n_heads: 2,
    d_ff: 40,
    max_seq_len: 32,
    positional: 'rope',
    norm: 'rmsnorm',
    ffn: 'swiglu',
    pre_norm: true,
    bias: false,
    tie_embeddings: true,
    rope_base: 10000,
    norm_eps: 1e-6,
    rope_convention: 'rotate_half',
    ...changes,
  };
  const { d_model: d, d_ff: f, bias } = config;
  /** @type {Record<string, number[]>} */
  const shapes = { 'token_emb.weight': [config.vocab_size, d] };
  const norm = (/** @type {string} */ name) => {
    shapes[`${name}.gamma`] = [d];
    if (config.norm === 'layernorm') shapes[`${name}.beta`] = [d];
  };
  for (let l = 0; l < config.n_layers; l++) {
    const b = `blocks.${l}`;
    norm(`${b}.norm1`);
    for (const part of ['Q', 'K', 'V', 'O']) linear(shapes, `${b}.attn.W_${part}`, d, d, bias);
    norm(`${b}.norm2`);
    if (config.ffn === 'swiglu') for (const part of ['gate', 'up']) linear(shapes, `${b}.ffn.W_${part}`, f, d, bias);
    else linear(shapes, `${b}.ffn.W_1`, f, d, bias);
    linear(shapes, `${b}.ffn.${config.ffn === 'swiglu' ? 'W_down' : 'W_2'}`, d, f, bias);
  }
  norm('final_norm');
  if (!config.tie_embeddings) linear(shapes, 'lm_head', config.vocab_size, d, false);
  return { config, weights: fill(11, shapes) };
}

/** Its design of 2017: post-norm, LayerNorm, GELU, sinusoidal positions. */
export const tutorial1Classical = () =>
  tutorial1({
    positional: 'sinusoidal',
    norm: 'layernorm',
    ffn: 'gelu',
    pre_norm: false,
    bias: true,
    tie_embeddings: false,
    norm_eps: 1e-5,
    d_ff: 64,
  });

/**
 * Tutorial 2.
 * @param {Record<string, any>} [changes]
 * @returns {Checkpoint}
 */
export function tutorial2(changes = {}) {
  const config = {
    model_type: 'bare-bones-ml-transformer',
    vocab_size: 40,
    hidden_size: 16,
    num_layers: 2,
    num_heads: 2,
    ff_size: 32,
    max_len: 50,
    layer_norm_eps: 1e-5,
    embedding_scale: 1,
    shared_embedding: true,
    tied_head: false,
    post_norm: true,
    activation: 'relu',
    mask_mode: 'causal',
    ...changes,
  };
  const d = config.hidden_size;
  /** @type {Record<string, number[]>} */
  const shapes = { 'token_embedding.embedding': [config.vocab_size, d] };
  const addNorm = (/** @type {string} */ name) => {
    shapes[`${name}.norm.gamma`] = [d];
    shapes[`${name}.norm.beta`] = [d];
  };
  const attention = (/** @type {string} */ name) => {
    for (const part of ['q_linear', 'k_linear', 'v_linear', 'fc']) linear(shapes, `${name}.${part}`, d, d, true);
  };
  const ffn = (/** @type {string} */ name) => {
    linear(shapes, `${name}.linear1`, config.ff_size, d, true);
    linear(shapes, `${name}.linear2`, d, config.ff_size, true);
  };
  for (let l = 0; l < config.num_layers; l++) {
    const b = `encoder.layers.${l}`;
    attention(`${b}.self_attn`);
    addNorm(`${b}.add_norm1`);
    ffn(`${b}.ff`);
    addNorm(`${b}.add_norm2`);
  }
  for (let l = 0; l < config.num_layers; l++) {
    const b = `decoder.layers.${l}`;
    attention(`${b}.masked_self_attn`);
    addNorm(`${b}.add_norm1`);
    attention(`${b}.enc_dec_attn`);
    addNorm(`${b}.add_norm2`);
    ffn(`${b}.ff`);
    addNorm(`${b}.add_norm3`);
  }
  linear(shapes, 'final_linear', config.vocab_size, d, true);
  return { config, weights: fill(22, shapes) };
}

/**
 * Tutorials 3 (queries, keys and values apart) and 5 (fused).
 * @param {Record<string, any>} [changes]
 * @returns {Checkpoint}
 */
export function plainGpt(changes = {}) {
  const config = {
    model_type: 'gpt-prenorm-erf',
    vocab_size: 48,
    d_model: 16,
    n_layers: 2,
    n_heads: 2,
    context: 32,
    mlp_mult: 4,
    mlp_bias: false,
    attn_bias: false,
    ln_bias: true,
    fused_qkv: true,
    tie_embeddings: true,
    norm_eps: 1e-5,
    activation: 'gelu_erf',
    ...changes,
  };
  const d = config.d_model;
  /** @type {Record<string, number[]>} */
  const shapes = { 'tok_emb.weight': [config.vocab_size, d], 'pos_emb.weight': [config.context, d] };
  for (let l = 0; l < config.n_layers; l++) {
    const b = `blocks.${l}`;
    shapes[`${b}.ln1.weight`] = [d];
    shapes[`${b}.ln1.bias`] = [d];
    if (config.fused_qkv) linear(shapes, `${b}.attn.qkv`, 3 * d, d, false);
    else for (const part of ['q', 'k', 'v']) linear(shapes, `${b}.attn.${part}`, d, d, false);
    linear(shapes, `${b}.attn.proj`, d, d, false);
    shapes[`${b}.ln2.weight`] = [d];
    shapes[`${b}.ln2.bias`] = [d];
    linear(shapes, `${b}.mlp.fc1`, config.mlp_mult * d, d, false);
    linear(shapes, `${b}.mlp.fc2`, d, config.mlp_mult * d, false);
  }
  shapes['ln_f.weight'] = [d];
  shapes['ln_f.bias'] = [d];
  return { config, weights: fill(35, shapes) };
}

/**
 * Tutorial 4: GPT-2 as its published files have it.
 * @returns {Checkpoint}
 */
export function gpt2() {
  const config = {
    model_type: 'gpt2',
    activation_function: 'gelu_new',
    vocab_size: 48,
    n_embd: 16,
    n_layer: 2,
    n_head: 2,
    n_positions: 32,
    n_ctx: 32,
    layer_norm_epsilon: 1e-5,
    tie_word_embeddings: true,
  };
  const d = config.n_embd;
  /** @type {Record<string, number[]>} */
  const shapes = { 'wte.weight': [config.vocab_size, d], 'wpe.weight': [config.n_positions, d] };
  const norm = (/** @type {string} */ name) => {
    shapes[`${name}.weight`] = [d];
    shapes[`${name}.bias`] = [d];
  };
  const conv = (/** @type {string} */ name, /** @type {number} */ inner, /** @type {number} */ out) => {
    shapes[`${name}.weight`] = [inner, out];
    shapes[`${name}.bias`] = [out];
  };
  for (let l = 0; l < config.n_layer; l++) {
    norm(`h.${l}.ln_1`);
    conv(`h.${l}.attn.c_attn`, d, 3 * d);
    conv(`h.${l}.attn.c_proj`, d, d);
    norm(`h.${l}.ln_2`);
    conv(`h.${l}.mlp.c_fc`, d, 4 * d);
    conv(`h.${l}.mlp.c_proj`, 4 * d, d);
  }
  norm('ln_f');
  return { config, weights: fill(44, shapes) };
}

/**
 * The same weights with one number changed by so much.
 * @param {Checkpoint} checkpoint @param {string} name @param {number} index @param {number} by
 * @returns {Checkpoint}
 */
export function nudged({ config, weights }, name, index, by) {
  const data = Float32Array.from(weights[name].data);
  data[index] += by;
  return { config, weights: { ...weights, [name]: { ...weights[name], data } } };
}
