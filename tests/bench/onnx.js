// onnx.js - writes a measured model as an ONNX file for onnxruntime-web, with the weights of models.js (encoders: onnx_encoder.js)
//
//   int8   a matrix product is DynamicQuantizeLinear, MatMulInteger, Cast, Mul: the graph that onnxruntime's
//          quantize_dynamic makes, with int8 weights and one scale for each output row
//   f32    a matrix product is MatMul
//
// Attention is GroupQueryAttention of the domain com.microsoft, with RoPE on pairs of neighbouring values as in GGUF
// files. Inputs: input_ids [1, n] int64; seqlens_k [1] and total_sequence_length [1] int32; past.<layer>.key and
// .value [1, kv heads, n_past, d_head]. Outputs: logits [1, vocab_size] of the last position, and present.* as past.*.
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONTEXT, NORM_EPS, ROPE_THETA, shape, tensors } from './models.js';

// ---- protobuf: https://protobuf.dev/programming-guides/encoding, field numbers of onnx.proto3

export const FLOAT = 1,
  INT64 = 7;
const INT8 = 3,
  INT32 = 6;

const utf8 = new TextEncoder();
/** @param {number} n  a whole number, not negative */
function varint(n) {
  const out = [];
  for (; n >= 128; n = Math.floor(n / 128)) out.push((n % 128) + 128);
  return Uint8Array.from([...out, n]);
}
/** A message is a list of byte arrays, which are joined once, when the file is written. */
const sizeOf = (/** @type {Uint8Array[]} */ parts) => parts.reduce((total, part) => total + part.length, 0);
/** @param {number} field @param {Uint8Array[]} parts */
const nested = (field, parts) => [varint(field * 8 + 2), varint(sizeOf(parts)), ...parts];
/** @param {number} field @param {string} text */
const string = (field, text) => nested(field, [utf8.encode(text)]);
/** @param {number} field @param {number} n */
const integer = (field, n) => [varint(field * 8), varint(n)];
/** @param {number} field @param {number} x */
const float = (field, x) => [varint(field * 8 + 5), new Uint8Array(Float32Array.of(x).buffer)];

/** @param {string} name @param {number} type @param {(number | string)[]} dims  a string names a free dimension */
const valueInfo = (name, type, dims) => [
  ...string(1, name),
  ...nested(
    2,
    nested(1, [
      ...integer(1, type),
      ...nested(
        2,
        dims.flatMap((d) => nested(1, typeof d === 'string' ? string(2, d) : integer(1, d))),
      ),
    ]),
  ),
];

/** @param {string} name @param {number} x */
export const floatAttribute = (name, x) => [...string(1, name), ...float(2, x), ...integer(20, 1)];
/** @param {string} name @param {number} n */
export const integerAttribute = (name, n) => [...string(1, name), ...integer(3, n), ...integer(20, 2)];

// ---- the graph

/** Rows of `data` as int8 with one scale each, the largest magnitude becoming 127; a product wants them as columns. */
function quantizeRows(data, rows, cols) {
  const values = new Int8Array(data.length),
    columns = new Int8Array(data.length),
    scales = new Float32Array(rows);
  for (let r = 0; r < rows; r++) {
    let most = 0;
    for (let c = 0; c < cols; c++) most = Math.max(most, Math.abs(data[r * cols + c]));
    scales[r] = most / 127 || 1;
    for (let c = 0; c < cols; c++)
      columns[c * rows + r] = values[r * cols + c] = Math.round(data[r * cols + c] / scales[r]);
  }
  return { values, columns, scales };
}

/** Nodes, constants, inputs and outputs of a graph while it is built. A value is the name of a node's output. */
export class Graph {
  constructor() {
    /** @type {Uint8Array[]} */
    this.parts = [];
    this.count = 0;
  }

  /**
   * @param {string} op @param {string[]} inputs
   * @param {{ outputs?: string[], attributes?: Uint8Array[][], domain?: string }} [more]
   */
  node(op, inputs, { outputs, attributes = [], domain } = {}) {
    const names = outputs ?? [`v${this.count++}`];
    const parts = [
      ...inputs.flatMap((name) => string(1, name)),
      ...names.flatMap((name) => string(2, name)),
      ...string(3, `n${this.count++}`),
      ...string(4, op),
      ...attributes.flatMap((attribute) => nested(5, attribute)),
      ...(domain ? string(7, domain) : []),
    ];
    this.parts.push(...nested(1, parts));
    return names[0];
  }

  /** @param {string} name @param {number[]} dims @param {Float32Array | Int8Array | BigInt64Array} data */
  constant(name, dims, data) {
    const type = data instanceof Float32Array ? FLOAT : data instanceof Int8Array ? INT8 : INT64;
    this.parts.push(
      ...nested(5, [
        ...dims.flatMap((d) => integer(1, d)),
        ...integer(2, type),
        ...string(8, name),
        ...nested(9, [new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]),
      ]),
    );
    return name;
  }

  input(name, type, dims) {
    this.parts.push(...nested(11, valueInfo(name, type, dims)));
    return name;
  }

  output(name, type, dims) {
    this.parts.push(...nested(12, valueInfo(name, type, dims)));
    return name;
  }

  /**
   * The products of one input with several matrices: [..., cols] to [..., rows] each.
   * @param {'int8' | 'f32'} type @param {string} x
   * @param {{ name: string, shape: number[], data: Float32Array }[]} matrices
   */
  products(type, x, matrices) {
    const quantized = type === 'int8' ? ['x', 'scale', 'zero'].map((part) => `${matrices[0].name}.${part}`) : [];
    if (type === 'int8') this.node('DynamicQuantizeLinear', [x], { outputs: quantized });
    return matrices.map(({ name, shape: [rows, cols], data }) => {
      if (type === 'f32') {
        const columns = new Float32Array(data.length);
        for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) columns[c * rows + r] = data[r * cols + c];
        return this.node('MatMul', [x, this.constant(`${name}.t`, [cols, rows], columns)]);
      }
      const { columns, scales } = quantizeRows(data, rows, cols);
      const sums = this.node('MatMulInteger', [
        quantized[0],
        this.constant(`${name}.t`, [cols, rows], columns),
        quantized[2],
      ]);
      const real = this.node('Cast', [sums], { attributes: [integerAttribute('to', FLOAT)] });
      const scale = this.node('Mul', [quantized[1], this.constant(`${name}.scales`, [rows], scales)]);
      return this.node('Mul', [real, scale]);
    });
  }

  /** The file. @param {string} name */
  file(name) {
    const opset = (/** @type {string} */ domain, /** @type {number} */ version) =>
      nested(8, [...(domain ? string(1, domain) : []), ...integer(2, version)]);
    return Buffer.concat([
      ...integer(1, 8), // the IR version of ONNX 1.12
      ...nested(7, [...string(2, name), ...this.parts]),
      ...opset('', 17),
      ...opset('com.microsoft', 1),
    ]);
  }
}

/**
 * @param {keyof import('./models.js').SIZES} name
 * @param {'int8' | 'f32'} type
 * @returns {Uint8Array} the file
 */
function model(name, type) {
  const s = shape(name),
    { dModel: d, dHead, nLayers, nHeads, nKvHeads, vocabSize } = s;
  const weights = new Map(tensors(s, 'f32').map((tensor) => [tensor.name, tensor]));
  const graph = new Graph();

  const products = (x, names) =>
    graph.products(
      type,
      x,
      names.map((weight) => weights.get(weight)),
    );
  const norm = (x, weight) =>
    graph.node('SimplifiedLayerNormalization', [x, graph.constant(weight, [d], weights.get(weight).data)], {
      attributes: [floatAttribute('epsilon', NORM_EPS)],
    });

  const ids = graph.input('input_ids', INT64, [1, 'n']);
  const seqlens = graph.input('seqlens_k', INT32, [1]),
    total = graph.input('total_sequence_length', INT32, [1]);
  const angles = (/** @type {(angle: number) => number} */ f) =>
    Float32Array.from({ length: (CONTEXT * dHead) / 2 }, (_, i) => {
      const half = dHead / 2,
        pair = i % half;
      return f(Math.floor(i / half) * ROPE_THETA ** (-pair / half));
    });
  const cos = graph.constant('cos', [CONTEXT, dHead / 2], angles(Math.cos)),
    sin = graph.constant('sin', [CONTEXT, dHead / 2], angles(Math.sin));

  const embedding = 'token_embd.weight',
    { data: table } = weights.get(embedding);
  let x;
  if (type === 'int8') {
    const { values, scales } = quantizeRows(table, vocabSize, d);
    const rows = graph.node('Gather', [graph.constant(embedding, [vocabSize, d], values), ids]);
    const real = graph.node('Cast', [rows], { attributes: [integerAttribute('to', FLOAT)] });
    const scale = graph.node('Gather', [graph.constant(`${embedding}.scales`, [vocabSize, 1], scales), ids]);
    x = graph.node('Mul', [real, scale]);
  } else x = graph.node('Gather', [graph.constant(embedding, [vocabSize, d], table), ids]);

  for (let l = 0; l < nLayers; l++) {
    const part = (/** @type {string} */ which) => `blk.${l}.${which}.weight`;
    const cache = (/** @type {string} */ time, /** @type {string} */ which) => `${time}.${l}.${which}`;
    const dims = [1, nKvHeads, 'n_past', dHead],
      dimsAfter = [1, nKvHeads, 'n_total', dHead];
    const [q, k, v] = products(norm(x, part('attn_norm')), ['attn_q', 'attn_k', 'attn_v'].map(part));
    const past = ['key', 'value'].map((which) => graph.input(cache('past', which), FLOAT, dims));
    const present = ['key', 'value'].map((which) => graph.output(cache('present', which), FLOAT, dimsAfter));
    const attended = graph.node('GroupQueryAttention', [q, k, v, ...past, seqlens, total, cos, sin], {
      domain: 'com.microsoft',
      outputs: [`attended.${l}`, ...present],
      attributes: [
        integerAttribute('num_heads', nHeads),
        integerAttribute('kv_num_heads', nKvHeads),
        integerAttribute('do_rotary', 1),
        integerAttribute('rotary_interleaved', 1),
      ],
    });
    x = graph.node('Add', [x, products(attended, [part('attn_output')])[0]]);
    const [gate, up] = products(norm(x, part('ffn_norm')), ['ffn_gate', 'ffn_up'].map(part));
    const silu = graph.node('Mul', [gate, graph.node('Sigmoid', [gate])]);
    x = graph.node('Add', [x, products(graph.node('Mul', [silu, up]), [part('ffn_down')])[0]]);
  }
  const last = graph.node('Gather', [x, graph.constant('last', [], BigInt64Array.of(-1n))], {
    attributes: [integerAttribute('axis', 1)],
  });
  const [logits] = products(norm(last, 'output_norm.weight'), [embedding]);
  graph.node('Identity', [logits], { outputs: [graph.output('logits', FLOAT, [1, vocabSize])] });

  return graph.file(name);
}

/** How onnxruntime-web stores and multiplies weights of a type that the other engines read from a GGUF file. */
export const ONNX_TYPES = { q8_0: 'int8', f32: 'f32' };

/**
 * The model's file, which is written when it is missing.
 * @param {string} folder @param {keyof import('./models.js').SIZES} name @param {keyof typeof ONNX_TYPES} dtype
 * @returns {string} its name in the folder
 */
export function onnxFile(folder, name, dtype) {
  const file = `llama-${name}-${ONNX_TYPES[dtype]}.onnx`;
  if (existsSync(join(folder, file))) return file;
  mkdirSync(folder, { recursive: true });
  const part = join(folder, `${file}.${process.pid}.part`); // renamed when it is complete
  writeFileSync(part, model(name, ONNX_TYPES[dtype]));
  renameSync(part, join(folder, file));
  return file;
}
