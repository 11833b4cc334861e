// pytorch.js - reads files of torch.save: a zip archive with a pickle and the bytes of each storage
//
//   NAME/data.pkl | NAME/byteorder | NAME/data/0 | NAME/data/1 | ... | NAME/version | central directory
//
// Entries are stored, not compressed. torch.save writes their sizes behind them, so the size of a storage comes from
// the pickle, and the central directory is compared at the end. The archive is read once from front to back, like all
// formats here: a storage is delivered when it arrives, tensor by tensor.
import { fail, show } from '../base/errors.js';
import { ByteReader } from './bytes.js';
import { Global, pickleLength, readPickle } from './pickle.js';

/** @typedef {import('./plan.js').Entry} Entry */
/** @typedef {import('./plan.js').TensorSource} TensorSource */

/** Bytes of an element by the name of its storage class, and the type's name: a Dtype where the engine has it. */
const STORAGES = /** @type {Record<string, [bytes: number, dtype: string]>} */ ({
  FloatStorage: [4, 'f32'],
  HalfStorage: [2, 'f16'],
  BFloat16Storage: [2, 'bf16'],
  DoubleStorage: [8, 'f64'],
  LongStorage: [8, 'int64'],
  IntStorage: [4, 'int32'],
  ShortStorage: [2, 'int16'],
  CharStorage: [1, 'int8'],
  ByteStorage: [1, 'uint8'],
  BoolStorage: [1, 'bool'],
});
/** Number formats of torch as values in a pickle; they are read and not used. */
const DTYPES =
  /^torch\.(float(16|32|64)|bfloat16|half|float|double|u?int8|int(16|32|64)|long|int|short|bool|Size|device)$/;

/** Longest pickle of a checkpoint, in bytes. */
const MAX_PICKLE = 1 << 26;
/** Longest of the small records, such as byteorder and version. */
const MAX_RECORD = 1 << 12;
/** Bytes that are converted or gathered at a time. */
const PIECE = 1 << 18;

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const DESCRIPTOR = 0x08074b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;

/** The bytes of one or several tensors. */
export class Storage {
  /**
   * @param {string} key  its name in the archive
   * @param {string} dtype
   * @param {number} itemBytes
   * @param {number} numel  elements
   */
  constructor(key, dtype, itemBytes, numel) {
    this.key = key;
    this.dtype = dtype;
    this.itemBytes = itemBytes;
    this.bytes = numel * itemBytes;
    this.numel = numel;
  }
}

/** A tensor: a view of a storage. */
export class Tensor {
  /**
   * @param {Storage} storage
   * @param {number} offset  of its first element, in elements
   * @param {number[]} shape
   * @param {number[]} strides  in elements
   */
  constructor(storage, offset, shape, strides) {
    this.storage = storage;
    this.offset = offset;
    this.shape = shape;
    this.strides = strides;
  }

  get numel() {
    return this.shape.reduce((n, d) => n * d, 1);
  }

  /** Whether its elements follow each other in the order of its shape. */
  get isContiguous() {
    let next = 1;
    for (let i = this.shape.length - 1; i >= 0; i--) {
      if (this.shape[i] !== 1 && this.strides[i] !== next) return false;
      next *= this.shape[i];
    }
    return true;
  }

  /** Elements from its first to behind its last, which a tensor with elements has. */
  get span() {
    return this.shape.reduce((n, d, i) => n + (d - 1) * this.strides[i], 1);
  }
}

/**
 * Whether a value is a whole number from 0.
 * @param {unknown} v
 * @returns {v is number}
 */
const isCount = (v) => typeof v === 'number' && Number.isSafeInteger(v) && v >= 0;
/**
 * @param {unknown} v
 * @returns {v is number[]}
 */
const isCounts = (v) => Array.isArray(v) && v.length <= 16 && v.every(isCount);

/**
 * The meaning of the globals and persistent ids of a checkpoint.
 * @param {string} where  file name, for messages
 * @param {Map<string, Storage>} storages  filled
 * @returns {import('./pickle.js').Meanings}
 */
function meanings(where, storages) {
  /**
   * @param {string} why
   * @returns {never}
   */
  const refuse = (why) => fail('bad-header', `${where}: the pickle is not valid: ${why}`);
  const tensor = (/** @type {unknown[]} */ [storage, offset, shape, strides, , , metadata]) => {
    if (!(storage instanceof Storage) || !isCount(offset) || !isCounts(shape) || !isCounts(strides))
      return refuse('a tensor has no storage, offset, shape and strides');
    if (shape.length !== strides.length) refuse(`a tensor has the shape ${show(shape)} and strides ${show(strides)}`);
    if (metadata instanceof Map && metadata.size)
      fail('unsupported', `${where}: a tensor has metadata (${show([...metadata.keys()])}), which are not read`);
    const made = new Tensor(storage, offset, shape, strides);
    if (!Number.isSafeInteger(made.numel) || (made.numel && offset + made.span > storage.numel))
      refuse(
        `a tensor of shape ${show(shape)} with strides ${show(strides)} from element ${offset} on ` +
          `does not fit into storage ${storage.key} of ${storage.numel} elements`,
      );
    return made;
  };
  const first = (/** @type {unknown[]} */ [value]) =>
    value instanceof Tensor ? value : refuse(`a parameter holds ${show(value)}, expected a tensor`);
  /** @type {Record<string, Global>} */
  const globals = {
    'collections.OrderedDict': new Global('OrderedDict', ([pairs]) => orderedDict(pairs, refuse)),
    'torch._utils._rebuild_tensor_v2': new Global('_rebuild_tensor_v2', tensor),
    'torch._utils._rebuild_tensor': new Global('_rebuild_tensor', tensor),
    'torch._utils._rebuild_parameter': new Global('_rebuild_parameter', first),
  };
  for (const name of Object.keys(STORAGES)) globals[`torch.${name}`] = new Global(name);
  return {
    global: (name) => {
      if (Object.hasOwn(globals, name)) return globals[name];
      return DTYPES.test(name) ? new Global(name, (args) => args[0]) : null;
    },
    persistent: (id) => storageOf(id, storages, refuse),
  };
}

/**
 * @param {unknown} pairs  absent, or a list of keys and values
 * @param {(why: string) => never} refuse
 */
function orderedDict(pairs, refuse) {
  if (pairs === undefined) return new Map();
  if (!Array.isArray(pairs) || !pairs.every((pair) => Array.isArray(pair) && pair.length === 2))
    return refuse('an OrderedDict is made of something else than pairs');
  return new Map(pairs);
}

/**
 * The storage of a persistent id: ('storage', class, key, device, elements).
 * @param {unknown} id
 * @param {Map<string, Storage>} storages
 * @param {(why: string) => never} refuse
 */
function storageOf(id, storages, refuse) {
  const [tag, kind, key, , numel] = Array.isArray(id) ? id : [];
  if (tag !== 'storage' || typeof key !== 'string' || !/^\w{1,64}$/.test(key) || !isCount(numel))
    return refuse(`the persistent id ${show(id)} names no storage`);
  const [itemBytes, dtype] = kind instanceof Global ? (STORAGES[kind.name] ?? []) : [];
  if (!itemBytes || !dtype || !Number.isSafeInteger(numel * itemBytes))
    return refuse(`storage ${key} is ${numel} elements of ${show(kind)}`);
  const made = new Storage(key, dtype, itemBytes, numel);
  const known = storages.get(key);
  if (known && known.bytes !== made.bytes)
    return refuse(`storage ${key} has ${made.bytes} bytes, and ${known.bytes} at another place`);
  // Views of one storage in two types have one entry in the archive.
  if (known && known.dtype === made.dtype) return known;
  if (!known) storages.set(key, made);
  return made;
}

// ---- the archive

/**
 * The head of an entry.
 * @typedef {{name: string, at: number, size: number | null}} Local  at: of the head in the file; size: null where it
 *   stands behind the entry
 */

/** Reads the entries of a zip archive one after the other. */
class Archive {
  /** @param {ByteReader} r */
  constructor(r) {
    this.r = r;
    /** @type {Map<string, {at: number, size: number}>} entries that were read, by name */
    this.seen = new Map();
    /** Name of the folder that all entries are in. */
    this.folder = '';
    /** Whether the size of the last entry stands behind it. */
    this.behind = false;
    /** What follows the last entry. */
    this.signature = 0;
  }

  /**
   * Throw the error for a malformed archive.
   * @param {string} why
   * @returns {never}
   */
  refuse(why) {
    return fail('bad-header', `${this.r.name}: ${why}`);
  }

  /**
   * @param {number} n
   * @param {string} what
   */
  async view(n, what) {
    const b = await this.r.take(n, what);
    return new DataView(b.buffer, b.byteOffset, n);
  }

  /**
   * The head of the next entry; null at the central directory.
   * @returns {Promise<Local | null>}
   */
  async next() {
    const { r } = this;
    const at = r.pos;
    const signature = (await this.view(4, 'the head of an entry')).getUint32(0, true);
    if (signature === CENTRAL || signature === END || signature === END_64) {
      this.signature = signature;
      return null;
    }
    if (signature !== LOCAL) this.refuse(`byte ${at} begins neither an entry nor the directory of the archive`);
    const v = await this.view(26, 'the head of an entry');
    const [flags, method] = [v.getUint16(2, true), v.getUint16(4, true)];
    const [packed, size] = [v.getUint32(14, true), v.getUint32(18, true)];
    const [nameBytes, extraBytes] = [v.getUint16(22, true), v.getUint16(24, true)];
    const name = new TextDecoder().decode(await r.take(nameBytes, 'the name of an entry'));
    await r.skip(extraBytes, 'the head of an entry');
    if (flags & 1) fail('unsupported', `${r.name}: ${show(name)} is encrypted`);
    if (method !== 0)
      fail('unsupported', `${r.name}: ${show(name)} is compressed; torch.save stores entries as they are`);
    if (this.seen.has(name)) this.refuse(`the archive has ${show(name)} twice`);
    const behind = (flags & 8) !== 0 || size === 0xffffffff || packed === 0xffffffff;
    this.behind = (flags & 8) !== 0;
    return { name, at, size: behind ? null : size };
  }

  /**
   * The end of an entry whose bytes were consumed: compares its size with the one behind it.
   * @param {Local} local
   * @param {number} size  in bytes
   */
  async end(local, size) {
    this.seen.set(local.name, { at: local.at, size });
    if (!this.behind) return;
    const b = await this.r.peek(28);
    const v = new DataView(b.buffer, b.byteOffset, b.length);
    if (b.length < 16 || v.getUint32(0, true) !== DESCRIPTOR) {
      if (size === 0) return; // nothing stands behind an empty entry
      this.refuse(`${show(local.name)} has not the ${size} bytes that the pickle gives it`);
    }
    const length = descriptorBytes(v, size);
    if (!length) this.refuse(`the size behind ${show(local.name)} is not the ${size} bytes that it has`);
    await this.r.skip(length);
  }

  /**
   * The bytes of a small entry.
   * @param {Local} local
   */
  async record(local) {
    const { r } = this;
    let { size } = local;
    if (size === null) {
      const b = await r.peek(MAX_RECORD + 24);
      const v = new DataView(b.buffer, b.byteOffset, b.length);
      for (size = 0; size + 16 <= b.length; size++)
        if (
          v.getUint32(size, true) === DESCRIPTOR &&
          descriptorBytes(new DataView(b.buffer, b.byteOffset + size, b.length - size), size)
        )
          break;
    }
    if (size > MAX_RECORD) this.refuse(`${show(local.name)} is longer than ${MAX_RECORD} bytes`);
    const bytes = (await r.take(size, local.name)).slice();
    await this.end(local, size);
    return bytes;
  }

  /**
   * The pickle at the start of the archive.
   * @returns {Promise<{root: unknown, storages: Map<string, Storage>}>}
   */
  async pickle() {
    const { r } = this;
    const local = await this.next();
    if (local && /(^|\/)(code|ts_code|constants\.pkl|\.data\/ts_code)(\/|$)/.test(local.name))
      fail('unsupported', `${r.name}: this is a TorchScript archive: save model.state_dict() with torch.save`);
    if (!local?.name.endsWith('/data.pkl'))
      return fail(
        'unsupported',
        `${r.name}: a zip archive that begins with ${show(local?.name ?? 'nothing')}; one of torch.save begins with ` +
          'data.pkl: save model.state_dict() with torch.save',
      );
    this.folder = local.name.slice(0, -'data.pkl'.length);
    const lexed = { at: 0 };
    let length = 0;
    for (let n = 1 << 16; !length; n *= 4) {
      if (n > 4 * MAX_PICKLE) this.refuse(`the pickle is longer than ${MAX_PICKLE} bytes`);
      const bytes = await r.peek(n);
      length = pickleLength(bytes, r.name, lexed);
      if (!length && bytes.length < n) r.failTruncated(bytes.length + 1, bytes.length, 'the pickle');
    }
    if (local.size !== null && local.size !== length)
      this.refuse(`data.pkl has ${local.size} bytes, its pickle ${length}`);
    const bytes = await r.take(length, 'the pickle');
    /** @type {Map<string, Storage>} */
    const storages = new Map();
    const root = readPickle(bytes, r.name, meanings(r.name, storages));
    await this.end(local, length);
    return { root, storages };
  }

  /** Compare the central directory with the entries that were read. The file ends behind it. */
  async directory() {
    const { r } = this;
    const left = new Map(this.seen);
    let { signature } = this;
    for (; signature === CENTRAL; signature = (await this.view(4, 'the directory')).getUint32(0, true)) {
      const v = await this.view(42, 'the directory');
      const name = new TextDecoder().decode(await r.take(v.getUint16(24, true), 'the directory'));
      const extra = await this.view(v.getUint16(26, true), 'the directory');
      const size = [v.getUint32(20, true), v.getUint32(16, true)];
      const at = v.getUint32(38, true);
      const wide = wideFields(extra);
      await r.skip(v.getUint16(28, true), 'the directory');
      const entry = left.get(name);
      const same = (/** @type {number} */ n, /** @type {number} */ is) =>
        n === 0xffffffff ? wide.includes(is) : n === is;
      if (!entry || !same(size[0], entry.size) || !same(size[1], entry.size) || !same(at, entry.at))
        this.refuse(`the directory lists ${show(name)} with another size or place than it has`);
      left.delete(name);
    }
    const [missing] = left.keys();
    if (missing !== undefined) this.refuse(`the directory does not list ${show(missing)}`);
    if (signature === END_64) {
      const size = (await this.view(8, 'the end of the directory')).getBigUint64(0, true);
      if (size > 1000n) this.refuse('the end of the directory is malformed');
      await r.skip(Number(size), 'the end of the directory');
      signature = (await this.view(4, 'the end of the directory')).getUint32(0, true);
      if (signature !== LOCATOR_64) this.refuse('the end of the directory is malformed');
      await r.skip(16, 'the end of the directory');
      signature = (await this.view(4, 'the end of the directory')).getUint32(0, true);
    }
    if (signature !== END) this.refuse('the end of the directory is malformed');
    const comment = (await this.view(18, 'the end of the directory')).getUint16(16, true);
    await r.skip(comment, 'the comment of the archive');
  }
}

/**
 * Bytes of the descriptor behind an entry; 0 where its sizes are not those of the entry.
 * @param {DataView} v  at the descriptor
 * @param {number} size  of the entry
 */
function descriptorBytes(v, size) {
  if (v.byteLength >= 24 && [8, 16].every((at) => v.getBigUint64(at, true) === BigInt(size))) return 24;
  return v.byteLength >= 16 && [8, 12].every((at) => v.getUint32(at, true) === size) ? 16 : 0;
}

/**
 * The numbers in the zip64 field of an entry in the directory.
 * @param {DataView} extra
 * @returns {number[]}
 */
function wideFields(extra) {
  const numbers = [];
  for (let at = 0; at + 4 <= extra.byteLength;) {
    const [id, size] = [extra.getUint16(at, true), extra.getUint16(at + 2, true)];
    for (let i = at + 4; id === 1 && i + 8 <= Math.min(at + 4 + size, extra.byteLength); i += 8)
      numbers.push(Number(extra.getBigUint64(i, true)));
    at += 4 + size;
  }
  return numbers;
}

// ---- the tensors

/**
 * The head of a file of torch.save.
 * @typedef {object} TorchFile
 * @property {unknown} root  what was saved, as plain data with Tensors
 * @property {Map<string, Storage>} storages  by key
 * @property {Archive} archive  behind the pickle
 */

/**
 * Reads the pickle of a file.
 * @param {ByteReader} r  at the start of the file; afterwards behind the pickle
 * @returns {Promise<TorchFile>}
 */
export async function readTorch(r) {
  const archive = new Archive(r);
  return { ...(await archive.pickle()), archive };
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
export async function deliverTorch({ archive, storages }, tensors, give) {
  const { r, folder } = archive;
  /** @type {Map<string, TensorSource[]>} */
  const byKey = new Map();
  for (const t of tensors) {
    const key = /** @type {Tensor} */ (t.tensor).storage.key;
    if (t.covers.length) byKey.set(key, [...(byKey.get(key) ?? []), t]);
  }
  const waiting = new Set(storages.keys());
  /** The memory in which one tensor after the other is collected. @type {Scratch} */
  const scratch = { bytes: new Uint8Array(0) };
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
    await deliverStorage(r, storage, byKey.get(key) ?? [], scratch, give);
    await archive.end(local, storage.bytes);
  }
  const [missing] = waiting;
  if (missing !== undefined) fail('missing-tensor', `${r.name}: the archive has no data/${missing}`);
  await archive.directory();
}

/** @typedef {{bytes: Uint8Array}} Scratch */

/**
 * Delivers the tensors of one storage. A tensor whose elements follow each other is passed on while it arrives; one of
 * another order, or that shares elements with another one, is first collected in memory.
 * @param {ByteReader} r  at the storage; afterwards behind it
 * @param {Storage} storage
 * @param {TensorSource[]} tensors
 * @param {Scratch} scratch
 * @param {(t: TensorSource, r: ByteReader) => Promise<void>} give
 */
async function deliverStorage(r, { bytes }, tensors, scratch, give) {
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
      const held = await collect(r, to - from, t.name, scratch);
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
 * The next bytes of a file, collected in memory; valid until the next call.
 * @param {ByteReader} r
 * @param {number} n
 * @param {string} what
 * @param {Scratch} scratch
 */
async function collect(r, n, what, scratch) {
  if (r.total === null) return (await r.take(n, what)).slice(); // the array grows with what arrives
  if (r.pos + n > r.total) r.failTruncated(n, r.total - r.pos, what);
  if (scratch.bytes.length < n) {
    try {
      scratch.bytes = new Uint8Array(0);
      scratch.bytes = new Uint8Array(n);
    } catch (error) {
      return fail('out-of-memory', `${r.name}: there is no room for the ${n} bytes of ${what}`, error);
    }
  }
  const held = scratch.bytes.subarray(0, n);
  let at = 0;
  await r.pipe(
    n,
    (view) => {
      held.set(view, at);
      at += view.length;
    },
    1,
    what,
  );
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

// ---- what people save

/** Keys under which training scripts save the state dict: nanoGPT, Lightning and others. */
const STATE_DICT_KEYS = [
  'state_dict',
  'model_state_dict',
  'model_state',
  'model',
  'module',
  'net',
  'weights',
  'params',
];

/**
 * The state dict in what was saved.
 * @param {unknown} root
 * @param {string} where  file name, for messages
 * @returns {{dict: Map<unknown, unknown>, saved: Map<unknown, unknown>}} saved: what is beside it
 */
export function stateDictOf(root, where) {
  if (!(root instanceof Map))
    return fail('unsupported', `${where}: holds ${describe(root)}, expected a state dict (a dict of tensors)`);
  for (let saved = root, depth = 0; depth < 4; depth++) {
    const values = [...saved.values()];
    if (values.some((v) => v instanceof Tensor) && !STATE_DICT_KEYS.some((key) => saved.get(key) instanceof Map))
      return { dict: saved, saved: root };
    const inner = STATE_DICT_KEYS.map((key) => saved.get(key)).find((v) => v instanceof Map);
    const only = values.filter((v) => v instanceof Map && [...v.values()].some((x) => x instanceof Tensor));
    const next = inner ?? (only.length === 1 ? only[0] : null);
    if (!(next instanceof Map)) break;
    saved = next;
  }
  return fail(
    'unsupported',
    `${where}: a dict with ${show([...root.keys()])} without tensors, expected a state dict under one of ` +
      STATE_DICT_KEYS.join(', '),
  );
}

/**
 * What a value of a pickle is, for messages.
 * @param {unknown} value
 */
const describe = (value) =>
  value instanceof Tensor ? `one tensor of shape ${show(value.shape)}` : Array.isArray(value) ? 'a list' : show(value);

/**
 * A dict of the checkpoint as the JSON of a configuration: its texts, numbers and booleans.
 * @param {unknown} value
 * @returns {Record<string, any> | null} null where it is not a dict
 */
export function plainFields(value) {
  if (!(value instanceof Map)) return null;
  const scalar = (/** @type {unknown} */ v) => v === null || ['string', 'number', 'boolean'].includes(typeof v);
  return Object.fromEntries([...value].filter(([key, v]) => typeof key === 'string' && scalar(v)));
}

/**
 * The configuration that a checkpoint brings with it: model_args of nanoGPT.
 * @param {Map<unknown, unknown>} saved  what the file holds
 * @returns {Record<string, any> | null}
 */
export function savedConfig(saved) {
  const args = plainFields(saved.get('model_args'));
  return args && 'n_embd' in args && 'block_size' in args ? { ...args, model_type: 'nanogpt' } : null;
}
