// formulas.js - the formula of every capture point: the terms that each of its values is computed from
import { PassValues, scaled } from './pass_values.js';
import { BLOCK, asHalf, asInt8, patternUnits } from './rounding.js';
import { weight } from './weight.js';
import { fail } from '../base/errors.js';

/** @typedef {import('./explain.js').Cell} Cell */
/** @typedef {import('./explain.js').Term} Term */
/** @typedef {import('./explain.js').Explanation} Explanation */

/** Activation functions by their name in the configuration. */
export const ACTIVATIONS = {
  relu: (/** @type {number} */ x) => Math.max(0, x),
  gelu_erf: (/** @type {number} */ x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (/** @type {number} */ x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (/** @type {number} */ x) => x / (1 + Math.exp(-x)),
};
/**
 * The activation of the gate in feed-forward layers that have one.
 * @type {Record<string, keyof typeof ACTIVATIONS>}
 */
const GATES = { swiglu: 'silu', reglu: 'relu', geglu_erf: 'gelu_erf', geglu_tanh: 'gelu_tanh' };

/** What the stream begins with, by the number of terms. */
const SUMS = ['the embedding', 'embedding plus position', 'embedding, position and token type'];

/**
 * The error function: Abramowitz & Stegun 7.1.26, absolute error below 1.5e-7.
 * @param {number} x
 */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - p * Math.exp(-x * x));
}

/**
 * The formula of one value.
 * @typedef {Pick<Explanation, 'how' | 'formula' | 'terms'> & {divisor?: number}} Derivation
 */

/** The formulas of one point of a model. */
export class Formulas extends PassValues {
  /**
   * One row of W x + b.
   * @param {string} name  of the layer, whose weights are name.weight and name.bias
   * @param {number} row
   * @param {{at: string, x: ArrayLike<number>, head?: boolean}} from  its input; head: whether it is divided into heads
   * @param {number} position
   * @param {string} what  name of an index of the input: dimension, neuron
   * @returns {Derivation}
   */
  product(name, row, { at, x, head }, position, what) {
    const w = weight(this.model, `${name}.weight`, row);
    const size = this.config.d_head;
    const rounded = this.isQuantised(`${name}.weight`) ? asInt8(x, BLOCK).rounded : null;
    /** @type {Term[]} */
    const terms = Array.from(x, (v, j) => ({
      name: `${what} ${j}`,
      value: (rounded ? rounded[j] : v) * w[j],
      input: v,
      ...(rounded && { rounded: rounded[j] }),
      weight: { name: `${name}.weight`, row, column: j, value: w[j] },
      from: { at, position, ...(head ? { head: Math.floor(j / size), index: j % size } : { index: j }) },
    }));
    const bias = this.model.table.rows.some((r) => r.name === `${name}.bias`)
      ? weight(this.model, `${name}.bias`)[row]
      : null;
    if (bias !== null) terms.push({ name: 'bias', value: bias, weight: { name: `${name}.bias`, row, value: bias } });
    return {
      how: /** @type {const} */ ('sum'),
      formula: `row ${row} of ${name}.weight times its input${bias === null ? '' : ', plus the bias'}`,
      terms,
    };
  }

  /**
   * The residual stream after a sublayer; with post-norm, the output of its norm.
   * @param {string} norm  name of the norm in weights
   * @param {string} ln    name of the norm in points
   * @param {string} from  point of the stream before the sublayer
   * @param {string} out   point of the sublayer's output
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  residual(norm, ln, from, out, position, index) {
    const { config: c } = this;
    if (!this.preNorm && c.use_norm)
      return this.normOutput(`${this.block}.${norm}`, this.inBlock(`${ln}.hook_normalized`), position, index);
    const terms = this.residualTerms(from, out, position, index);
    return {
      how: 'sum',
      formula: terms.length > 1 ? 'the stream before it, plus what the sublayer wrote' : 'what the sublayer wrote',
      terms,
    };
  }

  /**
   * The terms of the sum of stream and sublayer output.
   * @param {string} from  point of the stream before the sublayer
   * @param {string} out   point of the sublayer's output
   * @param {number} position
   * @param {number} index
   * @returns {Term[]}
   */
  residualTerms(from, out, position, index) {
    return [...(this.config.use_residual ? [from] : []), out].map((n) => ({
      name: n,
      value: this.row(this.inBlock(n), position)[index],
      from: { at: this.inBlock(n), position, index },
    }));
  }

  /**
   * The output of a norm: normalised, times the gain, plus the bias.
   * @param {string} norm  name of the norm in weights
   * @param {string} at    point of the normalised values
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  normOutput(norm, at, position, index) {
    const x = this.row(at, position)[index];
    const gain = weight(this.model, `${norm}.weight`)[index];
    /** @type {Term[]} */
    const terms = [
      {
        name: 'normalised, times the gain',
        value: x * gain,
        input: x,
        from: { at, position, index },
        weight: { name: `${norm}.weight`, row: index, value: gain },
      },
    ];
    const bias = this.weights(`${norm}.bias`, index + 1)[index];
    if (this.config.norm === 'layernorm' && this.config.bias_norm)
      terms.push({ name: 'bias', value: bias, weight: { name: `${norm}.bias`, row: index, value: bias } });
    return { how: 'sum', formula: "the norm of the stream and the sublayer's output together", terms };
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
   * A term that is the value of another point, at the same position and index unless `cell` says otherwise.
   * @param {number} position
   * @param {number} index
   * @param {string} at
   * @param {number} value
   * @param {string} [name]
   * @param {{head?: number}} [cell]
   * @returns {Term}
   */
  term(position, index, at, value, name = at, cell = {}) {
    return { name, value, from: { at, position, index, ...cell } };
  }

  /**
   * The formula of one value of the point.
   * @param {number} position
   * @param {number} head   0 for points without heads
   * @param {number} index
   * @returns {Derivation}
   */
  formula(position, head, index) {
    const { config: c, block, point, part, norms } = this;
    const row = head * c.d_head + index; // of q, k and v
    switch (point.replace('cross_attn.', 'attn.')) {
      case 'logits':
        return this.logit(position, index);
      case 'hook_embed':
        return this.tokenEmbedding(position, index);
      case 'hook_pos_embed':
        return this.positionEmbedding(position, index);
      case 'hook_token_type_embed':
        return this.tokenType(position, index);
      case 'hook_resid_pre':
        return this.blockInput(position, index);
      case 'hook_resid_mid':
        return this.residual('norm1', 'ln1', 'hook_resid_pre', 'hook_attn_out', position, index);
      case 'hook_resid_mid_cross':
        return this.residual('norm2', 'ln_cross', 'hook_resid_mid', 'hook_cross_attn_out', position, index);
      case 'hook_resid_post':
        return this.residual(norms.ffn[1], 'ln2', norms.ffn[2], 'hook_mlp_out', position, index);
      case 'ln1.hook_scale':
      case 'ln2.hook_scale':
      case 'ln_cross.hook_scale':
      case 'ln_final.hook_scale':
      case 'embed.ln.hook_scale':
        return this.normScale(position);
      case 'ln1.hook_normalized':
      case 'ln2.hook_normalized':
      case 'ln_cross.hook_normalized':
      case 'ln_final.hook_normalized':
      case 'embed.ln.hook_normalized':
        return this.normalized(position, index);
      case 'attn.hook_q':
        return this.product(`${block}.${part}.q`, row, this.inputOf(part, position), position, 'dimension');
      case 'attn.hook_k':
      case 'attn.hook_v': {
        const input = this.cross ? this.encoderOutput(position) : this.inputOf(part, position);
        return this.product(`${block}.${part}.${point.at(-1)}`, row, input, position, 'dimension');
      }
      case 'attn.hook_rot_q':
      case 'attn.hook_rot_k':
        return this.rotation(point.at(-1) === 'q' ? 'q' : 'k', position, head, index);
      case 'attn.hook_attn_scores_raw':
      case 'attn.hook_attn_scores_scaled':
      case 'attn.hook_attn_scores':
        return this.score(position, head, index);
      case 'attn.hook_pattern':
        return this.patternWeight(position, head, index);
      case 'attn.hook_z':
        return this.mixture(position, head, index);
      case 'attn.hook_result':
        return this.headResult(position, head, index);
      case 'hook_attn_out':
      case 'hook_cross_attn_out':
        return this.attentionOutput(position, index);
      case 'mlp.hook_pre': {
        const name = `${block}.ffn.${GATES[c.ffn] ? 'gate' : 'up'}`;
        return this.product(name, index, this.inputOf('ffn', position), position, 'dimension');
      }
      case 'mlp.hook_pre_linear':
        return this.product(`${block}.ffn.up`, index, this.inputOf('ffn', position), position, 'dimension');
      case 'mlp.hook_post':
        return this.activation(position, index);
      case 'hook_mlp_out': {
        const at = this.inBlock('mlp.hook_post');
        return this.product(`${block}.ffn.down`, index, { at, x: this.row(at, position) }, position, 'neuron');
      }
      default:
        return fail('unsupported', `${this.at} cannot be explained`);
    }
  }

  /**
   * A logit: the final norm of the stream times a row of the head.
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  logit(position, index) {
    const { config: c, model } = this;
    const at = `${this.stackPrefix}ln_final.hook_normalized`;
    const normal = c.final_norm && c.use_final_norm;
    const gain = normal ? weight(model, 'final_norm.weight') : null;
    const bias = this.weights('final_norm.bias', c.d_model);
    const last = this.lastStream();
    const x = this.row(normal ? at : last, position);
    const plus = this.addedPositions(position);
    const product = this.product(
      'head',
      index,
      { at: normal ? at : last, x: gain ? scaled(x, gain, bias) : Float32Array.from(x, (v, j) => v + plus[j]) },
      position,
      'dimension',
    );
    if (c.logit_scale === 1) return product;
    return {
      ...product,
      divisor: 1 / c.logit_scale,
      formula: `${product.formula}, times ${Number(c.logit_scale.toPrecision(4))}`,
    };
  }

  /**
   * A value of the token embedding.
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  tokenEmbedding(position, index) {
    const { config: c, model } = this;
    const name = this.stackPrefix === 'encoder.' && !c.shared_embedding ? 'encoder.embed.weight' : 'embed.weight';
    const row = this.ids[position];
    const value = weight(model, name, row)[index];
    const factor = c.embedding_scale === 1 ? '' : ` × ${Number(c.embedding_scale.toPrecision(4))}`;
    return {
      how: 'given',
      formula: `the token's row of ${name}${factor}`,
      terms: [{ name: `token ${row}`, value: value * c.embedding_scale, weight: { name, row, column: index, value } }],
    };
  }

  /**
   * A value of the position embedding: learned, or the sinusoid of Vaswani 2017, section 3.5.
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  positionEmbedding(position, index) {
    const { config: c, model } = this;
    if (c.position === 'learned') {
      const name = `${this.stackPrefix === 'encoder.' ? 'encoder.' : ''}position.weight`;
      const row = c.position_offset + this.countedPosition(position);
      const value = weight(model, name, row)[index];
      return {
        how: 'given',
        formula: `row ${row} of ${name}`,
        terms: [{ name: `position ${row - c.position_offset}`, value, weight: { name, row, column: index, value } }],
      };
    }
    const sines = Math.ceil(c.d_model / 2);
    const [pair, isCosine] =
      c.sinusoid_pairs === 'half' ? [index % sines, index >= sines] : [index >> 1, index % 2 === 1];
    const angle = position / 10000 ** ((2 * pair) / c.d_model);
    const wave = isCosine ? 'cos' : 'sin';
    return {
      how: 'given',
      formula: `${wave}(${position} / 10000^(${2 * pair} / d_model))`,
      terms: [{ name: wave, value: Math[wave](angle), input: angle }],
    };
  }

  /**
   * The number of tokens before one of them that count as positions; -1 for a token that does not.
   * @param {number} position
   */
  countedPosition(position) {
    const pad = this.config.position_pad_id;
    if (this.ids[position] === pad) return -1;
    return position - this.ids.slice(0, position).filter((id) => id === pad).length;
  }

  /**
   * A value that the type of a token adds.
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  tokenType(position, index) {
    const row = this.types?.[position] ?? 0;
    const value = weight(this.model, 'token_type.weight', row)[index];
    return {
      how: 'given',
      formula: `row ${row} of token_type.weight`,
      terms: [{ name: `type ${row}`, value, weight: { name: 'token_type.weight', row, column: index, value } }],
    };
  }

  /**
   * The residual stream before a block.
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  blockInput(position, index) {
    const { block } = this;
    if (this.layer > 0) {
      const before = `${block.replace(/\d+$/, '')}${this.layer - 1}.hook_resid_post`;
      return {
        how: 'sum',
        formula: 'the stream after the previous block',
        terms: [this.term(position, index, before, this.row(before, position)[index])],
      };
    }
    const normal = `${this.stackPrefix}embed.ln.hook_normalized`;
    if (this.captured[normal])
      return this.normOutput(`${this.stackPrefix === 'encoder.' ? 'encoder.' : ''}embed_norm`, normal, position, index);
    const terms = this.embeddingTerms(position, index);
    return { how: 'sum', formula: SUMS[terms.length - 1], terms };
  }

  /**
   * The terms of the sum at the beginning of the stack.
   * @param {number} position
   * @param {number} index
   * @returns {Term[]}
   */
  embeddingTerms(position, index) {
    return this.embeddingParts().map((n) => this.term(position, index, n, this.row(n, position)[index]));
  }

  /**
   * The denominator of a norm.
   * @param {number} position
   * @returns {Derivation}
   */
  normScale(position) {
    const { config: c, point } = this;
    const ln = point.split('.')[0];
    const { at, x } = this.normInput(ln, position);
    const isFinal = ln.startsWith('ln_final');
    const isLayerNorm = (isFinal ? c.final_norm_kind : c.norm) === 'layernorm';
    const mean = isLayerNorm ? x.reduce((a, b) => a + b, 0) / x.length : 0;
    const terms = Array.from(x, (v, j) => ({
      name: `dimension ${j}, squared`,
      value: (v - mean) ** 2,
      input: v,
      ...(at && { from: { at, position, index: j } }),
    }));
    return {
      how: 'root',
      formula: isLayerNorm
        ? 'the root of the variance, plus epsilon'
        : 'the root of the mean of the squares, plus epsilon',
      divisor: x.length,
      terms: [...terms, { name: 'epsilon', value: ((isFinal && c.final_norm_eps) || c.norm_eps) * x.length }],
    };
  }

  /**
   * A value after a norm, before its gain.
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  normalized(position, index) {
    const { config: c, point } = this;
    const ln = point.split('.')[0];
    const { at, x } = this.normInput(ln, position);
    const scale = this.at.replace('normalized', 'scale');
    /** @returns {Term[]} */
    const summands = () => {
      if (ln === 'embed') return this.embeddingTerms(position, index);
      const [stream, out] = this.streamAndOutput(ln);
      return this.residualTerms(stream, out, position, index);
    };
    const terms = at ? [this.term(position, index, at, x[index])] : summands();
    if ((ln.startsWith('ln_final') ? c.final_norm_kind : c.norm) === 'layernorm')
      terms.push({ name: 'minus the mean', value: -x.reduce((a, b) => a + b, 0) / x.length });
    return { how: 'sum', formula: `divided by ${scale}`, divisor: this.row(scale, position)[0], terms };
  }

  /**
   * A score of attention, before or after its scaling and mask.
   * @param {number} position
   * @param {number} head
   * @param {number} index
   * @returns {Derivation}
   */
  score(position, head, index) {
    const { config: c, point } = this;
    const group = this.kvHead(head);
    if (this.scoreRow(this.at, head, position)[index] === -Infinity)
      return { how: 'masked', formula: 'this position does not see that key', terms: [] };
    const q = this.scoreVector('q', position, head);
    const k = this.scoreVector('k', index, group);
    const divisor = point.endsWith('raw') || !c.scale_scores ? 1 : Math.sqrt(c.d_head);
    // An int8 cache also rounds the query.
    const roundedQ = this.cacheType === 'q8' ? asInt8(q.x).rounded : null;
    const roundedK = this.cacheType === 'q8' ? asInt8(k.x).rounded : this.cacheType === 'f16' ? asHalf(k.x) : null;
    const bias =
      point === 'attn.hook_attn_scores' && c.relative_buckets && c.use_position
        ? [this.relativeBias(index - position, head)]
        : [];
    /** @type {Term[]} */
    const products = Array.from(q.x, (v, i) => ({
      name: `q ${i} × k ${i}`,
      value: (roundedQ ?? q.x)[i] * (roundedK ?? k.x)[i],
      input: v,
      ...(roundedQ && { rounded: roundedQ[i] }),
      from: { at: q.at, position, head, index: i },
      times: {
        from: { at: k.at, position: index, head: group, index: i },
        input: k.x[i],
        ...(roundedK && { rounded: roundedK[i] }),
      },
    }));
    return {
      how: 'sum',
      formula: `q · k${divisor === 1 ? '' : ' / √d_head'}${bias.length ? ' + the bias of their distance' : ''}`,
      divisor,
      terms: [...products, ...bias.map((term) => ({ ...term, value: term.value * divisor }))],
    };
  }

  /**
   * The relative position bias of a score.
   * @param {number} distance  key position minus query position
   * @param {number} head
   * @returns {Term}
   */
  relativeBias(distance, head) {
    const encodes = this.config.kind === 'encoder' || this.stackPrefix === 'encoder.';
    const name = `${this.stackPrefix === 'encoder.' ? 'encoder.' : ''}relative_bias.weight`;
    const row = relativeBucket(this.config, encodes, distance);
    const value = weight(this.model, name, row)[head];
    return { name: `distance ${distance}`, value, weight: { name, row, column: head, value } };
  }

  /**
   * A weight of the attention pattern: softmax of a row of scores.
   * @param {number} position
   * @param {number} head
   * @param {number} index
   * @returns {Derivation}
   */
  patternWeight(position, head, index) {
    const { part } = this;
    const at = this.inBlock(`${part}.hook_attn_scores`);
    const scores = this.scoreRow(at, head, position);
    const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
    if (scores[index] === -Infinity)
      return { how: 'masked', formula: 'this position does not see that key', terms: [] };
    const terms = Array.from(scores, (s, k) => ({
      name: `e^(score of key ${k} − the largest)`,
      value: Math.exp(s - most),
      input: s,
      from: { at, position, head, index: k },
    }));
    return {
      how: 'share',
      formula: 'its share of the row',
      divisor: terms.reduce((a, t) => a + t.value, 0),
      terms,
    };
  }

  /**
   * A value of z: the values of all keys, weighted by the pattern.
   * @param {number} position
   * @param {number} head
   * @param {number} index
   * @returns {Derivation}
   */
  mixture(position, head, index) {
    const { part } = this;
    const group = this.kvHead(head);
    const at = this.inBlock(`${part}.hook_pattern`);
    const v = this.inBlock(`${part}.hook_v`);
    const pattern = this.scoreRow(at, head, position);
    const { weights, values } = this.mixed(
      pattern,
      Array.from(pattern, (_, k) => this.row(v, k, group)),
    );
    return {
      how: 'sum',
      formula: 'the values, weighted by the pattern',
      terms: Array.from(pattern, (p, k) => {
        const value = values ? values[k][index] : this.row(v, k, group)[index];
        return {
          name: `key ${k}`,
          value: (weights ?? pattern)[k] * value,
          input: p,
          ...(weights && { rounded: weights[k] }),
          from: { at, position, head, index: k },
          times: {
            from: { at: v, position: k, head: group, index },
            input: this.row(v, k, group)[index],
            ...(values && { rounded: value }),
          },
        };
      }),
    };
  }

  /**
   * Weights and values as the engine multiplies them in a mixture; null where it takes them as they are.
   * @param {ArrayLike<number>} pattern     [key]
   * @param {ArrayLike<number>[]} vectors  of values, [key][d_head]
   * @returns {{weights: Float64Array | null, values: Float64Array[] | null}}
   */
  mixed(pattern, vectors) {
    if (this.cacheType === 'f32') return { weights: null, values: null };
    if (this.cacheType === 'f16') return { weights: null, values: vectors.map(asHalf) };
    const values = vectors.map((vector) => asInt8(vector));
    return {
      weights: patternUnits(
        pattern,
        values.map(({ scales }) => scales[0]),
      ),
      values: values.map(({ rounded }) => rounded),
    };
  }

  /**
   * A head's contribution to the output of attention.
   * @param {number} position
   * @param {number} head
   * @param {number} index
   * @returns {Derivation}
   */
  headResult(position, head, index) {
    const { config: c, model, block, part } = this;
    const at = this.inBlock(`${part}.hook_z`);
    const z = this.row(at, position, head);
    const w = weight(model, `${block}.${part}.o.weight`, index);
    const from = head * c.d_head;
    const rounded = this.isQuantised(`${block}.${part}.o.weight`) ? this.roundedResult(z, from) : null;
    return {
      how: 'sum',
      formula: `row ${index} of ${block}.${part}.o.weight, this head's columns`,
      terms: Array.from(z, (v, i) => ({
        name: `z ${i}`,
        value: (rounded ? rounded[i] : v) * w[from + i],
        input: v,
        ...(rounded && { rounded: rounded[i] }),
        from: { at, position, head, index: i },
        weight: { name: `${block}.${part}.o.weight`, row: index, column: from + i, value: w[from + i] },
      })),
    };
  }

  /**
   * z of one head as the engine multiplies it for the head's own result: rounded in a row whose other heads are 0.
   * @param {ArrayLike<number>} z
   * @param {number} from  first column of the head
   */
  roundedResult(z, from) {
    const row = new Float32Array(this.config.n_heads * this.config.d_head);
    row.set(z, from);
    return asInt8(row, BLOCK).rounded.subarray(from, from + z.length);
  }

  /**
   * The contribution of each head to the output of attention. Where heads share a block of rounded activations, their
   * own results have other scales and do not add up to the output.
   * @param {number} position
   * @param {number} index
   * @returns {number[]}
   */
  headContributions(position, index) {
    const { config: c, block, part } = this;
    const name = `${block}.${part}.o.weight`;
    const heads = Array.from({ length: c.n_heads }, (_, h) => h);
    if (!this.isQuantised(name) || c.d_head % BLOCK === 0)
      return heads.map((h) => this.row(this.inBlock(`${part}.hook_result`), position, h)[index]);
    const w = weight(this.model, name, index);
    const z = heads.map((h) => this.row(this.inBlock(`${part}.hook_z`), position, h));
    const { rounded } = asInt8(
      z.flatMap((row) => [...row]),
      BLOCK,
    );
    return heads.map((h) => {
      let sum = 0;
      for (let i = h * c.d_head; i < (h + 1) * c.d_head; i++) sum += rounded[i] * w[i];
      return sum;
    });
  }

  /**
   * The output of attention: the sum of its heads.
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  attentionOutput(position, index) {
    const { config: c, block, part } = this;
    const at = this.inBlock(`${part}.hook_result`);
    const bias = this.weights(`${block}.${part}.o.bias`, index + 1)[index];
    const terms = this.headContributions(position, index).map((value, h) =>
      this.term(position, index, at, value, `head ${h}`, { head: h }),
    );
    return {
      how: 'sum',
      formula: c.bias_attn_out ? 'the heads, plus the bias' : 'the heads',
      terms: c.bias_attn_out
        ? [
            ...terms,
            { name: 'bias', value: bias, weight: { name: `${block}.${part}.o.bias`, row: index, value: bias } },
          ]
        : terms,
    };
  }

  /**
   * A neuron after the activation function.
   * @param {number} position
   * @param {number} index
   * @returns {Derivation}
   */
  activation(position, index) {
    const { config: c } = this;
    const pre = this.term(
      position,
      index,
      this.inBlock('mlp.hook_pre'),
      this.row(this.inBlock('mlp.hook_pre'), position)[index],
    );
    const gate = GATES[c.ffn];
    if (!gate) return { how: 'activation', formula: c.ffn, terms: [pre] };
    const up = this.term(
      position,
      index,
      this.inBlock('mlp.hook_pre_linear'),
      this.row(this.inBlock('mlp.hook_pre_linear'), position)[index],
    );
    return {
      how: 'product',
      formula: `${gate}(gate) × up`,
      terms: [{ ...pre, name: `${gate}(gate)`, input: pre.value, value: ACTIVATIONS[gate](pre.value) }, up],
    };
  }

  /**
   * q or k after RoPE: each pair of dimensions is rotated by position × frequency (Su et al. 2021).
   * @param {'q'|'k'} which
   * @param {number} position
   * @param {number} head
   * @param {number} index
   * @returns {Derivation}
   */
  rotation(which, position, head, index) {
    const { config: c } = this;
    const half = c.d_head / 2;
    const at = this.inBlock(`attn.hook_${which}`);
    const x = this.headNormed(which, position, head);
    const pair = c.rope_pairs === 'half' ? index % half : index >> 1;
    const second = c.rope_pairs === 'half' ? index >= half : index % 2 === 1;
    const other = c.rope_pairs === 'half' ? (index + half) % c.d_head : index ^ 1;
    const angle = position * frequency(c, pair);
    const cosine = {
      name: `${which} ${index} × cos`,
      value: x[index] * Math.cos(angle),
      input: x[index],
      from: { at, position, head, index },
    };
    const sine = {
      name: `${which} ${other} × ${second ? '' : '−'}sin`,
      value: x[other] * Math.sin(angle) * (second ? 1 : -1),
      input: x[other],
      from: { at, position, head, index: other },
    };
    return {
      how: 'sum',
      formula: `pair ${pair} rotated by ${position} × ${frequency(c, pair).toPrecision(4)} radians`,
      terms: [cosine, sine],
    };
  }
}

/**
 * The bucket of a distance in a table of relative position biases (Raffel et al. 2020): half of the buckets are for one
 * distance each, the others grow in width by a constant factor.
 * @param {import('../formats/config.js').Config} c
 * @param {boolean} twoSided  an encoder's: keys after the query have the upper half
 * @param {number} distance  key position minus query position
 */
function relativeBucket({ relative_buckets: all, relative_max_distance: most }, twoSided, distance) {
  const n = twoSided ? all >> 1 : all;
  const single = n >> 1;
  const first = twoSided && distance > 0 ? n : 0;
  const away = twoSided ? Math.abs(distance) : Math.max(0, -distance);
  if (away < single) return first + away;
  const share = Math.log(away / single) / Math.log(most / single);
  return first + Math.min(n - 1, single + Math.floor(share * (n - single) + 1e-6));
}

/**
 * The frequency of a pair, with the configuration's scaling.
 * @param {import('../formats/config.js').Config} c
 * @param {number} pair
 * @returns {number} radians per position
 */
function frequency(c, pair) {
  const plain = c.rope_theta ** ((-2 * pair) / c.d_head);
  if (c.rope_scaling === 'linear') return plain / c.rope_factor;
  if (c.rope_scaling !== 'llama3') return plain;
  const { rope_low_freq_factor: low, rope_high_freq_factor: high, rope_original_context: context } = c;
  const rotations = (context * plain) / (2 * Math.PI);
  if (rotations < low) return plain / c.rope_factor;
  if (rotations > high) return plain;
  const smooth = (rotations - low) / (high - low);
  return ((1 - smooth) * plain) / c.rope_factor + smooth * plain;
}
