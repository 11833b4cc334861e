// torch_values.js - the meaning of the objects in a pickle of torch.save: tensors, which are views of storages
import { fail, show } from '../../base/errors.js';
import { Global } from './pickle_globals.js';
import { namedInPython, setState } from './python_objects.js';

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
  ComplexFloatStorage: [8, 'complex64'],
});
/** Number formats of torch as values in a pickle; they are read and not used. */
const DTYPES =
  /^torch\.(float(16|32|64)|bfloat16|half|float|double|u?int8|int(16|32|64)|long|int|short|bool|Size|device)$/;

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

  /** The part at an index of the first axis. @param {number} i */
  at(i) {
    return new Tensor(this.storage, this.offset + i * this.strides[0], this.shape.slice(1), this.strides.slice(1));
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
export function torchMeanings(where, storages) {
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
    'torch._utils._rebuild_parameter_with_state': new Global('_rebuild_parameter_with_state', first),
  };
  // a tensor or parameter with attributes of its own, and one of another class
  globals['torch._tensor._rebuild_from_type_v2'] = new Global('_rebuild_from_type_v2', ([make, kind, args]) => {
    const name = kind instanceof Global ? kind.name : show(kind);
    if (!/^torch\.(Tensor|_tensor\.Tensor|nn\.parameter\.(Parameter|Buffer))$/.test(name))
      fail('unsupported', `${where}: a tensor is of the class ${name}, which is not read`);
    return make instanceof Global && make.call && Array.isArray(args)
      ? make.call(args)
      : refuse('a tensor has no values');
  });
  for (const name of Object.keys(STORAGES)) globals[`torch.${name}`] = new Global(name);
  return {
    global: (name) => {
      if (Object.hasOwn(globals, name)) return globals[name];
      if (DTYPES.test(name)) return new Global(name, (args) => args[0]);
      return /^torch\.(\w+Storage$|_utils\._rebuild)/.test(name) ? null : namedInPython(name);
    },
    persistent: (id) => storageOf(id, storages, refuse),
    setState,
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
