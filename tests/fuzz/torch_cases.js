// torch_cases.js - fuzzes files of torch.save whose zip and pickle are whole: only what they say of tensors is wrong
//
// A tensor of such a file is a view of a storage. The same values, computed here element by element, make a safetensors
// file. Where both files are read, the weights must be the same bytes.
import { archive, op, pickle, safetensors, tensorOps } from '../node/checkpoint_files.js';
import { openCheckpoint } from '../../web/lib/files/source.js';

/** @import { Random } from './mutate.js' */
/**
 * A tensor of a file.
 * @typedef {object} View
 * @property {string} name
 * @property {string} key  of its storage
 * @property {string} storage  class of it
 * @property {number} numel  of the storage
 * @property {number} offset  in elements
 * @property {number[]} shape
 * @property {number[]} strides  in elements
 */

/** Storage classes: the type in safetensors, and bytes of an element. @type {Record<string, [string, number]>} */
const STORAGES = {
  FloatStorage: ['F32', 4],
  HalfStorage: ['F16', 2],
  BFloat16Storage: ['BF16', 2],
  DoubleStorage: ['F64', 8],
  LongStorage: ['I64', 8],
  ByteStorage: ['U8', 1],
  ComplexFloatStorage: ['F32', 8],
};
const NUMBERS = [0, 1, 2, 3, 7, 8, 9, 64, 2 ** 16, 2 ** 31 - 1, -1, -(2 ** 31)];

const product = (/** @type {number[]} */ shape) => shape.reduce((n, d) => n * d, 1);
const contiguous = (/** @type {number[]} */ shape) => shape.map((_, i) => product(shape.slice(i + 1)));

/**
 * One change of what the file says of a tensor.
 * @param {Random} r
 * @param {View} view  changed
 * @param {View} other
 */
function change(r, view, other) {
  const axis = r.below(view.shape.length || 1);
  switch (r.below(10)) {
    case 0:
      view.storage = r.of(Object.keys(STORAGES));
      break;
    case 1:
      view.numel = r.below(2) ? view.numel + r.below(5) - 2 : r.of(NUMBERS);
      break;
    case 2:
      view.offset = r.below(2) ? r.below(4) : r.of(NUMBERS);
      break;
    case 3:
      view.shape[axis] = r.of(NUMBERS);
      break;
    case 4:
      view.strides[axis] = r.of(NUMBERS);
      break;
    case 5: // a transposed view
      view.shape.reverse();
      view.strides.reverse();
      break;
    case 6: // columns of a wider matrix
      view.strides = contiguous(view.shape.map((d, i) => (i ? d + 1 + r.below(3) : d)));
      view.numel = product(view.shape.map((d, i) => (i ? d + 3 : d + 1)));
      break;
    case 7: // elements of another tensor
      Object.assign(view, { key: other.key, numel: other.numel, storage: other.storage });
      break;
    case 8:
      if (r.below(2)) (view.shape.push(1), view.strides.push(r.of(NUMBERS)));
      else (view.shape.pop(), r.below(4) && view.strides.pop());
      break;
    default:
      view.key = r.of(['', '0', '../0', 'x', '1e9', other.key]);
  }
}

/**
 * A file of torch.save, and the same tensors as safetensors; null where one of them does not fit into its storage.
 * @param {Random} r
 * @param {Record<string, {shape: number[]}>} header  of a safetensors file
 */
export function torchCase(r, header) {
  const views = Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, { shape }], i) => {
      const own = { shape: [...shape], strides: contiguous(shape), numel: product(shape) };
      return /** @type {View} */ ({ name, key: String(i), storage: 'FloatStorage', offset: 0, ...own });
    });
  if (!r.below(3)) for (const view of views) view.storage = r.of(['HalfStorage', 'DoubleStorage', 'BFloat16Storage']);
  for (let n = r.below(4); n > 0; n--) change(r, r.of(views), r.of(views));
  /** @type {Map<string, Uint8Array>} */
  const stored = new Map();
  for (const { key, storage, numel } of views) {
    const bytes = Math.min(1 << 16, Math.max(0, numel * STORAGES[storage][1]));
    if (!stored.has(key))
      stored.set(
        key,
        Uint8Array.from({ length: bytes }, (_, i) => (i % 4 === 3 ? 60 : r.below(256))),
      );
  }
  const entries = [...stored].map(([key, bytes]) => /** @type {[string, Uint8Array]} */ ([`data/${key}`, bytes]));
  if (!r.below(12)) entries.splice(r.below(entries.length), 1);
  if (!r.below(12)) entries.push(r.of(entries) ?? ['data/0', new Uint8Array(4)]);
  if (!r.below(4)) entries.reverse();
  const pairs = views.map((view) => [op.text(view.name), tensorOps(view)]);
  const torch = archive([['data.pkl', pickle(op.dict(pairs))], ...entries], { behind: r.below(2) > 0 });
  return { torch, plain: plainFile(views, stored) };
}

/**
 * The elements of a view, one after the other.
 * @param {View} view
 * @param {Uint8Array} bytes  of its storage
 * @returns {Uint8Array | null} null: it does not fit
 */
function elements({ storage, numel, offset, shape, strides }, bytes) {
  const size = STORAGES[storage][1];
  const count = product(shape);
  if (bytes.length !== numel * size || shape.length !== strides.length || count < 0 || count > 1 << 16) return null;
  const out = new Uint8Array(count * size);
  for (let i = 0; i < count; i++) {
    let at = offset;
    for (let d = shape.length - 1, left = i; d >= 0; d--) {
      at += (left % shape[d]) * strides[d];
      left = Math.floor(left / shape[d]);
    }
    if (at < 0 || at >= numel) return null;
    out.set(bytes.subarray(at * size, (at + 1) * size), i * size);
  }
  return out;
}

/**
 * @param {View[]} views
 * @param {Map<string, Uint8Array>} stored
 */
function plainFile(views, stored) {
  const tensors = views.map((view) => ({
    name: view.name,
    dtype: STORAGES[view.storage][0],
    shape: view.shape,
    data: elements(view, /** @type {Uint8Array} */ (stored.get(view.key))),
  }));
  return tensors.every(({ data }) => data) ? safetensors(/** @type {any[]} */ (tensors)) : null;
}

/**
 * The weights of a file: bytes by what the engine is told of them.
 * @param {Uint8Array} weights
 * @param {Uint8Array} config
 * @returns {Promise<Record<string, string>>}
 */
async function weightsOf(weights, config) {
  const checkpoint = await openCheckpoint({ weights, config }, {});
  /** @type {Record<string, string>} */
  const found = {};
  let name = '';
  await checkpoint.stream({
    begin({ covers, dtype, layout }) {
      name = `${covers} ${dtype} ${layout}`;
      found[name] = '';
    },
    write: (/** @type {Uint8Array} */ bytes) => {
      found[name] += Buffer.from(bytes).toString('latin1');
    },
    end() {},
  });
  return found;
}

/**
 * Read both files of a case.
 * @param {Record<string, Uint8Array>} files
 * @throws {unknown} what the file of torch.save is refused with
 */
export async function runTorchCase({ 'model.pt': torch, 'config.json': config, 'model.safetensors': plain }) {
  const got = await weightsOf(torch, config);
  const expected = plain ? await weightsOf(plain, config).catch(() => null) : null;
  if (!plain) throw new Error('a tensor that does not fit into its storage was read');
  for (const name of Object.keys(expected ?? {}))
    if (got[name] !== expected?.[name]) throw new Error(`${name}: other bytes than as safetensors`);
}
