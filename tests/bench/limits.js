// limits.js - measures how fast one thread of this browser (or Node) can read memory, with a simple loop that is
// written as WebAssembly bytes
//
//   (func (export "read") (param $at i32) (param $end i32) (result i32)
//     loop: s0 += load(at) ... s7 += load(at + 112); at += 128; again while at < end)

const v128 = 0x7b,
  i32 = 0x7f,
  ACCUMULATORS = 8;

/** @param {number} n */
const leb = (n) => {
  const out = [];
  do {
    out.push((n & 127) | (n > 127 ? 128 : 0));
    n >>>= 7;
  } while (n);
  return out;
};
/**
 * @param {number} id
 * @param {number[]} body
 */
const section = (id, body) => [id, ...leb(body.length), ...body];
const get = (/** @type {number} */ local) => [0x20, local],
  set = (/** @type {number} */ local) => [0x21, local];
const load = (/** @type {number} */ offset) => [...get(0), 0xfd, 0, 4, ...leb(offset)];
const add = [0xfd, 0xae, 1]; // i32x4.add

function reader() {
  const turns = Array.from({ length: ACCUMULATORS }, (_, i) => [
    ...get(2 + i),
    ...load(16 * i),
    ...add,
    ...set(2 + i),
  ]).flat();
  const sum = Array.from({ length: ACCUMULATORS - 1 }, (_, i) => [...get(3 + i), ...add]).flat();
  const body = [
    1,
    ACCUMULATORS,
    v128,
    0x03,
    0x40,
    ...turns,
    ...get(0),
    0x41,
    ...[128, 1],
    0x6a,
    0x22,
    0,
    ...get(1),
    0x49,
    0x0d,
    0,
    0x0b,
    ...get(2),
    ...sum,
    0xfd,
    0x1b,
    0,
    0x0b,
  ];
  return new Uint8Array([
    0,
    97,
    115,
    109,
    1,
    0,
    0,
    0,
    ...section(1, [1, 0x60, 2, i32, i32, 1, i32]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [2, 4, ...new TextEncoder().encode('read'), 0, 0, 6, ...new TextEncoder().encode('memory'), 2, 0]),
    ...section(10, [1, ...leb(body.length), ...body]),
  ]);
}

/**
 * GB/s at which `bytes` of memory can be read repeatedly: the best of many runs, because other programs can only make
 * it slower.
 * @param {number} bytes  a multiple of 128
 */
export function readLimit(bytes) {
  const { read, memory } = /** @type {any} */ (new WebAssembly.Instance(new WebAssembly.Module(reader())).exports);
  memory.grow(Math.ceil(bytes / 65536));
  new Uint8Array(memory.buffer).fill(1);
  const batch = Math.max(1, Math.ceil(2 ** 24 / bytes));
  let best = 0;
  for (let end = performance.now() + 800, n = 0; n < 20 || performance.now() < end; n++) {
    const start = performance.now();
    for (let i = 0; i < batch; i++) read(0, bytes);
    if (n > 3) best = Math.max(best, ((batch * bytes) / (performance.now() - start)) * 1e-6);
  }
  return best;
}
