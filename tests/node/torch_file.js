// torch_file.js - writes files as torch.save does, for tests: any pickle, any entries

const utf8 = new TextEncoder();
const u16 = (n) => [n & 255, (n >> 8) & 255];
const u32 = (n) => [n & 255, (n >>> 8) & 255, (n >>> 16) & 255, (n >>> 24) & 255];

/**
 * Opcodes of a pickle of protocol 2.
 * @type {Record<string, (...args: any[]) => number[]>}
 */
export const op = {
  proto: () => [0x80, 2],
  stop: () => [0x2e],
  global: (module, name) => [0x63, ...utf8.encode(`${module}\n${name}\n`)],
  text: (s) => [0x58, ...u32(utf8.encode(s).length), ...utf8.encode(s)],
  int: (n) => [0x4a, ...u32(n)],
  bool: (b) => [b ? 0x88 : 0x89],
  none: () => [0x4e],
  mark: () => [0x28],
  tuple: (...values) => [0x28, ...values.flat(), 0x74],
  dict: (pairs) => [0x7d, 0x28, ...pairs.flat(2), 0x75],
  reduce: () => [0x52],
  persid: () => [0x51],
};

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
      ...u32(0x04034b50),
      ...u16(0),
      ...u16(behind ? 0x808 : 0x800),
      ...u16(method),
      ...u32(0),
      ...told.flatMap(u32),
      ...u16(path.length),
      ...u16(4 + pad),
      ...path,
      0x46,
      0x42,
      ...u16(pad),
      ...new Array(pad).fill(90),
    ]);
    push([...bytes]);
    if (behind && size) push([...u32(0x08074b50), ...u32(0), ...u32(size), ...u32(size)]);
    const { size: listed = size, start: place = start } = wrong?.(name) ?? {};
    central.push([
      ...u32(0x02014b50),
      ...u16(0),
      ...u16(0),
      ...u16(behind ? 0x808 : 0x800),
      ...u16(method),
      ...u32(0),
      ...u32(0),
      ...u32(listed),
      ...u32(listed),
      ...u16(path.length),
      ...u16(0),
      ...u16(0),
      ...u16(0),
      ...u16(0),
      ...u32(0),
      ...u32(place),
      ...path,
    ]);
  }
  const directory = central.flat();
  const end = [
    ...u32(0x06054b50),
    ...u16(0),
    ...u16(0),
    ...u16(entries.length),
    ...u16(entries.length),
    ...u32(directory.length),
    ...u32(at),
    ...u16(0),
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
