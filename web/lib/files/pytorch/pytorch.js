// pytorch.js - reads files of torch.save: a zip archive with a pickle and the bytes of each storage
//
//   NAME/data.pkl | NAME/byteorder | NAME/data/0 | NAME/data/1 | ... | NAME/version | central directory
//
// Entries are stored, not compressed. torch.save writes their sizes behind them, so the size of a storage comes from
// the pickle, and the central directory is compared at the end. The archive is read once from front to back, like all
// formats here: a storage is delivered when it arrives, tensor by tensor.
import { fail, show } from '../../base/errors.js';
import { remembered } from '../../base/lazy_value.js';
import { ByteReader } from '../bytes/chunks.js';
import { Unpickler } from './pickle.js';
import { pickleLength } from './pickle_opcodes.js';
import { PythonObject } from './python_objects.js';
import { savedConfig, stateDictOf } from './torch_saved.js';
import { Tensor, torchMeanings } from './torch_values.js';
import { Archive } from './zip.js';

/** @import { Entry, TensorSource } from '../../engine/config/tensor_plan.js' */
/** @import { Storage } from './torch_values.js' */

/** Longest pickle of a checkpoint, in bytes. */
const MAX_PICKLE = 1 << 26;
/** Bytes that are converted or gathered at a time. */
const PIECE = 1 << 18;

/**
 * The head of a file of torch.save.
 * @typedef {object} TorchFile
 * @property {Map<unknown, unknown>} dict  the state dict
 * @property {Record<string, any> | null} config  the configuration beside it
 * @property {boolean} asksActivation  neither the configuration nor the names tell the kind of GELU
 * @property {Map<string, Storage>} storages  by key
 * @property {Archive} archive  behind the pickle
 * @property {string} folder  name of the folder that all entries are in
 */

/**
 * Reads the pickle of a file and finds the state dict in it.
 * @param {ByteReader} r  at the start of the file; afterwards behind the pickle
 * @returns {Promise<TorchFile>}
 */
export async function readTorch(r) {
  const archive = new Archive(r);
  const local = await archive.next();
  if (local && /(^|\/)(code|ts_code|constants\.pkl|\.data\/ts_code)(\/|$)/.test(local.name))
    fail('unsupported', `${r.name}: this is a TorchScript archive: save model.state_dict() with torch.save`);
  if (local && /\.npy$/.test(local.name))
    fail('unsupported', `${r.name}: arrays of NumPy (npz): save them as safetensors, safetensors.numpy.save_file`);
  if (local && /^(metadata|config)\.json$|\.weights\.h5$/.test(local.name))
    fail('unsupported', `${r.name}: a file of Keras: save the weights as safetensors`);
  if (!local?.name.endsWith('/data.pkl'))
    return fail(
      'unsupported',
      `${r.name}: a zip archive that begins with ${show(local?.name ?? 'nothing')}; one of torch.save begins with ` +
        'data.pkl: save model.state_dict() with torch.save',
    );
  const folder = local.name.slice(0, -'data.pkl'.length);
  const lexed = { at: 0 };
  let length = 0;
  for (let n = 1 << 16; !length; n *= 4) {
    if (n > 4 * MAX_PICKLE) archive.refuse(`the pickle is longer than ${MAX_PICKLE} bytes`);
    const bytes = await r.peek(n);
    length = pickleLength(bytes, r.name, lexed);
    if (!length && bytes.length < n) r.failTruncated(bytes.length + 1, bytes.length, 'the pickle');
  }
  if (local.size !== null && local.size !== length)
    archive.refuse(`data.pkl has ${local.size} bytes, its pickle ${length}`);
  const bytes = await r.take(length, 'the pickle');
  /** @type {Map<string, Storage>} */
  const storages = new Map();
  const root = new Unpickler(bytes, r.name, torchMeanings(r.name, storages)).run();
  await archive.end(local, length);
  const { dict, saved } = stateDictOf(root, r.name);
  return { dict, ...savedConfig(saved), storages, archive, folder };
}

/**
 * The tensors of a state dict as a header would list them. Doubles are delivered as f32.
 * @param {Map<unknown, unknown>} dict
 * @param {number} file  its index
 * @param {string} where  file name, for messages
 * @returns {Entry[]}
 */
export function torchEntries(dict, file, where) {
  /** @type {Entry[]} */
  const entries = [];
  for (const [name, tensor] of dict) {
    if (tensor instanceof PythonObject && /^torch/.test(tensor.className))
      fail('unsupported', `${where}: ${show(name)} is of the class ${tensor.className}, expected a tensor`);
    if (!(tensor instanceof Tensor)) continue;
    if (typeof name !== 'string') fail('bad-header', `${where}: a tensor has the name ${show(name)}, expected a text`);
    const { dtype, itemBytes } = tensor.storage;
    const isDouble = dtype === 'f64';
    entries.push({
      name,
      dtype: isDouble ? 'f32' : dtype,
      shape: tensor.shape,
      file,
      offset: entries.length,
      bytes: tensor.numel * (isDouble ? 4 : itemBytes),
      tensor,
    });
  }
  return entries;
}

/**
 * Delivers the tensors of a file in the order of its archive.
 * @param {TorchFile} torch
 * @param {TensorSource[]} tensors  of this file
 * @param {(t: TensorSource, r: ByteReader) => Promise<void>} give  consumes the bytes of one tensor
 */
export async function deliverTorch({ archive, folder, storages }, tensors, give) {
  const { r } = archive;
  /** @type {Map<string, TensorSource[]>} */
  const byKey = new Map();
  for (const t of tensors) {
    const { key } = /** @type {Tensor} */ (t.tensor).storage;
    if (t.covers.length || t.stored) remembered(byKey, key, () => []).push(t);
  }
  const waiting = new Set(storages.keys());
  for (let local = await archive.next(); local; local = await archive.next()) {
    if (!local.name.startsWith(folder))
      archive.refuse(`the archive has ${show(local.name)}, expected a name in ${show(folder)}`);
    const name = local.name.slice(folder.length);
    if (!name.startsWith('data/')) {
      const text = new TextDecoder().decode(await archive.record(local));
      if (name === 'byteorder' && text !== 'little')
        fail('unsupported', `${r.name}: its numbers are stored in the byte order ${show(text)}, expected "little"`);
      continue;
    }
    const key = name.slice('data/'.length);
    const storage = waiting.delete(key) ? /** @type {Storage} */ (storages.get(key)) : null;
    if (!storage) return archive.refuse(`no tensor has the storage ${show(name)}`);
    if (local.size !== null && local.size !== storage.bytes)
      archive.refuse(`${name} has ${local.size} bytes, the pickle gives it ${storage.bytes}`);
    await deliverStorage(r, storage, byKey.get(key) ?? [], give);
    await archive.end(local, storage.bytes);
  }
  const [missing] = waiting;
  if (missing !== undefined) fail('missing-tensor', `${r.name}: the archive has no data/${missing}`);
  await archive.directory();
}

/**
 * Delivers the tensors of one storage. A tensor whose elements follow each other is passed on while it arrives; one of
 * another order, or that shares elements with another one, is first collected in memory.
 * @param {ByteReader} r  at the storage; afterwards behind it
 * @param {Storage} storage
 * @param {TensorSource[]} tensors
 * @param {(t: TensorSource, r: ByteReader) => Promise<void>} give
 */
async function deliverStorage(r, { bytes }, tensors, give) {
  const start = r.pos;
  const views = tensors
    .map((t) => {
      const { storage, offset, span } = /** @type {Tensor} */ (t.tensor);
      return { t, from: offset * storage.itemBytes, to: (offset + span) * storage.itemBytes };
    })
    .sort((a, b) => a.from - b.from || a.to - b.to);
  for (let i = 0; i < views.length;) {
    const { from } = views[i];
    let { to } = views[i];
    let end = i + 1;
    for (; end < views.length && views[end].from < to; end++) to = Math.max(to, views[end].to);
    await r.skip(start + from - r.pos, views[i].t.name);
    const [{ t }] = views.slice(i);
    const tensor = /** @type {Tensor} */ (t.tensor);
    if (end === i + 1 && tensor.isContiguous) await give(t, tensor.storage.dtype === 'f64' ? singles(r, t) : r);
    else {
      const held = await collect(r, to - from, t.name);
      for (const view of views.slice(i, end)) {
        const { storage } = /** @type {Tensor} */ (view.t.tensor);
        const part = gathered(held.subarray(view.from - from), view.t, r.name);
        await give(view.t, storage.dtype === 'f64' ? singles(part, view.t) : part);
      }
    }
    i = end;
  }
  await r.skip(start + bytes - r.pos, 'a storage');
}

/**
 * Memory for n bytes.
 * @param {number} n
 * @param {string} refusal  the message where there is none
 */
function roomFor(n, refusal) {
  try {
    return new Uint8Array(n);
  } catch (error) {
    return fail('out-of-memory', refusal, error);
  }
}

/**
 * The next bytes of a file, collected in memory.
 * @param {ByteReader} r
 * @param {number} n
 * @param {string} what
 */
async function collect(r, n, what) {
  if (r.total === null) return (await r.take(n, what)).slice(); // the array grows with what arrives
  if (r.pos + n > r.total) r.failTruncated(n, r.total - r.pos, what);
  const held = roomFor(n, `${r.name}: there is no room for the ${n} bytes of ${what}`);
  let at = 0;
  const put = (/** @type {Uint8Array} */ view) => {
    held.set(view, at);
    at += view.length;
  };
  await r.pipe(n, put, 1, what);
  return held;
}

/**
 * A reader of the elements of a tensor in the order of its shape.
 * @param {Uint8Array} held  from its first element on
 * @param {TensorSource} t
 * @param {string} name  of the file
 */
function gathered(held, t, name) {
  const { shape, strides, storage, numel } = /** @type {Tensor} */ (t.tensor);
  const { itemBytes } = storage;
  function* pieces() {
    const index = shape.map(() => 0);
    let element = 0;
    const inner = shape.length - 1;
    const perPiece = PIECE / itemBytes;
    const out = new Uint8Array(Math.min(PIECE, numel * itemBytes));
    for (let done = 0; done < numel;) {
      const n = Math.min(perPiece, numel - done);
      for (let i = 0; i < n; i++) {
        const from = element * itemBytes;
        for (let b = 0; b < itemBytes; b++) out[i * itemBytes + b] = held[from + b];
        for (let d = inner; d >= 0; d--) {
          element += strides[d];
          if (++index[d] < shape[d]) break;
          element -= shape[d] * strides[d];
          index[d] = 0;
        }
      }
      done += n;
      yield out.subarray(0, n * itemBytes);
    }
  }
  return memoryReader(pieces(), name, numel * itemBytes);
}

/**
 * A reader of doubles as f32.
 * @param {ByteReader} r  at the doubles
 * @param {TensorSource} t
 */
function singles(r, t) {
  const { numel } = /** @type {Tensor} */ (t.tensor);
  async function* pieces() {
    const out = new Float32Array(Math.min(PIECE / 8, numel));
    const bytes = new Uint8Array(out.buffer);
    for (let left = numel; left > 0;) {
      if (r.ready < 8) await r.need(8, t.name);
      const n = Math.min(left, Math.floor(r.ready / 8), PIECE / 8);
      const b = r.takeReady(8 * n);
      const view = new DataView(b.buffer, b.byteOffset, b.length);
      for (let i = 0; i < n; i++) out[i] = view.getFloat64(8 * i, true);
      left -= n;
      yield bytes.subarray(0, 4 * n);
    }
  }
  return memoryReader(pieces(), r.name, 4 * numel);
}

/**
 * A reader of computed chunks, each valid until the next one is requested.
 * @param {Iterator<Uint8Array> | AsyncIterator<Uint8Array>} chunks
 * @param {string} name
 * @param {number} total
 */
const memoryReader = (chunks, name, total) =>
  new ByteReader(/** @type {any} */ ({ next: async () => chunks.next() }), { name, total, reused: true });
