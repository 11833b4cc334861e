// pass_values.js - the values of one captured pass that the formulas of a point are made of
//
// Rows of captured points, weights, and the inputs of sublayers and norms, which are not all points themselves.
import { BLOCKS } from '../../base/dtype_names.js';
import { weight } from '../inspect/weight.js';
import { hasNorm1, stackConfig } from '../../engine/config/config.js';
import { FIELDS } from '../../engine/config/config_fields.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Tensor } from '../../engine/engine.js' */
/** @typedef {'attn'|'cross_attn'|'ffn'} Sublayer */

/** One point of a model, a value of it, and the values of a pass from which that is computed. */
export class PassValues {
  /**
   * The coordinates of the value, and the values of the points of `captureNames`: set after the pass. head: 0 for
   * points without heads.
   */
  position = 0;
  head = 0;
  index = 0;
  /** @type {Record<string, Tensor>} */
  captured = {};

  /**
   * @param {LoadedModel} model
   * @param {string[]} names  of all points of the model
   * @param {string} at       name of the point, or 'logits'
   * @param {{ids: number[], types: ArrayLike<number> | null}} input  types: of the tokens of an encoder; null: all 0
   * @param {number[]} source  [] without an encoder-decoder
   */
  constructor(model, names, at, { ids, types }, source) {
    this.model = model;
    this.config = inFloats(stackConfig(model.config, at.startsWith('encoder.')));
    this.names = names;
    const [, block, layer, point] = /^((?:blocks|encoder|decoder)\.(\d+))\.(.+)$/.exec(at) ?? [];
    this.at = at;
    /** Prefix of the points of its block, 'blocks.0'; '' for a point outside the blocks. */
    this.block = block ?? '';
    this.layer = Number(layer ?? -1);
    /**
     * Prefix of the points of its stack outside the blocks: 'encoder.', 'decoder.', or '' in a model with one stack.
     */
    this.stackPrefix =
      this.config.kind === 'encoder_decoder' ? `${at === 'logits' ? 'decoder' : at.split('.')[0]}.` : '';
    /** Prefix of the weights of its stack outside the blocks. */
    this.weightPrefix = this.stackPrefix === 'encoder.' ? 'encoder.' : '';
    /** Whether the point belongs to an encoder. */
    this.encodes = this.config.kind === 'encoder' || this.stackPrefix === 'encoder.';
    this.point = point ?? at.slice(at === 'logits' ? 0 : this.stackPrefix.length);
    /** Whether the point belongs to cross-attention. */
    this.cross = this.point.includes('cross');
    /** Whether its block has cross-attention. */
    this.hasCross = this.stackPrefix === 'decoder.';
    this.ids = this.stackPrefix === 'encoder.' ? source : ids;
    this.types = types;
  }

  /**
   * The name of a point in the same block.
   * @param {string} name
   */
  inBlock(name) {
    return `${this.block}.${name}`;
  }

  /**
   * Names of the points that must be captured: those of its block, or those outside the blocks, and the stream before
   * and after these. The results of heads and the scores before scaling take much memory, and few points need them.
   * @returns {string[]}
   */
  captureNames() {
    const { block, stackPrefix, names } = this;
    const isOfWhole = (/** @type {string} */ name) => name.startsWith(stackPrefix) && !/\.\d+\./.test(name);
    const written = this.normed.output ? /^ln1|^hook_attn_out$/ : /^hook_(cross_)?attn_out$/;
    const results = written.test(this.point) ? this.inBlock(`${this.part}.hook_result`) : '';
    const before = block.replace(/\d+$/, () => String(this.layer - 1));
    const readsEncoder = /^cross_attn\.hook_[kv]$/.test(this.point);
    return names.filter(
      (name) =>
        name === this.at ||
        name === results ||
        (block ? name.startsWith(`${block}.`) && !/hook_result$|scores_raw$/.test(name) : name === this.lastStream()) ||
        (this.layer > 0 ? name === `${before}.hook_resid_post` : isOfWhole(name)) ||
        (readsEncoder && [this.lastStream('encoder'), 'encoder.ln_final.hook_normalized'].includes(name)),
    );
  }

  /**
   * The name of the residual stream after the last block of a stack.
   * @param {string} [stack]  default: that of the point
   */
  lastStream(stack = this.stackPrefix.slice(0, -1) || 'blocks') {
    const n =
      stack === 'encoder' && this.config.kind === 'encoder_decoder'
        ? this.config.n_encoder_layers
        : this.config.n_layers;
    return `${stack}.${n - 1}.hook_resid_post`;
  }

  /**
   * A row of a captured point, or of one head in it.
   * @param {string} name
   * @param {number} [position]  default: that of the value
   * @param {number} [head]
   * @returns {Float32Array}
   */
  row(name, position = this.position, head) {
    const { data, shape } = this.captured[name];
    const width = /** @type {number} */ (shape.at(-1));
    const at = (head === undefined ? position : position * shape[1] + head) * width;
    return data.subarray(at, at + width);
  }

  /**
   * A row of a captured point with heads, all heads together.
   * @param {string} name
   * @param {number} [position]
   * @returns {Float32Array}
   */
  wholeRow(name, position = this.position) {
    const { data, shape } = this.captured[name];
    const width = shape[1] * shape[2];
    return data.subarray(position * width, (position + 1) * width);
  }

  /**
   * The row of scores or of a pattern of the value's head and position.
   * @param {string} name
   * @returns {Float32Array} [key]
   */
  scoreRow(name) {
    const { data, shape } = this.captured[name];
    const row = this.head * shape[1] + this.position;
    return data.subarray(row * shape[2], (row + 1) * shape[2]);
  }

  /**
   * Whether the model has a weight.
   * @param {string} name
   */
  hasWeight(name) {
    return this.model.table.rows.some((r) => r.name === name);
  }

  /**
   * A vector of weights; zeros where the architecture does not have it.
   * @param {string} name
   * @param {number} n  its length
   */
  weights(name, n) {
    return this.hasWeight(name) ? weight(this.model, name) : new Float32Array(n);
  }

  /**
   * Normalised values times the gain, plus the bias.
   * @param {string} norm  name in weights
   * @param {ArrayLike<number>} x
   */
  withGain(norm, x) {
    const gain = this.config.norm_gain ? weight(this.model, `${norm}.weight`) : null;
    return scaled(x, gain, this.weights(`${norm}.bias`, x.length));
  }

  /**
   * Whether products with a matrix of weights round their inputs to int8.
   * @param {string} name
   */
  isQuantised(name) {
    const row = this.model.table.rows.find((r) => r.name === name);
    return !!row && BLOCKS[/** @type {import('../../base/dtype_names.js').Dtype} */ (row.dtype)][0] > 1;
  }

  /** The type of the cache of the point's attention: f32, f16 or q8. An encoder keeps none and rounds nothing. */
  get cacheType() {
    return this.encodes ? 'f32' : this.model.kvDtype;
  }

  /** Name of the point's attention in weights. */
  get part() {
    return this.cross ? 'cross_attn' : 'attn';
  }

  /** The head of keys and values that the value's head reads. */
  get kvHead() {
    return Math.floor(this.head / (this.config.n_heads / this.config.n_kv_heads));
  }

  /** Whether the norms in the blocks and of the embedding exist and are not switched off. */
  get hasNorms() {
    return this.config.norm !== 'none' && this.config.use_norm;
  }

  /** The places at which a sublayer has norms; none without norms. */
  get normed() {
    const { norm_placement: at } = this.config;
    const on = this.hasNorms;
    return {
      input: on && (at === 'pre' || at === 'sandwich'),
      output: on && (at === 'sandwich' || at === 'output'),
      sum: on && at === 'post',
    };
  }

  /** The norm of each sublayer in points and in weights, the point of the stream before it, and that of its output. */
  get norms() {
    const { hasCross, config: c } = this;
    const stream = hasCross ? 'hook_resid_mid_cross' : c.parallel_residual ? 'hook_resid_pre' : 'hook_resid_mid';
    const [ln, norm] = c.shared_norm ? ['ln1', 'norm1'] : ['ln2', hasCross ? 'norm3' : 'norm2'];
    return {
      attn: ['ln1', 'norm1', 'hook_resid_pre', 'hook_attn_out'],
      cross_attn: ['ln_cross', 'norm2', 'hook_resid_mid', 'hook_cross_attn_out'],
      ffn: [ln, norm, stream, 'hook_mlp_out'],
    };
  }

  /**
   * The last sublayer of the point's block.
   * @returns {Sublayer}
   */
  get lastSublayer() {
    return this.config.ffn !== 'none' ? 'ffn' : this.hasCross ? 'cross_attn' : 'attn';
  }

  /**
   * The sublayer that a norm belongs to.
   * @param {string} ln  name of the norm in points
   * @returns {Sublayer}
   */
  sublayerOf(ln) {
    return ln === 'ln_cross' ? 'cross_attn' : ln.startsWith('ln1') ? 'attn' : 'ffn';
  }

  /**
   * The norm of a sublayer's output, in points and in weights.
   * @param {Sublayer} sublayer
   */
  outputNorm(sublayer) {
    const [ln, norm] = this.norms[sublayer];
    return this.config.norm_placement === 'sandwich' ? [`${ln}_post`, `${norm}_post`] : [ln, norm];
  }

  /**
   * What a sublayer reads at the value's position, and the point that it comes from.
   * @param {Sublayer} sublayer
   * @returns {{at: string, x: ArrayLike<number>}} x: [d_model]
   */
  inputOf(sublayer) {
    const [ln, norm, stream] = this.norms[sublayer];
    const isNormed = this.normed.input && (sublayer !== 'attn' || hasNorm1(this.config, this.layer));
    const at = this.inBlock(isNormed ? `${ln}.hook_normalized` : stream);
    const x = this.row(at);
    return { at, x: isNormed ? this.withGain(`${this.block}.${norm}`, x) : x };
  }

  /**
   * The input of a norm where it is a point, or the sum of a sublayer's output and the stream before it.
   * @param {string} ln  name of the norm
   * @returns {{at: string | null, x: Float64Array}} at: null for a sum; x: [d_model]
   */
  normInput(ln) {
    if (ln === 'ln_final') {
      const at = this.lastStream();
      return { at, x: Float64Array.from(this.row(at)) };
    }
    if (ln === 'embed') {
      const rows = this.embeddingParts().map((name) => this.row(name));
      return { at: null, x: Float64Array.from(rows[0], (v, j) => rows.slice(1).reduce((sum, row) => sum + row[j], v)) };
    }
    const [, , stream, out] = this.norms[this.sublayerOf(ln)];
    const at = this.inBlock(stream);
    const x = this.row(at);
    if (!this.normed.sum) return { at, x: Float64Array.from(x) };
    const added = this.row(this.inBlock(out));
    return { at: null, x: Float64Array.from(added, (v, j) => v + (this.config.use_residual ? x[j] : 0)) };
  }

  /** The points that are added at the beginning of the point's stack. */
  embeddingParts() {
    return ['hook_embed', 'hook_pos_embed', 'hook_token_type_embed']
      .map((n) => this.stackPrefix + n)
      .filter((n) => this.captured[n]);
  }

  /**
   * The query or key vector of a score: rotated, in models with RoPE.
   * @param {'q'|'k'} which
   * @param {number} position
   * @param {number} head  of q, or of k and v
   * @returns {{at: string, x: ArrayLike<number>}}
   */
  scoreVector(which, position, head) {
    const rotated = this.inBlock(`attn.hook_rot_${which}`);
    if (!this.cross && this.captured[rotated]) return { at: rotated, x: this.row(rotated, position, head) };
    return { at: this.inBlock(`${this.part}.hook_${which}`), x: this.headNormed(which, position, head) };
  }

  /**
   * q or k of a head after its norm, in models that have one before the rotation.
   * @param {string} which
   * @param {number} position
   * @param {number} head
   * @returns {ArrayLike<number>}
   */
  headNormed(which, position, head) {
    const { config: c } = this;
    const at = this.inBlock(`${this.part}.hook_${which}`);
    const x = this.row(at, position, head);
    if (!c.qk_norm || c.qk_norm_rotated || this.cross) return x;
    const whole = c.qk_norm_span === 'projection';
    const over = whole ? this.wholeRow(at, position) : x;
    const mean = c.qk_norm_kind === 'layernorm' ? over.reduce((a, v) => a + v, 0) / over.length : 0;
    const scale = Math.sqrt(over.reduce((a, v) => a + (v - mean) ** 2, 0) / over.length + c.norm_eps);
    const norm = `${this.block}.attn.${which}_norm${c.qk_norm_span === 'each_head' ? `.${head}` : ''}`;
    const gain = c.norm_gain ? weight(this.model, `${norm}.weight`) : new Float32Array(over.length).fill(1);
    const bias = this.weights(`${norm}.bias`, over.length);
    const from = whole ? head * c.d_head : 0;
    const most = c.clip_qkv || Infinity;
    const limited = (/** @type {number} */ v) => Math.min(most, Math.max(-most, v));
    return Float64Array.from(x, (v, i) => limited(((v - mean) / scale) * gain[from + i] + bias[from + i]));
  }

  /**
   * What the head reads: the stream after the last block, and its norm where there is one.
   * @returns {{at: string, x: ArrayLike<number>}} x: [d_model]
   */
  hidden() {
    const { config: c } = this;
    if (c.final_norm && c.use_final_norm) {
      const at = `${this.stackPrefix}ln_final.hook_normalized`;
      return { at, x: this.withGain('final_norm', this.row(at)) };
    }
    const at = this.lastStream();
    return { at, x: this.row(at) };
  }

  /**
   * The same at another position.
   * @param {number} position
   */
  hiddenAt(position) {
    const own = this.position;
    this.position = position;
    const found = this.hidden();
    this.position = own;
    return found;
  }

  /** The input of the keys and values of cross-attention, which is the encoder's output. */
  encoderOutput() {
    const normal = 'encoder.ln_final.hook_normalized';
    const last = this.lastStream('encoder');
    if (!this.captured[normal]) return { at: last, x: this.row(last) };
    return { at: normal, x: this.withGain('encoder.final_norm', this.row(normal)) };
  }
}

/**
 * A configuration with the numbers that the engine has: reals in f32.
 * @template {Record<string, any>} C
 * @param {C} config
 * @returns {C}
 */
function inFloats(config) {
  const own = { ...config };
  for (const [name, { type }] of Object.entries(FIELDS)) {
    const to = /** @type {Record<string, any>} */ (own);
    if (type === 'real') to[name] = Math.fround(to[name]);
    if (type === 'reals') to[name] = to[name].map(Math.fround);
  }
  return own;
}

/**
 * Normalised values times the gain, plus the bias, in f32 and in the engine's order.
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number> | null} gain  null: ones
 * @param {ArrayLike<number>} bias
 * @returns {Float32Array}
 */
const scaled = (x, gain, bias) => Float32Array.from(x, (v, j) => (gain ? Math.fround(v * gain[j]) : v) + bias[j]);
