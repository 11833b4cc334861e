// designs.js - the models of the tutorials as their classes name their weights: what a checkpoint holds
// (checkpoints.js) and what the reference reads (reference.js)

/**
 * Names of its norm and of its maps: of attention q, k, v (or qkv in one) and out, of an FFN up, down and perhaps gate. In
 * the order of the file. cross: keys and values are the encoder's.
 * @typedef {{ norm: string, cross?: boolean, gate?: string, down?: string, out?: string, [map: string]: any }} Sublayer
 *
 * @typedef {object} Design
 * @property {number} vocabulary
 * @property {number} width
 * @property {number} heads
 * @property {number} hidden       of an FFN
 * @property {number} eps
 * @property {string[]} affine     the ends of a norm's names: gain, and shift where it has one
 * @property {boolean} bias        of the maps
 * @property {string} embed
 * @property {string} [positions]  learned ones
 * @property {number} [context]    of these
 * @property {boolean} [sinusoids]
 * @property {number} [theta]      of rotary positions
 * @property {boolean} [rms]
 * @property {boolean} [post]      norms behind each sum
 * @property {boolean} [transposed] maps are stored [in, out]
 * @property {boolean} [unmasked]
 * @property {string} activation
 * @property {Sublayer[][]} [encoder]  by layer
 * @property {Sublayer[][]} decoder
 * @property {string} [final]      norm
 * @property {string} head         a map of its own or the embedding
 */

/** @param {number} n @param {(layer: number) => Sublayer[]} layer */
const stack = (n, layer) => Array.from({ length: n }, (_, l) => layer(l));

/** Tutorial 1: the modern decoder and its classical variants. @param {any} c its config.json @returns {Design} */
const modern = (c) => ({
  ...{ vocabulary: c.vocab_size, width: c.d_model, heads: c.n_heads, hidden: c.d_ff, eps: c.norm_eps, bias: c.bias },
  rms: c.norm === 'rmsnorm',
  affine: c.norm === 'rmsnorm' ? ['gamma'] : ['gamma', 'beta'],
  post: !c.pre_norm,
  sinusoids: c.positional === 'sinusoidal',
  theta: c.positional === 'rope' ? c.rope_base : undefined,
  activation: c.ffn === 'swiglu' ? 'silu' : 'gelu_erf',
  embed: 'token_emb.weight',
  decoder: stack(c.n_layers, (l) => {
    const [attn, ffn] = [`blocks.${l}.attn.W_`, `blocks.${l}.ffn.W_`];
    return [
      { norm: `blocks.${l}.norm1`, q: `${attn}Q`, k: `${attn}K`, v: `${attn}V`, out: `${attn}O` },
      c.ffn === 'swiglu'
        ? { norm: `blocks.${l}.norm2`, gate: `${ffn}gate`, up: `${ffn}up`, down: `${ffn}down` }
        : { norm: `blocks.${l}.norm2`, up: `${ffn}1`, down: `${ffn}2` },
    ];
  }),
  final: 'final_norm',
  head: c.tie_embeddings ? 'token_emb' : 'lm_head',
});

/** Tutorial 2: the encoder-decoder of 2017. @param {any} c @returns {Design} */
function encoderDecoder(c) {
  const attention = (/** @type {string} */ at, /** @type {string} */ norm, cross = false) => ({
    ...{ q: `${at}.q_linear`, k: `${at}.k_linear`, v: `${at}.v_linear`, out: `${at}.fc` },
    norm: `${norm}.norm`,
    cross,
  });
  const ffn = (/** @type {string} */ at, /** @type {string} */ norm) => ({
    ...{ up: `${at}.linear1`, down: `${at}.linear2` },
    norm: `${norm}.norm`,
  });
  return {
    ...{ vocabulary: c.vocab_size, width: c.hidden_size, heads: c.num_heads, hidden: c.ff_size, eps: c.layer_norm_eps },
    affine: ['gamma', 'beta'],
    bias: true,
    post: true,
    sinusoids: true,
    unmasked: c.mask_mode === 'nomask',
    activation: 'relu',
    embed: 'token_embedding.embedding',
    encoder: stack(c.num_layers, (l) => {
      const b = `encoder.layers.${l}`;
      return [attention(`${b}.self_attn`, `${b}.add_norm1`), ffn(`${b}.ff`, `${b}.add_norm2`)];
    }),
    decoder: stack(c.num_layers, (l) => {
      const b = `decoder.layers.${l}`;
      return [
        attention(`${b}.masked_self_attn`, `${b}.add_norm1`),
        attention(`${b}.enc_dec_attn`, `${b}.add_norm2`, true),
        ffn(`${b}.ff`, `${b}.add_norm3`),
      ];
    }),
    head: 'final_linear',
  };
}

/** Tutorials 3 (queries, keys and values apart) and 5 (fused): the plain pre-norm GPT. @param {any} c @returns {Design} */
const plain = (c) => ({
  ...{ vocabulary: c.vocab_size, width: c.d_model, heads: c.n_heads, hidden: c.mlp_mult * c.d_model, eps: c.norm_eps },
  affine: ['weight', 'bias'],
  bias: false,
  activation: 'gelu_erf',
  embed: 'tok_emb.weight',
  positions: 'pos_emb.weight',
  context: c.context,
  decoder: stack(c.n_layers, (l) => {
    const [attn, mlp] = [`blocks.${l}.attn`, `blocks.${l}.mlp`];
    const read = c.fused_qkv ? { qkv: `${attn}.qkv` } : { q: `${attn}.q`, k: `${attn}.k`, v: `${attn}.v` };
    return [
      { norm: `blocks.${l}.ln1`, ...read, out: `${attn}.proj` },
      { norm: `blocks.${l}.ln2`, up: `${mlp}.fc1`, down: `${mlp}.fc2` },
    ];
  }),
  final: 'ln_f',
  head: 'tok_emb',
});

/** Tutorial 4: GPT-2 as its published files have it. @param {any} c @returns {Design} */
const gpt2 = (c) => ({
  ...{ vocabulary: c.vocab_size, width: c.n_embd, heads: c.n_head, hidden: 4 * c.n_embd, eps: c.layer_norm_epsilon },
  affine: ['weight', 'bias'],
  bias: true,
  transposed: true,
  activation: 'gelu_tanh',
  embed: 'wte.weight',
  positions: 'wpe.weight',
  context: c.n_positions,
  decoder: stack(c.n_layer, (l) => [
    { norm: `h.${l}.ln_1`, qkv: `h.${l}.attn.c_attn`, out: `h.${l}.attn.c_proj` },
    { norm: `h.${l}.ln_2`, up: `h.${l}.mlp.c_fc`, down: `h.${l}.mlp.c_proj` },
  ]),
  final: 'ln_f',
  head: 'wte',
});

/** The design of each model_type of a config.json. @type {Record<string, (config: any) => Design>} */
export const DESIGNS = {
  'rlvr-from-scratch': modern,
  'bare-bones-ml-transformer': encoderDecoder,
  'gpt-prenorm-erf': plain,
  gpt2,
};
