// pass_values.js - the values of one captured pass that the formulas of a point are made of
//
// Rows of captured points, weights, and the inputs of sublayers and norms, which are not all points themselves.
import { BLOCKS } from '../base/blocks.js';
import { weight } from './weight.js';
import { fail } from '../base/errors.js';

/** @typedef {import('../run/loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('../engine/engine.js').Tensor} Tensor */

/** One point of a model, and the values of a pass from which it is computed. */
export class PassValues {
  /**
   * @param {LoadedModel} model
   * @param {string[]} names  of all points of the model
   * @param {string} at       name of the point, or 'logits'
   * @param {number[]} ids
   * @param {number[]} source  [] without an encoder-decoder
   */
  constructor(model, names, at, ids, source) {
    this.model = model;
    this.config = model.config;
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
    this.point = point ?? at.slice(at === 'logits' ? 0 : this.stackPrefix.length);
    /** Whether the point belongs to cross-attention. */
    this.cross = this.point.includes('cross');
    /** Whether its block has cross-attention. */
    this.hasCross = this.stackPrefix === 'decoder.';
    this.preNorm = this.config.norm_placement === 'pre';
    this.ids = this.stackPrefix === 'encoder.' ? source : ids;
    /** @type {ArrayLike<number> | null} types of the tokens of an encoder; null: all 0. Set by the caller */
    this.types = null;
    /** @type {Record<string, Tensor>} the values of the points of `captureNames`, set by the caller after the pass */
    this.captured = {};
  }

  /**
   * The name of a point in the same block.
   * @param {string} name
   */
  inBlock(name) {
    return `${this.block}.${name}`;
  }

  /**
   * Names of the points that must be captured: this one, and those from which it is computed.
   * @returns {string[]}
   */
  captureNames() {
    const at = this.at === 'logits' ? [] : [this.at];
    const stems = [
      'hook_resid_pre',
      'hook_resid_mid',
      'hook_resid_mid_cross',
      'hook_attn_out',
      'hook_cross_attn_out',
      'hook_mlp_out',
      'ln1.hook_scale',
      'ln1.hook_normalized',
      'ln_cross.hook_scale',
      'ln_cross.hook_normalized',
      'ln2.hook_scale',
      'ln2.hook_normalized',
      'attn.hook_q',
      'attn.hook_k',
      'attn.hook_v',
      'attn.hook_rot_q',
      'attn.hook_rot_k',
      'attn.hook_attn_scores',
      'attn.hook_attn_scores_scaled',
      'attn.hook_pattern',
      'attn.hook_z',
      'cross_attn.hook_q',
      'cross_attn.hook_k',
      'cross_attn.hook_v',
      'cross_attn.hook_attn_scores',
      'cross_attn.hook_attn_scores_scaled',
      'cross_attn.hook_pattern',
      'cross_attn.hook_z',
      'mlp.hook_pre',
      'mlp.hook_pre_linear',
      'mlp.hook_post',
    ];
    const results = /^hook_(cross_)?attn_out$/.test(this.point)
      ? [`${this.cross ? 'cross_' : ''}attn.hook_result`]
      : [];
    const before = this.block
      ? [...stems, ...results].map((n) => this.inBlock(n))
      : [
          `${this.stackPrefix}hook_embed`,
          `${this.stackPrefix}hook_pos_embed`,
          'hook_token_type_embed',
          `${this.stackPrefix}embed.ln.hook_scale`,
          `${this.stackPrefix}embed.ln.hook_normalized`,
          `${this.stackPrefix}ln_final.hook_scale`,
          `${this.stackPrefix}ln_final.hook_normalized`,
          this.lastStream(),
        ];
    const first =
      this.block && this.layer === 0
        ? ['hook_embed', 'hook_pos_embed', 'hook_token_type_embed', 'embed.ln.hook_normalized'].map(
            (n) => this.stackPrefix + n,
          )
        : this.block
          ? [`${this.block.replace(/\d+$/, '')}${this.layer - 1}.hook_resid_post`]
          : [];
    const encoder = /^cross_attn\.hook_[kv]$/.test(this.point)
      ? [this.lastStream('encoder'), 'encoder.ln_final.hook_normalized']
      : [];
    return [...new Set([...at, ...before, ...first, ...encoder])].filter((n) => this.names.includes(n));
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
    return n ? `${stack}.${n - 1}.hook_resid_post` : `${this.stackPrefix}hook_embed`;
  }

  /**
   * A row of a captured point, or of one head in it.
   * @param {string} name
   * @param {number} position
   * @param {number} [head]
   * @returns {Float32Array}
   */
  row(name, position, head) {
    const { data, shape } = this.captured[name];
    const width = /** @type {number} */ (shape.at(-1));
    const at = (head === undefined ? position : position * shape[1] + head) * width;
    return data.subarray(at, at + width);
  }

  /**
   * A row of scores or of a pattern.
   * @param {string} name
   * @param {number} head
   * @param {number} position  of the query
   * @returns {Float32Array} [key]
   */
  scoreRow(name, head, position) {
    const {
      data,
      shape: [, n, m],
    } = this.captured[name];
    return data.subarray((head * n + position) * m, (head * n + position + 1) * m);
  }

  /**
   * A vector of weights; zeros where the architecture does not have it.
   * @param {string} name
   * @param {number} n  its length
   * @param {number} [row]
   */
  weights(name, n, row = 0) {
    return this.model.table.rows.some((r) => r.name === name) ? weight(this.model, name, row) : new Float32Array(n);
  }

  /**
   * Whether products with a matrix of weights round their inputs to int8.
   * @param {string} name
   */
  isQuantised(name) {
    const row = this.model.table.rows.find((r) => r.name === name);
    return !!row && BLOCKS[/** @type {import('../base/blocks.js').Dtype} */ (row.dtype)][0] > 1;
  }

  /** The type of the cache of the point's attention: f32, f16 or q8. An encoder keeps none and rounds nothing. */
  get cacheType() {
    const encodes = this.config.kind === 'encoder' || this.stackPrefix === 'encoder.';
    return encodes ? 'f32' : this.model.kvDtype;
  }

  /** Name of the point's attention in weights. */
  get part() {
    return this.cross ? 'cross_attn' : 'attn';
  }

  /**
   * The head of keys and values that a query head reads.
   * @param {number} head
   */
  kvHead(head) {
    return Math.floor(head / (this.config.n_heads / this.config.n_kv_heads));
  }

  /** The norm of each sublayer in points and in weights, and the point of the stream before it. */
  get norms() {
    const { hasCross } = this;
    return {
      attn: ['ln1', 'norm1', 'hook_resid_pre'],
      cross_attn: ['ln_cross', 'norm2', 'hook_resid_mid'],
      ffn: ['ln2', hasCross ? 'norm3' : 'norm2', hasCross ? 'hook_resid_mid_cross' : 'hook_resid_mid'],
    };
  }

  /**
   * What a sublayer reads at a position.
   * @param {'attn'|'cross_attn'|'ffn'} sublayer
   * @param {number} position
   */
  inputOf(sublayer, position) {
    const [ln, norm, stream] = this.norms[sublayer];
    return this.sublayerInput(/** @type {any} */ (ln), norm, stream, position);
  }

  /**
   * The input of a sublayer, and the point that it comes from.
   * @param {string} ln      name of the norm in points: ln1, ln2, ln_cross
   * @param {string} norm    name of the norm in weights
   * @param {string} stream  point of the residual stream before the sublayer
   * @param {number} position
   * @returns {{at: string, x: ArrayLike<number>}} x: [d_model]
   */
  sublayerInput(ln, norm, stream, position) {
    const { config: c } = this;
    const d = c.d_model;
    const normal = this.inBlock(`${ln}.hook_normalized`);
    if (!this.preNorm || !c.use_norm) return { at: this.inBlock(stream), x: this.row(this.inBlock(stream), position) };
    const gain = weight(this.model, `${this.block}.${norm}.weight`);
    const bias = this.weights(`${this.block}.${norm}.bias`, d);
    return { at: normal, x: scaled(this.row(normal, position), gain, bias) };
  }

  /**
   * The points of the residual stream before a sublayer and of the output of this sublayer.
   * @param {string} ln  name of the sublayer's norm
   */
  streamAndOutput(ln) {
    return (
      {
        ln1: ['hook_resid_pre', 'hook_attn_out'],
        ln_cross: ['hook_resid_mid', 'hook_cross_attn_out'],
        ln2: [this.hasCross ? 'hook_resid_mid_cross' : 'hook_resid_mid', 'hook_mlp_out'],
      }[ln] ?? fail('bad-argument', ln)
    );
  }

  /**
   * The input of a norm: a point, or with post-norm the sum of two points, which is not a point itself.
   * @param {string} ln  name of the norm
   * @param {number} position
   * @returns {{at: string | null, x: Float64Array}} at: null for a sum; x: [d_model]
   */
  normInput(ln, position) {
    if (ln === 'ln_final')
      return {
        at: this.lastStream(),
        x: Float64Array.from(this.row(this.lastStream(), position), (v, j) => v + this.addedPositions(position)[j]),
      };
    if (ln === 'embed') {
      const rows = this.embeddingParts().map((name) => this.row(name, position));
      return { at: null, x: Float64Array.from(rows[0], (v, j) => rows.slice(1).reduce((sum, row) => sum + row[j], v)) };
    }
    const [stream, out] = this.streamAndOutput(ln);
    const at = this.inBlock(stream);
    const x = this.row(at, position);
    if (this.preNorm) return { at, x: Float64Array.from(x) };
    const added = this.row(this.inBlock(out), position);
    return { at: null, x: Float64Array.from(added, (v, j) => v + (this.config.use_residual ? x[j] : 0)) };
  }

  /** The points that are added at the beginning of the point's stack. */
  embeddingParts() {
    return ['hook_embed', 'hook_pos_embed', 'hook_token_type_embed']
      .map((n) => this.stackPrefix + n)
      .filter((n) => this.captured[n]);
  }

  /**
   * The position embedding that the final norm must add to the token embedding, in a model without blocks; else zeros.
   * @param {number} position
   * @returns {ArrayLike<number>} [d_model]
   */
  addedPositions(position) {
    const name = `${this.stackPrefix}hook_pos_embed`;
    return !this.config.n_layers && this.captured[name]
      ? this.row(name, position)
      : new Float32Array(this.config.d_model);
  }

  /**
   * The query or key vector of a score: rotated, in models with RoPE.
   * @param {'q'|'k'} which
   * @param {number} position
   * @param {number} head  of q, or of k and v
   * @returns {{at: string, x: ArrayLike<number>}}
   */
  scoreVector(which, position, head) {
    const part = this.cross ? 'cross_attn' : 'attn';
    const rotated = this.inBlock(`${part}.hook_rot_${which}`);
    const plain = this.inBlock(`${part}.hook_${which}`);
    if (!this.cross && this.captured[rotated]) return { at: rotated, x: this.row(rotated, position, head) };
    return { at: plain, x: this.headNormed(which, position, head) };
  }

  /**
   * q or k after the norm of each head, in models that have one (Qwen3).
   * @param {string} which
   * @param {number} position
   * @param {number} head
   * @returns {ArrayLike<number>}
   */
  headNormed(which, position, head) {
    const x = this.row(this.inBlock(`${this.cross ? 'cross_attn' : 'attn'}.hook_${which}`), position, head);
    if (!this.config.qk_norm || this.cross) return x;
    const gain = weight(this.model, `${this.block}.attn.${which}_norm.weight`);
    const scale = Math.sqrt(x.reduce((a, v) => a + v * v, 0) / x.length + this.config.norm_eps);
    return Float64Array.from(x, (v, i) => (v / scale) * gain[i]);
  }

  /**
   * The input of the keys and values of cross-attention, which is the encoder's output.
   * @param {number} position
   */
  encoderOutput(position) {
    const { config: c } = this;
    const normal = 'encoder.ln_final.hook_normalized';
    const last = this.lastStream('encoder');
    if (!this.captured[normal]) return { at: last, x: this.row(last, position) };
    const gain = weight(this.model, 'encoder.final_norm.weight');
    const bias = this.weights('encoder.final_norm.bias', c.d_model);
    return { at: normal, x: scaled(this.row(normal, position), gain, bias) };
  }
}

/**
 * Normalised values times the gain, plus the bias, in f32 and in the engine's order.
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} gain
 * @param {ArrayLike<number>} bias
 * @returns {Float32Array}
 */
export const scaled = (x, gain, bias) => Float32Array.from(x, (v, j) => Math.fround(v * gain[j]) + bias[j]);
