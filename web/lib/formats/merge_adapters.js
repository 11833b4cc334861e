// merge_adapters.js - adds LoRA adapters to the weights of a checkpoint while it is read
//
// Hu et al. 2021: W' = W + scale * lora_alpha / r * B A, with A [r, in] and B [out, r]. The sum is computed in double
// and rounded to f32 once, before the engine stores the weight in its own type.
import { fail } from '../base/errors.js';
import { decodeFloats } from './half.js';
import { shapeText } from './plan.js';

/** @typedef {import('./source.js').Checkpoint} Checkpoint */
/** @typedef {import('./plan.js').TensorSource} TensorSource */
/** @typedef {{shape: number[], data: Float32Array}} Matrix */
/**
 * What one adapter adds to one module. where: the adapter, for messages; a: [r, in], b: [out, r]; factor: of the
 * product.
 * @typedef {{name: string, where: string, a: Matrix, b: Matrix, factor: number}} Delta
 */

/** Most bytes that are handed on at once. */
const PIECE = 2 ** 20;

/**
 * The checkpoint with products added to its tensors.
 * @param {Checkpoint} checkpoint
 * @param {Delta[]} deltas
 * @returns {Checkpoint}
 */
export function withAdapters(checkpoint, deltas) {
  if (checkpoint.format !== 'safetensors' && checkpoint.format !== 'pytorch')
    fail(
      'unsupported',
      `adapters are added to safetensors and PyTorch checkpoints only, this one is a ${checkpoint.format} file`,
    );
  /** @type {Map<string, Delta[]>} */
  const byTensor = new Map();
  for (const delta of deltas) {
    const tensor = tensorOf(delta, checkpoint.tensors);
    checkShapes(delta, tensor);
    byTensor.set(tensor.name, [...(byTensor.get(tensor.name) ?? []), delta]);
  }
  return {
    ...checkpoint,
    tensors: checkpoint.tensors.map((t) => (byTensor.has(t.name) ? { ...t, bytes: 4 * t.shape[0] * t.shape[1] } : t)),
    stream: (sink) => checkpoint.stream(addingSink(sink, byTensor)),
  };
}

/**
 * The tensor of the checkpoint that holds a module's weight. A file may name it with or without the prefix of the whole
 * model, such as `transformer.` or `model.`.
 * @param {Delta} delta
 * @param {TensorSource[]} tensors
 * @returns {TensorSource}
 */
function tensorOf({ name, where }, tensors) {
  const full = `${name}.weight`;
  const weights = tensors.filter((t) => t.covers.length);
  const found =
    weights.find((t) => t.name === full) ??
    weights.find((t) => full.endsWith(`.${t.name}`)) ??
    weights.find((t) => t.name.endsWith(`.${full}`));
  return found ?? fail('unknown-tensor', `${where}: the model has no tensor ${full}`);
}

/**
 * @param {Delta} delta
 * @param {TensorSource} tensor
 */
function checkShapes({ name, where, a, b }, { shape, layout }) {
  const [rows, cols] = layout === 'cols' ? [shape[1], shape[0]] : shape;
  if (shape.length !== 2 || b.shape[0] !== rows || a.shape[1] !== cols)
    fail(
      'bad-shape',
      `${where}: ${name}: lora_B is ${shapeText(b.shape)} and lora_A ${shapeText(a.shape)}, ` +
        `expected [${rows}, r] and [r, ${cols}]`,
    );
}

/**
 * A sink that adds the products to the tensors on their way to another one.
 * @param {import('./source.js').TensorSink} sink
 * @param {Map<string, Delta[]>} byTensor
 * @returns {import('./source.js').TensorSink}
 */
function addingSink(sink, byTensor) {
  /** @type {Float32Array | null} */
  let data = null;
  let at = 0;
  let dtype = '';
  return {
    begin(t) {
      if (!byTensor.has(t.name)) return sink.begin(t);
      data = new Float32Array(t.shape[0] * t.shape[1]);
      at = 0;
      dtype = t.dtype;
      return sink.begin({ ...t, dtype: 'f32' });
    },
    write(view) {
      if (!data) return sink.write(view);
      decodeFloats(view, dtype, data, at);
      at += view.length / (dtype === 'f32' ? 4 : 2);
    },
    async end(t) {
      if (data) {
        const whole = data;
        data = null;
        addAll(whole, byTensor.get(t.name) ?? [], t);
        const bytes = new Uint8Array(whole.buffer);
        for (let from = 0; from < bytes.length; from += PIECE) await sink.write(bytes.subarray(from, from + PIECE));
      }
      await sink.end(t);
    },
  };
}

/**
 * Add the products to a weight in its stored layout.
 * @param {Float32Array} weight  [out, in], or [in, out] in the layout cols; changed in place
 * @param {Delta[]} deltas
 * @param {TensorSource} tensor
 */
function addAll(weight, deltas, { layout, shape }) {
  const [rows, cols] = layout === 'cols' ? [shape[1], shape[0]] : shape;
  const [stepOut, stepIn] = layout === 'cols' ? [1, rows] : [cols, 1];
  const sum = new Float64Array(cols);
  for (let o = 0; o < rows; o++) {
    sum.fill(0);
    for (const { a, b, factor } of deltas) {
      const [, r] = b.shape;
      for (let k = 0; k < r; k++) {
        const x = factor * b.data[o * r + k];
        for (let i = 0, from = k * cols; i < cols; i++) sum[i] += x * a.data[from + i];
      }
    }
    for (let i = 0, to = o * stepOut; i < cols; i++, to += stepIn) weight[to] += sum[i];
  }
}
