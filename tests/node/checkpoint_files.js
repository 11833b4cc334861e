// checkpoint_files.js - writes checkpoints for tests: safetensors, GGUF, the .bin of llama2.c, and what torch.save writes
import { encode, ggufHeader } from '../../web/lib/files/gguf/write_gguf.js';
import { floats, numbers } from './random_values.js';

export * from '../../web/lib/files/gguf/write_gguf.js';

// ---- safetensors

/**
 * A safetensors file with any header.
 * @param {object | string} header
 * @param {Uint8Array[]} [data]
 */
export function withHeader(header, data = []) {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return new Uint8Array(Buffer.concat([size, text, ...data]));
}

/**
 * A safetensors file: the tensors in the given order without holes, the header padded to eight bytes like that of the
 * reference implementation.
 * @param {{name: string, shape: number[], dtype?: string, data: Float32Array | Uint8Array}[] | Record<string,
 *   {shape: number[], dtype?: string, data: Float32Array | Uint8Array}>} tensors  F32 without a dtype; bytes are taken
 *   as they are
 * @param {Record<string, string>} [metadata]
 */
export function safetensors(tensors, metadata) {
  const header = metadata ? { __metadata__: metadata } : {};
  const list = Array.isArray(tensors) ? tensors.map((tensor) => [tensor.name, tensor]) : Object.entries(tensors);
  let at = 0;
  const blobs = list.map(([name, { dtype = 'F32', shape, data }]) => {
    const bytes = data instanceof Uint8Array ? data : encode(dtype, data);
    header[name] = { dtype, shape, data_offsets: [at, (at += bytes.length)] };
    return bytes;
  });
  const text = JSON.stringify(header);
  return withHeader(text + ' '.repeat(-Buffer.byteLength(text) & 7), blobs);
}

// ---- GGUF

/**
 * The bytes of a GGUF file.
 * @param {Record<string, import('../../web/lib/files/gguf/write_gguf.js').Value>} meta
 * @param {any[]} tensors  { name, shape, type, data }
 * @returns {Uint8Array}
 */
export function writeGguf(meta, tensors) {
  const blobs = tensors.map(({ type, data }) => (data instanceof Uint8Array ? data : encode(type, data)));
  const sized = tensors.map((tensor, i) => ({ ...tensor, bytes: blobs[i].length }));
  const { header, padding } = ggufHeader(meta, sized);
  const parts = blobs.flatMap((blob, i) => [blob, new Uint8Array(padding[i])]);
  return new Uint8Array(Buffer.concat([header, ...parts]));
}

// ---- llama2.c

/**
 * llama2.c: d 8, ff 12, 2 layers, 2 heads, 1 kv head, 6 tokens, 16 positions.
 * @param {0|1|2} version
 * @param {boolean} tied
 */
export function llama2cFile(version, tied = true) {
  const [d, ff, L, V, ctx, kv] = [8, 12, 2, 6, 16, 4];
  const head = Buffer.alloc(version ? 256 : 28);
  const sizes = [d, ff, L, 2, 1, version === 0 && !tied ? -V : V, ctx];
  if (version) {
    head.writeUInt32LE(0x616b3432, 0);
    head.writeInt32LE(version, 4);
    head[36] = tied ? 1 : 0;
  }
  if (version === 2) head.writeInt32LE(4, 37);
  sizes.forEach((n, i) => head.writeInt32LE(n, (version ? 8 : 0) + 4 * i));
  let seed = 0;
  const raw = (n) => Buffer.from(floats(n, ++seed).buffer);
  const matrix = (n) =>
    version === 2
      ? Buffer.concat([Buffer.from(Int8Array.from(numbers(n, 255, ++seed), (x) => x - 127).buffer), raw(n / 4)])
      : raw(n);
  const each = (make, ...sizes) => sizes.flatMap((n) => Array.from({ length: L }, () => make(n)));
  const parts =
    version === 0
      ? [
          matrix(V * d),
          ...each(raw, d),
          ...each(matrix, d * d, kv * d, kv * d, d * d),
          ...each(raw, d),
          ...each(matrix, ff * d, d * ff, ff * d),
          raw(d),
          raw(ctx * 2),
          raw(ctx * 2),
        ]
      : [
          ...each(raw, d, d),
          raw(d),
          matrix(V * d),
          ...each(matrix, d * d, kv * d, kv * d, d * d, ff * d, d * ff, ff * d),
        ];
  if (!tied) parts.push(matrix(V * d));
  return new Uint8Array(Buffer.concat([head, ...parts]));
}

// ---- PyTorch

/** An entry of added_tokens in a tokenizer.json. @param {number} id @param {string} content */
export const specialToken = (id, content) => ({
  id,
  content,
  special: true,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
});

const utf8 = new TextEncoder();
const half = (n) => [n & 255, (n >> 8) & 255];
const word = (n) => [n & 255, (n >>> 8) & 255, (n >>> 16) & 255, (n >>> 24) & 255];

/**
 * Opcodes of a pickle of protocol 2.
 * @type {Record<string, (...args: any[]) => number[]>}
 */
export const op = {
  proto: () => [0x80, 2],
  stop: () => [0x2e],
  global: (module, name) => [0x63, ...utf8.encode(`${module}\n${name}\n`)],
  text: (s) => [0x58, ...word(utf8.encode(s).length), ...utf8.encode(s)],
  int: (n) => [0x4a, ...word(n)],
  bool: (b) => [b ? 0x88 : 0x89],
  float: (x) => [0x47, ...new Uint8Array(Float64Array.of(x).buffer).reverse()],
  none: () => [0x4e],
  mark: () => [0x28],
  tuple: (...values) => [0x28, ...values.flat(), 0x74],
  dict: (pairs) => [0x7d, 0x28, ...pairs.flat(2), 0x75],
  reduce: () => [0x52],
  persid: () => [0x51],
};

/**
 * The opcodes of plain data.
 * @param {any} value
 * @returns {number[]}
 */
export function plainOps(value) {
  if (value === null) return op.none();
  if (typeof value === 'string') return op.text(value);
  if (typeof value === 'boolean') return op.bool(value);
  if (typeof value === 'number') return Number.isInteger(value) ? op.int(value) : op.float(value);
  return op.dict(Object.entries(value).map(([key, each]) => [op.text(key), plainOps(each)]));
}

/**
 * The opcodes of a tensor.
 * @param {{key: string, shape: number[], strides?: number[], offset?: number, storage?: string, numel: number}} tensor
 * @returns {number[]}
 */
export function tensorOps({ key, shape, strides, offset = 0, storage = 'FloatStorage', numel }) {
  const steps = strides ?? shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1));
  const ints = (list) => op.tuple(...list.map((n) => op.int(n)));
  return [
    ...op.global('torch._utils', '_rebuild_tensor_v2'),
    ...op.tuple(
      [
        ...op.tuple(op.text('storage'), op.global('torch', storage), op.text(key), op.text('cpu'), op.int(numel)),
        ...op.persid(),
      ],
      op.int(offset),
      ints(shape),
      ints(steps),
      op.bool(false),
      [...op.global('collections', 'OrderedDict'), 0x29, ...op.reduce()],
    ),
    ...op.reduce(),
  ];
}

/**
 * A pickle of some opcodes.
 * @param {number[]} ops
 */
export const pickle = (ops) => Uint8Array.from([...op.proto(), ...ops, ...op.stop()]);

/**
 * A zip archive with stored entries.
 * @param {[string, Uint8Array][]} entries
 * @param {{behind?: boolean, method?: number, folder?: string, wrong?: (name: string) => object}} [options]  behind:
 *   sizes stand behind the entries, as torch.save writes them
 */
export function archive(entries, { behind = true, method = 0, folder = 'archive', wrong } = {}) {
  const parts = [];
  const central = [];
  let at = 0;
  const push = (bytes) => {
    parts.push(bytes);
    at += bytes.length;
  };
  for (const [name, bytes] of entries) {
    const path = [...utf8.encode(`${folder}/${name}`)];
    const size = bytes.length;
    const start = at;
    const pad = (64 - ((at + 30 + path.length + 4) % 64)) % 64;
    const told = behind ? [0, 0, 0] : [0, size, size];
    push([
      ...word(0x04034b50),
      ...half(0),
      ...half(behind ? 0x808 : 0x800),
      ...half(method),
      ...word(0),
      ...told.flatMap(word),
      ...half(path.length),
      ...half(4 + pad),
      ...path,
      0x46,
      0x42,
      ...half(pad),
      ...new Array(pad).fill(90),
    ]);
    push([...bytes]);
    if (behind && size) push([...word(0x08074b50), ...word(0), ...word(size), ...word(size)]);
    const { size: listed = size, start: place = start } = wrong?.(name) ?? {};
    central.push([
      ...word(0x02014b50),
      ...half(0),
      ...half(0),
      ...half(behind ? 0x808 : 0x800),
      ...half(method),
      ...word(0),
      ...word(0),
      ...word(listed),
      ...word(listed),
      ...half(path.length),
      ...half(0),
      ...half(0),
      ...half(0),
      ...half(0),
      ...word(0),
      ...word(place),
      ...path,
    ]);
  }
  const directory = central.flat();
  const end = [
    ...word(0x06054b50),
    ...half(0),
    ...half(0),
    ...half(entries.length),
    ...half(entries.length),
    ...word(directory.length),
    ...word(at),
    ...half(0),
  ];
  return Uint8Array.from([...parts.flat(), ...directory, ...end]);
}

/**
 * A file of torch.save with a state dict of f32 tensors.
 * @param {{name: string, shape: number[], data: Float32Array}[]} tensors
 * @param {{entries?: [string, Uint8Array][], options?: object, wrap?: (dict: number[]) => number[]}} [more]  entries:
 *   between the pickle and the data, as newer versions of PyTorch write them; wrap: what is saved instead of the dict
 */
export function torchFile(tensors, { entries = [], options, wrap = (dict) => dict } = {}) {
  const pairs = tensors.map(({ name, shape, data }, i) => [
    op.text(name),
    tensorOps({ key: String(i), shape, numel: data.length }),
  ]);
  return archive(
    [
      ['data.pkl', pickle(wrap(op.dict(pairs)))],
      ...entries,
      ...tensors.map(({ data }, i) => [`data/${i}`, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]),
      ['version', utf8.encode('3\n')],
    ],
    options,
  );
}
