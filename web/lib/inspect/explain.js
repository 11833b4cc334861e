// explain.js - the formula and the terms of one value: a cell of any capture point, or a logit
//
// Each term names the cell that its input comes from (`from`) and its weight, so that a value can be traced back to the
// embedding.
import { forwardOne } from './forward.js';
import { weight } from './weight.js';
import { Yielder } from '../base/event_loop.js';
import { number } from '../input/options.js';
import { fail, show } from '../base/errors.js';

/** @typedef {import('../run/loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('../engine/engine.js').Tensor} Tensor */
/**
 * One value inside a pass.
 * @typedef {object} Cell
 * @property {string} at          a point's name, or 'logits'
 * @property {number} position    row
 * @property {number} [head]      of a point that has heads
 * @property {number} [index]     place in the row; for a score or pattern the key's position, for 'logits' a token id
 */
/**
 * @typedef {object} Term
 * @property {string} name
 * @property {number} value          what it adds; in a product its factor
 * @property {Cell} [from]           the cell that its input comes from
 * @property {number} [input]        the value of that cell
 * @property {{name: string, row: number, column?: number, value: number}} [weight] the weight that the input was
 *   multiplied by
 * @property {{from: Cell, input: number}} [times] the cell that the input was multiplied by, where that is no weight
 *   but a key or a value
 */
/**
 * @typedef {Cell & {
 *   value: number,
 *   how: 'sum' | 'product' | 'share' | 'root' | 'activation' | 'given' | 'masked',
 *   formula: string,
 *   terms: Term[],
 *   divisor: number,
 *   computed: number,
 * }} Explanation
 *   value: what the engine has; computed: the terms put together in double precision.
 *   sum: (t1 + t2 + ...) / divisor. product: t1 t2. share: the cell's own term / divisor, the sum of all of them. root:
 *   sqrt((t1 + ...) / divisor), the epsilon among the terms. activation: a function of the one term. given: read from a
 *   table. masked: hidden, so -inf or 0.
 *   A quantised model also rounds activations, which no term contains.
 */

const ACTIVATIONS = {
  relu: (/** @type {number} */ x) => Math.max(0, x),
  gelu_erf: (/** @type {number} */ x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (/** @type {number} */ x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  swiglu: (/** @type {number} */ x) => x / (1 + Math.exp(-x)),
};

/**
 * Abramowitz & Stegun 7.1.26, absolute error below 1.5e-7.
 * @param {number} x
 */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - p * Math.exp(-x * x));
}

/**
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Omit<Cell, 'position'> & {position?: number, source?: any, sourceMask?: any, addSpecialTokens?: boolean}}
 *   options at: a point's name, or 'logits' (index: a token id)
 * @param {import('../run/loaded_model.js').Hooks} hooks
 * @returns {Promise<Explanation>}
 */
export async function explain(model, input, options, { signal } = {}) {
  const { at, source, sourceMask } = options;
  const { names } = await model.points();
  if (at === 'logits') model.needDecoder('explain');
  else if (!names.includes(at)) fail('bad-argument', `at: there is no point ${show(at)}`);
  const ids = model.ids(input, 'input', options.addSpecialTokens);
  const read = source === undefined ? [] : model.ids(source, 'source');
  const cell = new Formulas(model, names, at, ids, read, async (capture) =>
    forwardOne(model, ids, { source, sourceMask, capture }, new Yielder(signal)),
  );
  return cell.explain(options);
}

/** The formulas of one point: `needs` names the captures, `formula` computes the terms from them. */
class Formulas {
  /**
   * @param {LoadedModel} model
   * @param {string[]} names
   * @param {string} at
   * @param {number[]} ids
   * @param {number[]} source
   * @param {(capture: string[]) => Promise<{logits?: Tensor, hidden?: Tensor, captured: Record<string, Tensor>}>} pass
   */
  constructor(model, names, at, ids, source, pass) {
    this.model = model;
    this.c = model.config;
    this.names = names;
    this.pass = pass;
    const [, block, layer, point] = /^((?:blocks|encoder|decoder)\.(\d+))\.(.+)$/.exec(at) ?? [];
    this.at = at;
    this.block = block ?? '';
    this.layer = Number(layer ?? -1);
    /** Of a whole stack: 'encoder.', 'decoder.', ''. */
    this.whole = this.c.kind === 'encoder_decoder' ? `${at === 'logits' ? 'decoder' : at.split('.')[0]}.` : '';
    this.point = point ?? at.slice(at === 'logits' ? 0 : this.whole.length);
    this.cross = this.point.includes('cross');
    this.twoStacks = this.whole === 'decoder.';
    this.pre = this.c.norm_placement === 'pre';
    this.ids = this.whole === 'encoder.' ? source : ids;
    /** @type {Record<string, Tensor>} */
    this.captured = {};
  }

  /**
   * @param {Omit<Cell, 'position'> & {position?: number}} o
   * @returns {Promise<Explanation>}
   */
  async explain(o) {
    const { c, model } = this;
    const { captured, logits } = await this.pass(this.needs());
    this.captured = captured;
    const own = this.at === 'logits' ? /** @type {Tensor} */ (logits) : captured[this.at];
    const keyed = /scores|pattern/.test(this.point);
    const headed = own.shape.length === 3;
    const [positions, heads, width] = keyed
      ? [own.shape[1], own.shape[0], own.shape[2]]
      : headed
        ? own.shape
        : [own.shape[0], 0, own.shape[1]];
    const position = number('position', o.position ?? positions - 1, 0, positions - 1, true);
    if (!headed && o.head !== undefined) fail('bad-option', `${this.at} has no heads`);
    const head = headed ? number('head', o.head ?? 0, 0, heads - 1, true) : undefined;
    const index = number('index', o.index ?? 0, 0, width - 1, true);
    const value = keyed
      ? own.data[(Number(head) * positions + position) * width + index]
      : own.data[(position * Math.max(1, heads) + (head ?? 0)) * width + index];
    const made = this.formula(position, head ?? 0, index);
    return {
      at: this.at,
      position,
      ...(headed && { head }),
      index,
      value,
      divisor: 1,
      ...made,
      computed: made.how === 'masked' ? value : compute(made, index, c.ffn),
    };
  }

  /**
   * The name of a point in the same block.
   * @param {string} name
   */
  local(name) {
    return `${this.block}.${name}`;
  }

  /**
   * Names of the points from which this one is computed.
   * @returns {string[]}
   */
  needs() {
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
      ? [...stems, ...results].map((n) => this.local(n))
      : [
          `${this.whole}hook_embed`,
          `${this.whole}hook_pos_embed`,
          `${this.whole}ln_final.hook_scale`,
          `${this.whole}ln_final.hook_normalized`,
          this.last(),
        ];
    const first =
      this.block && this.layer === 0
        ? [`${this.whole}hook_embed`, `${this.whole}hook_pos_embed`]
        : this.block
          ? [`${this.block.replace(/\d+$/, '')}${this.layer - 1}.hook_resid_post`]
          : [];
    const memory = /^cross_attn\.hook_[kv]$/.test(this.point)
      ? [this.last('encoder'), 'encoder.ln_final.hook_normalized']
      : [];
    return [...new Set([...at, ...before, ...first, ...memory])].filter((n) => this.names.includes(n));
  }

  /**
   * The stream behind a stack's last block.
   * @param {string} [stack]
   */
  last(stack = this.whole.slice(0, -1) || 'blocks') {
    const n = stack === 'encoder' && this.c.kind === 'encoder_decoder' ? this.c.n_encoder_layers : this.c.n_layers;
    return n ? `${stack}.${n - 1}.hook_resid_post` : `${this.whole}hook_embed`;
  }

  /**
   * A row of what was captured, or of one head in it.
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
   * @param {number} position
   */
  keys(name, head, position) {
    const {
      data,
      shape: [, n, m],
    } = this.captured[name];
    return data.subarray((head * n + position) * m, (head * n + position + 1) * m);
  }

  /**
   * A vector of weights, zeros where the architecture has none.
   * @param {string} name
   * @param {number} n
   * @param {number} [row]
   */
  weights(name, n, row = 0) {
    return this.model.table.rows.some((r) => r.name === name) ? weight(this.model, name, row) : new Float32Array(n);
  }

  /**
   * The input of a sublayer, with the cell of each number.
   * @param {string} ln ln1, ln2, ln_cross
   * @param {string} norm
   * @param {string} stream
   * @param {number} position
   */
  read(ln, norm, stream, position) {
    const { c } = this;
    const d = c.d_model;
    const normal = this.local(`${ln}.hook_normalized`);
    if (!this.pre || !c.use_norm) return { at: this.local(stream), x: this.row(this.local(stream), position) };
    const gain = weight(this.model, `${this.block}.${norm}.weight`);
    const bias = this.weights(`${this.block}.${norm}.bias`, d);
    return { at: normal, x: Float64Array.from(this.row(normal, position), (v, j) => v * gain[j] + bias[j]) };
  }

  /**
   * W x + b, one row of it.
   * @param {string} name
   * @param {number} row
   * @param {{at: string, x: ArrayLike<number>, head?: boolean}} from
   * @param {number} position
   * @param {string} what
   */
  product(name, row, { at, x, head }, position, what) {
    const w = weight(this.model, `${name}.weight`, row);
    const size = this.c.d_head;
    /** @type {Term[]} */
    const terms = Array.from(x, (v, j) => ({
      name: `${what} ${j}`,
      value: v * w[j],
      input: v,
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
   * The stream after a sublayer; with post-norm, the output of that norm.
   * @param {string} norm
   * @param {string} ln
   * @param {string} from
   * @param {string} out
   * @param {number} position
   * @param {number} index
   * @returns {Made}
   */
  residual(norm, ln, from, out, position, index) {
    const { c } = this;
    if (!this.pre && c.use_norm)
      return this.scaled(`${this.block}.${norm}`, this.local(`${ln}.hook_normalized`), position, index);
    const terms = this.sum(from, out, position, index);
    return {
      how: 'sum',
      formula: terms.length > 1 ? 'the stream before it, plus what the sublayer wrote' : 'what the sublayer wrote',
      terms,
    };
  }

  /**
   * @param {string} from
   * @param {string} out
   * @param {number} position
   * @param {number} index
   * @returns {Term[]}
   */
  sum(from, out, position, index) {
    return [...(this.c.use_residual ? [from] : []), out].map((n) => ({
      name: n,
      value: this.row(this.local(n), position)[index],
      from: { at: this.local(n), position, index },
    }));
  }

  /**
   * A norm's output: normalised, times the gain, plus the bias.
   * @param {string} norm
   * @param {string} at
   * @param {number} position
   * @param {number} index
   * @returns {Made}
   */
  scaled(norm, at, position, index) {
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
    if (this.c.norm === 'layernorm' && this.c.bias_norm)
      terms.push({ name: 'bias', value: bias, weight: { name: `${norm}.bias`, row: index, value: bias } });
    return { how: 'sum', formula: "the norm of the stream and the sublayer's output together", terms };
  }

  /**
   * The residual stream before a sublayer, and the output of that sublayer.
   * @param {string} ln
   */
  beside(ln) {
    return (
      {
        ln1: ['hook_resid_pre', 'hook_attn_out'],
        ln_cross: ['hook_resid_mid', 'hook_cross_attn_out'],
        ln2: [this.twoStacks ? 'hook_resid_mid_cross' : 'hook_resid_mid', 'hook_mlp_out'],
      }[ln] ?? fail('bad-argument', ln)
    );
  }

  /**
   * The input of a norm: a point, or the sum of two points, which is not a point itself.
   * @param {string} ln
   * @param {number} position
   * @returns {{at: string | null, x: Float64Array}}
   */
  normed(ln, position) {
    if (ln === 'ln_final')
      return {
        at: this.last(),
        x: Float64Array.from(this.row(this.last(), position), (v, j) => v + this.positions(position)[j]),
      };
    const [stream, out] = this.beside(ln);
    const at = this.local(stream);
    const x = this.row(at, position);
    if (this.pre) return { at, x: Float64Array.from(x) };
    const added = this.row(this.local(out), position);
    return { at: null, x: Float64Array.from(added, (v, j) => v + (this.c.use_residual ? x[j] : 0)) };
  }

  /**
   * Added positions where there is no block between the embedding and the last norm.
   * @param {number} position
   * @returns {ArrayLike<number>}
   */
  positions(position) {
    const name = `${this.whole}hook_pos_embed`;
    return !this.c.n_layers && this.captured[name] ? this.row(name, position) : new Float32Array(this.c.d_model);
  }

  /**
   * The vector that a score is made of.
   * @param {'q'|'k'} which
   * @param {number} position
   * @param {number} head of q, or of k and v
   * @returns {{at: string, x: ArrayLike<number>}}
   */
  turned(which, position, head) {
    const part = this.cross ? 'cross_attn' : 'attn';
    const rotated = this.local(`${part}.hook_rot_${which}`);
    const plain = this.local(`${part}.hook_${which}`);
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
    const x = this.row(this.local(`${this.cross ? 'cross_attn' : 'attn'}.hook_${which}`), position, head);
    if (!this.c.qk_norm || this.cross) return x;
    const gain = weight(this.model, `${this.block}.attn.${which}_norm.weight`);
    const scale = Math.sqrt(x.reduce((a, v) => a + v * v, 0) / x.length + this.c.norm_eps);
    return Float64Array.from(x, (v, i) => (v / scale) * gain[i]);
  }

  /** @typedef {Pick<Explanation, 'how' | 'formula' | 'terms'> & {divisor?: number}} Made */

  /**
   * @param {number} position
   * @param {number} head
   * @param {number} index
   * @returns {Made}
   */
  formula(position, head, index) {
    const { c, model, block, point, twoStacks, cross } = this;
    const part = cross ? 'cross_attn' : 'attn';
    const group = Math.floor(head / (c.n_heads / c.n_kv_heads));
    const norms = {
      attn: ['ln1', 'norm1', 'hook_resid_pre'],
      cross_attn: ['ln_cross', 'norm2', 'hook_resid_mid'],
      ffn: ['ln2', twoStacks ? 'norm3' : 'norm2', twoStacks ? 'hook_resid_mid_cross' : 'hook_resid_mid'],
    };
    const input = (/** @type {'attn'|'cross_attn'|'ffn'} */ of) =>
      this.read(/** @type {any} */ (norms[of][0]), norms[of][1], norms[of][2], position);
    /**
     * @param {string} at
     * @param {number} value
     * @param {string} [name]
     * @param {Partial<Cell>} [more]
     * @returns {Term}
     */
    const term = (at, value, name = at, more = {}) => ({ name, value, from: { at, position, index, ...more } });

    switch (point.replace('cross_attn.', 'attn.')) {
      case 'logits': {
        const at = `${this.whole}ln_final.hook_normalized`;
        const normal = c.final_norm && c.use_final_norm;
        const gain = normal ? weight(model, 'final_norm.weight') : null;
        const bias = this.weights('final_norm.bias', c.d_model);
        const last = this.last();
        const x = this.row(normal ? at : last, position);
        const plus = this.positions(position);
        return this.product(
          'head',
          index,
          { at: normal ? at : last, x: Float64Array.from(x, (v, j) => (gain ? v * gain[j] + bias[j] : v + plus[j])) },
          position,
          'dimension',
        );
      }
      case 'hook_embed': {
        const name = this.whole === 'encoder.' && !c.shared_embedding ? 'encoder.embed.weight' : 'embed.weight';
        const row = this.ids[position];
        const value = weight(model, name, row)[index];
        return {
          how: 'given',
          formula: `the token's row of ${name}${c.embedding_scale === 1 ? '' : ` × ${c.embedding_scale}`}`,
          terms: [
            { name: `token ${row}`, value: value * c.embedding_scale, weight: { name, row, column: index, value } },
          ],
        };
      }
      case 'hook_pos_embed': {
        if (c.position === 'learned') {
          const name = `${this.whole === 'encoder.' ? 'encoder.' : ''}position.weight`;
          const value = weight(model, name, position)[index];
          return {
            how: 'given',
            formula: `row ${position} of ${name}`,
            terms: [{ name: `position ${position}`, value, weight: { name, row: position, column: index, value } }],
          };
        }
        const angle = position / 10000 ** ((2 * (index >> 1)) / c.d_model);
        const wave = index % 2 ? 'cos' : 'sin'; // Vaswani 2017, section 3.5
        return {
          how: 'given',
          formula: `${wave}(${position} / 10000^(${2 * (index >> 1)} / d_model))`,
          terms: [{ name: wave, value: Math[wave](angle), input: angle }],
        };
      }
      case 'hook_resid_pre': {
        if (this.layer > 0) {
          const before = `${block.replace(/\d+$/, '')}${this.layer - 1}.hook_resid_post`;
          return {
            how: 'sum',
            formula: 'the stream behind the block before',
            terms: [term(before, this.row(before, position)[index])],
          };
        }
        const parts = [`${this.whole}hook_embed`, `${this.whole}hook_pos_embed`].filter((n) => this.captured[n]);
        return {
          how: 'sum',
          formula: parts.length > 1 ? 'embedding plus position' : 'the embedding',
          terms: parts.map((n) => term(n, this.row(n, position)[index])),
        };
      }
      case 'hook_resid_mid':
        return this.residual('norm1', 'ln1', 'hook_resid_pre', 'hook_attn_out', position, index);
      case 'hook_resid_mid_cross':
        return this.residual('norm2', 'ln_cross', 'hook_resid_mid', 'hook_cross_attn_out', position, index);
      case 'hook_resid_post':
        return this.residual(norms.ffn[1], 'ln2', norms.ffn[2], 'hook_mlp_out', position, index);
      case 'ln1.hook_scale':
      case 'ln2.hook_scale':
      case 'ln_cross.hook_scale':
      case 'ln_final.hook_scale': {
        const { at, x } = this.normed(point.split('.')[0], position);
        const mean = c.norm === 'layernorm' ? x.reduce((a, b) => a + b, 0) / x.length : 0;
        const terms = Array.from(x, (v, j) => ({
          name: `dimension ${j}, squared`,
          value: (v - mean) ** 2,
          input: v,
          ...(at && { from: { at, position, index: j } }),
        }));
        return {
          how: 'root',
          formula:
            c.norm === 'layernorm'
              ? 'the root of the variance, plus epsilon'
              : 'the root of the mean of the squares, plus epsilon',
          divisor: x.length,
          terms: [...terms, { name: 'epsilon', value: c.norm_eps * x.length }],
        };
      }
      case 'ln1.hook_normalized':
      case 'ln2.hook_normalized':
      case 'ln_cross.hook_normalized':
      case 'ln_final.hook_normalized': {
        const ln = point.split('.')[0];
        const { at, x } = this.normed(ln, position);
        const scale = this.at.replace('normalized', 'scale');
        const [stream, out] = at ? [] : this.beside(ln);
        const terms = at ? [term(at, x[index])] : this.sum(stream, out, position, index);
        if (c.norm === 'layernorm')
          terms.push({ name: 'minus the mean', value: -x.reduce((a, b) => a + b, 0) / x.length });
        return { how: 'sum', formula: `divided by ${scale}`, divisor: this.row(scale, position)[0], terms };
      }
      case 'attn.hook_q':
        return this.product(`${block}.${part}.q`, head * c.d_head + index, input(part), position, 'dimension');
      case 'attn.hook_k':
      case 'attn.hook_v':
        return this.product(
          `${block}.${part}.${point.at(-1)}`,
          head * c.d_head + index,
          cross ? this.memory(position) : input(part),
          position,
          'dimension',
        );
      case 'attn.hook_rot_q':
      case 'attn.hook_rot_k':
        return this.rotated(point.at(-1) === 'q' ? 'q' : 'k', position, head, index);
      case 'attn.hook_attn_scores_raw':
      case 'attn.hook_attn_scores_scaled':
      case 'attn.hook_attn_scores': {
        if (this.keys(this.at, head, position)[index] === -Infinity)
          return { how: 'masked', formula: 'this position does not see that key', terms: [] };
        const q = this.turned('q', position, head);
        const k = this.turned('k', index, group);
        const divisor = point.endsWith('raw') || !c.scale_scores ? 1 : Math.sqrt(c.d_head);
        return {
          how: 'sum',
          formula: divisor === 1 ? 'q · k' : 'q · k / √d_head',
          divisor,
          terms: Array.from(q.x, (v, i) => ({
            name: `q ${i} × k ${i}`,
            value: v * k.x[i],
            input: v,
            from: { at: q.at, position, head, index: i },
            times: { from: { at: k.at, position: index, head: group, index: i }, input: k.x[i] },
          })),
        };
      }
      case 'attn.hook_pattern': {
        const at = this.local(`${part}.hook_attn_scores`);
        const scores = this.keys(at, head, position);
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
      case 'attn.hook_z': {
        const at = this.local(`${part}.hook_pattern`);
        const v = this.local(`${part}.hook_v`);
        const pattern = this.keys(at, head, position);
        return {
          how: 'sum',
          formula: 'the values, weighted by the pattern',
          terms: Array.from(pattern, (p, k) => {
            const value = this.row(v, k, group)[index];
            return {
              name: `key ${k}`,
              value: p * value,
              input: p,
              from: { at, position, head, index: k },
              times: { from: { at: v, position: k, head: group, index }, input: value },
            };
          }),
        };
      }
      case 'attn.hook_result': {
        const at = this.local(`${part}.hook_z`);
        const z = this.row(at, position, head);
        const w = weight(model, `${block}.${part}.o.weight`, index);
        const from = head * c.d_head;
        return {
          how: 'sum',
          formula: `row ${index} of ${block}.${part}.o.weight, this head's columns`,
          terms: Array.from(z, (v, i) => ({
            name: `z ${i}`,
            value: v * w[from + i],
            input: v,
            from: { at, position, head, index: i },
            weight: { name: `${block}.${part}.o.weight`, row: index, column: from + i, value: w[from + i] },
          })),
        };
      }
      case 'hook_attn_out':
      case 'hook_cross_attn_out': {
        const at = this.local(`${part}.hook_result`);
        const bias = this.weights(`${block}.${part}.o.bias`, index + 1)[index];
        const terms = Array.from({ length: c.n_heads }, (_, h) =>
          term(at, this.row(at, position, h)[index], `head ${h}`, { head: h }),
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
      case 'mlp.hook_pre':
        return this.product(
          `${block}.ffn.${c.ffn === 'swiglu' ? 'gate' : 'up'}`,
          index,
          input('ffn'),
          position,
          'dimension',
        );
      case 'mlp.hook_pre_linear':
        return this.product(`${block}.ffn.up`, index, input('ffn'), position, 'dimension');
      case 'mlp.hook_post': {
        const pre = term(this.local('mlp.hook_pre'), this.row(this.local('mlp.hook_pre'), position)[index]);
        if (c.ffn !== 'swiglu') return { how: 'activation', formula: c.ffn, terms: [pre] };
        const up = term(
          this.local('mlp.hook_pre_linear'),
          this.row(this.local('mlp.hook_pre_linear'), position)[index],
        );
        return {
          how: 'product',
          formula: 'silu(gate) × up',
          terms: [{ ...pre, name: 'silu(gate)', input: pre.value, value: ACTIVATIONS.swiglu(pre.value) }, up],
        };
      }
      case 'hook_mlp_out':
        return this.product(
          `${block}.ffn.down`,
          index,
          { at: this.local('mlp.hook_post'), x: this.row(this.local('mlp.hook_post'), position) },
          position,
          'neuron',
        );
      default:
        return fail('unsupported', `${this.at} cannot be explained`);
    }
  }

  /**
   * The input of the keys and values of cross-attention: the encoder's output.
   * @param {number} position
   */
  memory(position) {
    const { c } = this;
    const normal = 'encoder.ln_final.hook_normalized';
    const last = this.last('encoder');
    if (!this.captured[normal]) return { at: last, x: this.row(last, position) };
    const gain = weight(this.model, 'encoder.final_norm.weight');
    const bias = this.weights('encoder.final_norm.bias', c.d_model);
    return { at: normal, x: Float64Array.from(this.row(normal, position), (v, j) => v * gain[j] + bias[j]) };
  }

  /**
   * A pair of dimensions rotated by position × frequency (Su et al. 2021).
   * @param {'q'|'k'} which
   * @param {number} position
   * @param {number} head
   * @param {number} index
   * @returns {Made}
   */
  rotated(which, position, head, index) {
    const { c } = this;
    const half = c.d_head / 2;
    const at = this.local(`attn.hook_${which}`);
    const x = this.headNormed(which, position, head);
    const pair = c.rope_pairs === 'half' ? index % half : index >> 1;
    const second = c.rope_pairs === 'half' ? index >= half : index % 2 === 1;
    const other = c.rope_pairs === 'half' ? (index + half) % c.d_head : index ^ 1;
    const angle = position * frequency(c, pair);
    const own = {
      name: `${which} ${index} × cos`,
      value: x[index] * Math.cos(angle),
      input: x[index],
      from: { at, position, head, index },
    };
    const turn = {
      name: `${which} ${other} × ${second ? '' : '−'}sin`,
      value: x[other] * Math.sin(angle) * (second ? 1 : -1),
      input: x[other],
      from: { at, position, head, index: other },
    };
    return {
      how: 'sum',
      formula: `pair ${pair} turned by ${position} × ${frequency(c, pair).toPrecision(4)} radians`,
      terms: [own, turn],
    };
  }
}

/**
 * Radians per position of one pair, with Llama 3's scaling of the low frequencies.
 * @param {import('../formats/config.js').Config} c
 * @param {number} pair
 */
function frequency(c, pair) {
  const plain = c.rope_theta ** ((-2 * pair) / c.d_head);
  if (c.rope_scaling === 'linear') return plain / c.rope_factor;
  if (c.rope_scaling !== 'llama3') return plain;
  const { rope_low_freq_factor: low, rope_high_freq_factor: high, rope_original_context: context } = c;
  const turns = (context * plain) / (2 * Math.PI);
  if (turns < low) return plain / c.rope_factor;
  if (turns > high) return plain;
  const smooth = (turns - low) / (high - low);
  return ((1 - smooth) * plain) / c.rope_factor + smooth * plain;
}

/**
 * @param {Pick<Explanation, 'how' | 'terms'> & {divisor?: number}} made
 * @param {number} index
 * @param {string} ffn
 * @returns {number}
 */
function compute({ how, terms, divisor = 1 }, index, ffn) {
  const sum = () => terms.reduce((a, t) => a + t.value, 0);
  switch (how) {
    case 'sum':
      return sum() / divisor;
    case 'product':
      return terms.reduce((a, t) => a * t.value, 1);
    case 'share':
      return terms[index].value / divisor;
    case 'root':
      return Math.sqrt(sum() / divisor);
    case 'activation':
      return ACTIVATIONS[/** @type {keyof typeof ACTIVATIONS} */ (ffn)](terms[0].value);
    case 'given':
      return terms[0].value;
    default:
      return NaN;
  }
}
