// merge_adapters.js - adds LoRA adapters to the weights of a checkpoint while it is read
//
// Hu et al. 2021: W' = W + scale * lora_alpha / r * B A, with A [r, in] and B [out, r]. The sum is computed in double,
// line by line of the stored tensor, and rounded to f32 once, before the engine stores the weight in its own type.
import { BLOCKS } from '../../base/dtype_names.js';
import { fail, show } from '../../base/errors.js';
import { remembered } from '../../base/lazy_value.js';
import { dequantize } from '../../engine/weights_memory.js';
import { modulesOf, tensorsOf } from './module_places.js';
import { shapeText } from '../../engine/config/tensor_plan.js';
import { rowsForOtherPairs } from '../../engine/config/rope_rows.js';
import { roster } from '../../engine/config/weight_roster.js';

/** @import { Dtype } from '../../base/dtype_names.js' */
/** @import { Config } from '../../engine/config/config.js' */
/** @import { Scheme } from './module_places.js' */
/** @import { Checkpoint } from '../source.js' */
/** @import { Place, TensorSource } from '../../engine/config/tensor_plan.js' */
/** @import { Engine } from '../../engine/engine.js' */
/** @typedef {{shape: number[], data: Float32Array}} Matrix */
/** A matrix of a file. @typedef {{shape: number[], dtype: Dtype, bytes: Uint8Array}} Stored */
/** @typedef {Omit<Delta, 'a' | 'b'> & {a: Stored, b: Stored}} StoredDelta */
/**
 * What one adapter adds to one module. where: the adapter, for messages; a: [r, in], b: [out, r]; factor: of the
 * product; architecture: of an adapter in GGUF, whose names are those of tensors.
 * @typedef {{name: string, where: string, a: Matrix, b: Matrix, factor: number, architecture?: string}} Delta
 */
/**
 * What adapters are added to: the part of a checkpoint that says which tensor has which weights.
 * @typedef {Pick<Checkpoint, 'config' | 'format' | 'architecture'> &
 *   {tensors: Pick<TensorSource, 'name' | 'covers' | 'layout'>[]}} Base
 */
/** What is added to one weight. a: [r, in], b: [out, r]. */
/** @typedef {{a: Float32Array, b: Float32Array, r: number, factor: number}} Product */
/** A weight of a stored tensor. @typedef {{rows: number, products: Product[]}} Part */
/** A tensor with adapters; width: values of a stored line. @typedef {{parts: Part[], width: number}} Changed */

/** Most bytes that are handed on at once, unless a line has more. */
const PIECE = 2 ** 20;

/**
 * The checkpoint with products added to its tensors.
 * @param {Checkpoint} checkpoint
 * @param {StoredDelta[]} deltas
 * @param {boolean} keep  whether weights keep the types of the file, to which the sums are then rounded
 * @param {Engine} engine
 * @returns {Checkpoint}
 */
export function withAdapters(checkpoint, deltas, keep, engine) {
  const { config, tensors } = checkpoint;
  const shapes = shapesOf(checkpoint);
  const products = productsByWeight(checkpoint, valuesOf(engine, deltas));
  /** @type {Map<string, Changed>} by name of the tensor */
  const changed = new Map();
  /** @type {Set<import('../../base/dtype_names.js').KeptDtype>} */
  const dtypes = new Set();
  for (const { name, covers, layout, dtype, packed } of tensors) {
    if (!covers.some((weight) => products.has(weight))) continue;
    const parts = covers.map((weight) => ({ rows: rowsOf(shapes, weight), products: products.get(weight) ?? [] }));
    const width = layout === 'cols' ? parts.reduce((n, { rows }) => n + rows, 0) : Number(shapes.get(covers[0])?.[1]);
    changed.set(name, { parts, width });
    const [, , kept] = packed?.block ?? BLOCKS[dtype];
    if (BLOCKS[kept][0] > 1) dtypes.add(kept);
  }
  const rounded =
    `adapters: ${changed.size} tensors, whose sums are rounded to the types of the file (${[...dtypes].join(', ')}); ` +
    "dtype: 'f16' keeps more of them";
  return {
    ...checkpoint,
    warnings: keep && dtypes.size ? [...checkpoint.warnings, rounded] : checkpoint.warnings,
    tensors: tensors.map((t) => (changed.has(t.name) ? asSum(t) : t)),
    stream: (sink) => checkpoint.stream(addingSink(sink, changed, config.d_head, engine)),
  };
}

/**
 * Deltas with their values.
 * @param {Engine} engine
 * @param {StoredDelta[]} deltas
 * @returns {Delta[]}
 */
export function valuesOf(engine, deltas) {
  const values = (/** @type {Stored} */ { shape, dtype, bytes }) => {
    const data = new Float32Array(shape[0] * shape[1]);
    dequantize(engine, bytes, dtype, data, 0);
    return { shape, data };
  };
  return deltas.map((delta) => ({ ...delta, a: values(delta.a), b: values(delta.b) }));
}

/**
 * The shapes of all weights that adapters can be added to.
 * @param {Base} base
 */
export function shapesOf({ config, format }) {
  if (format === 'llama2c' || format === 'llmc')
    fail(
      'unsupported',
      `adapters are added to safetensors, PyTorch and GGUF checkpoints, this one is a ${format} file`,
    );
  return new Map([...roster(config)].map(({ name, shape }) => [name, shape]));
}

/**
 * What deltas add to each weight.
 * @param {Base} base
 * @param {Delta[]} deltas
 */
export function productsByWeight(base, deltas) {
  const shapes = shapesOf(base);
  /** @type {Map<string, Product[]>} */
  const products = new Map();
  const placeOf = placer(base, deltas);
  for (const delta of deltas)
    for (const [name, product] of productsOf(delta, placeOf(delta), base.config, shapes))
      remembered(products, name, () => []).push(product);
  return products;
}

const rowsOf = (/** @type {Map<string, number[]>} */ shapes, /** @type {string} */ name) => shapes.get(name)?.[0] ?? 0;

// ---- from the names in an adapter to weights

/** The weights that a name means. @typedef {Place & {pairs: Config['rope_pairs']}} Target */

/**
 * A function that finds the weights of a delta.
 * @param {Base} base
 * @param {Delta[]} deltas
 * @returns {(delta: Delta) => Target}
 */
export function placer({ config, format, tensors, architecture: base }, deltas) {
  const fused = deltas.some(({ name }) => name.endsWith('attn_qkv.weight'));
  /** @type {Scheme} */
  const own = { places: new Map(), pairs: config.rope_pairs };
  for (const { name, covers, layout } of tensors) if (covers.length) own.places.set(name, { covers, layout });
  /** @type {Map<string, Scheme>} */
  const schemes = new Map();
  return ({ architecture, name, where }) => {
    if (base !== undefined && architecture !== undefined && architecture !== base)
      fail('bad-argument', `${where}: made for the architecture ${show(architecture)}, the model has ${show(base)}`);
    const isOwn = (format === 'gguf') === (architecture !== undefined);
    const read = () =>
      architecture === undefined
        ? modulesOf(config, /** @type {string} */ (base), where)
        : tensorsOf(config, architecture, fused, where);
    const { places, pairs } = isOwn ? own : remembered(schemes, architecture ?? '', read);
    const full = architecture === undefined ? `${name}.weight` : name;
    const place = placeNamed(places, full);
    return place ? { ...place, pairs } : fail('unknown-tensor', `${where}: the model has no tensor ${full}`);
  };
}

/**
 * The place of a name. A checkpoint may have it with or without the prefix of the whole model, such as `transformer.`
 * or `model.`.
 * @param {Map<string, Place>} places
 * @param {string} full
 * @returns {Place | undefined}
 */
function placeNamed(places, full) {
  const names = [...places.keys()];
  const name =
    names.find((n) => n === full) ??
    names.find((n) => full.endsWith(`.${n}`)) ??
    names.find((n) => n.endsWith(`.${full}`));
  return name === undefined ? undefined : places.get(name);
}

/**
 * What a delta adds to each weight of its place.
 * @param {Delta} delta
 * @param {Target} target
 * @param {Config} config
 * @param {Map<string, number[]>} shapes  of the weights
 * @returns {[string, Product][]}
 */
export function productsOf({ name, where, a, b, factor }, { covers, layout, pairs, experts }, config, shapes) {
  const rows = covers.reduce((n, cover) => n + rowsOf(shapes, cover), 0);
  const [, cols] = shapes.get(covers[0]) ?? [];
  if (experts) fail('unsupported', `${where}: ${name}: adapters of stacked experts are not supported`);
  if (cols === undefined || b.shape[0] !== rows || a.shape[1] !== cols)
    fail(
      'bad-shape',
      `${where}: ${name}: lora_B is ${shapeText(b.shape)} and lora_A ${shapeText(a.shape)}, ` +
        `expected [${rows}, r] and [r, ${cols ?? 1}]`,
    );
  const [, r] = b.shape;
  const rowAt = stackedRow(layout, covers.length, config.d_head);
  let first = 0;
  return covers.map((cover, i) => {
    const n = rowsOf(shapes, cover);
    const own = new Float32Array(n * r);
    for (let row = 0; row < n; row++) {
      const at = rowAt(i, first, row) * r;
      own.set(b.data.subarray(at, at + r), row * r);
    }
    first += n;
    const turned = pairs === config.rope_pairs ? own : rowsForOtherPairs(config, pairs, cover, own, r);
    return [cover, { a: a.data, b: turned, r, factor }];
  });
}

/**
 * The row of a stack in which a row of one of its weights is.
 * @param {Place['layout']} layout
 * @param {number} n  weights in the stack
 * @param {number} dHead
 * @returns {(i: number, first: number, row: number) => number}  of weight i, which begins after `first` rows
 */
const stackedRow = (layout, n, dHead) =>
  layout === 'heads'
    ? (i, _, row) => Math.floor(row / dHead) * n * dHead + i * dHead + (row % dHead)
    : (_, first, row) => first + row;

// ---- sums

/**
 * A sink that adds the products to the tensors on their way to another one. It holds one line of a tensor, and at most
 * PIECE bytes of sums.
 * @param {import('../source.js').TensorSink} sink
 * @param {Map<string, Changed>} changed  by name of the tensor
 * @param {number} dHead
 * @param {Engine} engine
 * @returns {import('../source.js').TensorSink}
 */
function addingSink(sink, changed, dHead, engine) {
  /** @type {Summing | null} */
  let summing = null;
  return {
    begin(t) {
      const of = changed.get(t.name);
      if (!of) return sink.begin(t);
      summing = new Summing(t, of, dHead, engine);
      return sink.begin({ ...t, dtype: 'f32' });
    },
    async write(view) {
      if (!summing) return sink.write(view);
      for (const sums of summing.add(view)) await sink.write(sums);
    },
    async end(t) {
      const rest = summing?.rest();
      summing = null;
      if (rest?.length) await sink.write(rest);
      await sink.end(t);
    },
  };
}

/**
 * A tensor with the bytes that it has as f32.
 * @param {import('../../engine/config/tensor_plan.js').TensorSource} t
 */
const asSum = ({ packed, ...t }) => ({
  ...{ ...t, bytes: 4 * t.shape.reduce((n, x) => n * x, 1) },
  ...(packed && { packed: { ...packed, growth: 1 } }),
});

/** The sums of one tensor, whose bytes arrive in pieces. */
class Summing {
  /**
   * @param {TensorSource} tensor
   * @param {Changed} changed
   * @param {number} dHead
   * @param {Engine} engine
   */
  constructor({ dtype, layout }, { parts, width }, dHead, engine) {
    this.engine = engine;
    this.dtype = dtype;
    this.width = width;
    this.addLine = layout === 'cols' ? inputLine(parts, width) : outputLine(parts, width, layout, dHead);
    this.lines = new Float32Array(width * Math.max(1, Math.floor(PIECE / 4 / width)));
    /** Values in `lines`. */
    this.filled = 0;
    /** Lines before them. */
    this.done = 0;
  }

  /**
   * Bytes of the tensor: whole blocks.
   * @param {Uint8Array} view
   * @returns {Generator<Uint8Array, void, void>} sums, each valid until the next one
   */
  *add(view) {
    const [cols, bytes] = BLOCKS[this.dtype];
    for (let from = 0; from < view.length;) {
      const room = (this.lines.length - this.filled) / cols;
      const n = Math.min(room, (view.length - from) / bytes);
      dequantize(this.engine, view.subarray(from, from + n * bytes), this.dtype, this.lines, this.filled);
      from += n * bytes;
      this.filled += n * cols;
      if (this.filled === this.lines.length) yield this.rest();
    }
  }

  /** The sums of the lines that have arrived. */
  rest() {
    const { width, filled, lines } = this;
    for (let at = 0; at < filled; at += width) this.addLine(this.done++, lines.subarray(at, at + width));
    this.filled = 0;
    return new Uint8Array(lines.buffer, 0, 4 * filled);
  }
}

/**
 * Adds the products to a row of weights [out, in].
 * @param {Part[]} parts
 * @param {number} width
 * @param {Place['layout']} layout
 * @param {number} dHead
 * @returns {(row: number, line: Float32Array) => void}
 */
export function outputLine(parts, width, layout, dHead) {
  const sum = new Float64Array(width);
  const rowAt = stackedRow(layout, parts.length, dHead);
  /** @type {[Part, number][]} weight and its row, by row of the stack */
  const rows = [];
  let first = 0;
  for (const [i, part] of parts.entries()) {
    for (let row = 0; row < part.rows; row++) rows[rowAt(i, first, row)] = [part, row];
    first += part.rows;
  }
  return (line, values) => {
    const [{ products }, o] = rows[line];
    if (!products.length) return;
    sum.fill(0);
    for (const { a, b, r, factor } of products)
      for (let k = 0; k < r; k++) {
        const x = factor * b[o * r + k];
        for (let i = 0, from = k * width; i < width; i++) sum[i] += x * a[from + i];
      }
    for (let i = 0; i < width; i++) values[i] += sum[i];
  };
}

/**
 * Adds the products to a row of weights that are stored as [in, out].
 * @param {Part[]} parts
 * @param {number} width
 * @returns {(row: number, line: Float32Array) => void}
 */
function inputLine(parts, width) {
  const sum = new Float64Array(width);
  return (i, values) => {
    sum.fill(0);
    let first = 0;
    for (const { rows, products } of parts) {
      for (const { a, b, r, factor } of products) {
        const cols = a.length / r;
        for (let o = 0; o < rows; o++)
          for (let k = 0; k < r; k++) sum[first + o] += factor * b[o * r + k] * a[k * cols + i];
      }
      first += rows;
    }
    for (let o = 0; o < width; o++) values[o] += sum[o];
  };
}
