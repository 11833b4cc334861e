// tensor_plan.js - assigns the tensors of a file to the weights of a configuration
//
// A reader passes the tensors of its header and a mapping of names. Every tensor is compared with the roster before any
// data is read: none may be missing, duplicated or left over, and every shape must match.
import { DTYPES, isDtype } from '../../base/dtype_names.js';
import { fail, show } from '../../base/errors.js';
import { shapeText, shaped } from './tensor_shapes.js';
import { roster } from './weight_roster.js';

export { shapeText };

/** @import { Dtype } from '../../base/dtype_names.js' */
/** @import { StoredGain } from '../stored_gains.js' */
/**
 * A tensor of a file, and the weights that it fills.
 * @typedef {object} TensorSource
 * @property {string} name       in the file, for messages
 * @property {string[]} covers   names of these weights in the roster, stacked by rows in this order; []: to be skipped
 * @property {Dtype} dtype
 * @property {'rows'|'cols'|'heads'} layout  cols: stored [in, out]; heads: the weights' rows of head 0 follow each
 *   other, then those of head 1, ...
 * @property {number[]} shape    as stored, outermost first
 * @property {number} file       index into the files
 * @property {number} offset     in bytes from the start of the file
 * @property {number} bytes      in the file
 * @property {Int8Blocks} [int8] llama2.c v2: stored as int8 with separate f32 scales, delivered as f32
 * @property {StoredGain} [gain]  how a norm's gain is stored, if not as a factor
 * @property {import('../../files/gguf/rare_types.js').Packed} [packed]  GGUF: its type in the file, delivered as f32
 * @property {import('../../files/pytorch/torch_values.js').Tensor} [tensor]  PyTorch: the view of a storage that it is
 * @property {Arrangement} [arrangement]  it is collected and brought into another order before it is delivered
 * @property {string} [stored]  the file's name of its type, for a tensor that is skipped if it proves to be a buffer
 */
/** @typedef {{groupSize: number}} Int8Blocks */
/**
 * How a tensor is made of those of a file. parts: tensors whose bytes follow each other; []: it is all zeros. axes: of
 * the whole in `shape`, in their new order. rows: of the whole, likewise.
 * @typedef {{parts: Entry[], shape?: number[], axes?: number[], rows?: number[]}} Arrangement
 */
/**
 * A tensor as a header lists it.
 * @typedef {object} Entry
 * @property {string} name
 * @property {string} dtype      a Dtype, or the file's name of a type that the engine lacks
 * @property {number[]} shape    outermost first
 * @property {number} file       index into the files
 * @property {number} offset     in bytes from the start of the file
 * @property {number} bytes
 * @property {import('../../files/pytorch/torch_values.js').Tensor} [tensor]  PyTorch: the view of a storage that it is
 * @property {import('../../files/gguf/rare_types.js').Packed} [packed]  GGUF: its type in the file, delivered as f32
 * @property {Arrangement} [arrangement]  it is made of several tensors
 */
/**
 * The weights that a tensor fills, and its layout. row: a vector, stored as a matrix of one row. experts: the tensor
 * has a first axis of so many experts, whose weights follow each other in `covers`. rowsOf: the order of its rows.
 * @typedef {{covers: string[], layout?: 'rows'|'cols'|'heads', gain?: StoredGain, row?: boolean, experts?: number,
 *   rowsOf?: RowsOf}} Place
 */
/**
 * The rows of a tensor of a file in the order of the weights that it fills; null: as they are. `rows`: how many.
 * @typedef {(covers: string[], rows: number, config: import('./config.js').Config) => number[] | null} RowsOf
 */
/**
 * Names of tensors in a file by names of the roster, without layer and without .weight or .bias: 'embed', 'attn.q',
 * 'ffn.up'.
 *
 * - `*` stands for the last part: 'attn.*': 'self_attn.*_proj' names q, k, v and o.
 * - Weights with the same name in the file are stacked in one tensor.
 * - 'blocks', 'encoder' and 'decoder' name the stacks. '#' stands in them for the number of a group of layers.
 * - '' is a prefix of all names, except of those that begin with '/'.
 * - 'decoder.attn.*' is for one stack only, 'embed.weight' and 'attn.q.weight' for one tensor with its ending.
 * - 'ffn.experts.gate', '.up' and '.down' name the matrices of experts, with their ending: '#' stands for the expert's
 *   number; without it one tensor holds all experts, along its first axis.
 * @typedef {Record<string, string>} Names
 */
/**
 * How a framework stores tensors. cols: matrices of blocks are [in, out]; colsOfHead: so is the head's; gamma: norms
 * have .gamma and .beta instead of .weight and .bias, or the two endings given; heads: q, k and v are one tensor, head
 * by head; minusOne: norms are stored as their gain minus 1; biasRow: the bias of the head is a matrix of one row;
 * rowsOf: the order of the rows of q, k and v.
 * @typedef {{cols?: boolean, colsOfHead?: boolean, gamma?: boolean | [gain: string, bias: string], heads?: boolean,
 *   minusOne?: boolean, biasRow?: boolean, rowsOf?: RowsOf}} Conventions
 */

/**
 * What the names of a block's tensors begin with.
 * @param {import('./config.js').Config} config
 * @param {string} stack
 * @param {number} layer
 */
const blockName = ({ n_layer_groups: groups, n_layers: n }, stack, layer) =>
  stack.includes('#') ? `${stack.replace('#', String(Math.floor((layer * groups) / n)))}.` : `${stack}.${layer}.`;

/**
 * Every weight of a configuration under the name that a file gives it.
 * @param {import('./config.js').Config} config
 * @param {Names} names
 * @param {Conventions} [conventions]
 * @returns {Map<string, Place>} by name in the file
 */
export function placesByName(config, names, { cols, colsOfHead, gamma, heads, minusOne, biasRow, rowsOf } = {}) {
  /** @type {Map<string, Place>} */
  const places = new Map();
  const isCols = (/** @type {string} */ name, /** @type {number[]} */ shape, /** @type {string} */ stack) =>
    shape.length === 2 && Boolean(stack ? cols : colsOfHead && name === 'head.weight');
  for (const { name, shape } of roster(config)) {
    const [, stack, layer, part, end] = /** @type {RegExpExecArray} */ (/^(?:(\w+)\.(\d+)\.)?(.+)(\.\w+)$/.exec(name));
    const dot = part.lastIndexOf('.') + 1;
    const any = `${part.slice(0, dot)}*`;
    const isNorm = /(^|[._])norm\d?(_post)?(\.\d+)?$/.test(part);
    const [gain, bias] = gamma && isNorm ? (gamma === true ? ['.gamma', '.beta'] : gamma) : ['.weight', '.bias'];
    const ending = end === '.weight' ? gain : end === '.bias' ? bias : end;
    const [, expert, matrix] = /^ffn\.experts\.(\d+)\.(\w+)$/.exec(part) ?? [];
    const ofExperts = names[`ffn.experts.${matrix}`];
    const stem = names[`${stack}.${part}`] ?? names[part] ?? names[`${stack}.${any}`] ?? names[any] ?? part;
    const own = names[name] ?? names[part + end];
    const local = ofExperts?.replace('#', expert) ?? own ?? stem.replace('*', part.slice(dot)) + ending;
    const fileName =
      local[0] === '/'
        ? local.slice(1)
        : `${names[''] ?? ''}${stack ? blockName(config, names[stack] ?? stack, Number(layer)) : ''}${local}`;
    const isInput = /^attn\.[qkv]$/.test(part);
    const place = places.get(fileName) ?? {
      covers: [],
      layout: isCols(name, shape, stack) ? 'cols' : heads && isInput ? 'heads' : 'rows',
      ...(minusOne && isNorm && end === '.weight' && { gain: /** @type {const} */ ('minus-one') }),
      ...(rowsOf && isInput && { rowsOf }),
      ...(biasRow && name === 'head.bias' && { row: true }),
      ...(ofExperts && !ofExperts.includes('#') && { experts: config.n_experts }),
    };
    place.covers.push(name);
    places.set(fileName, place);
  }
  return places;
}

/**
 * Throws when a configuration has more weights than the tensors of a header can hold: the work for a file, which begins
 * afterwards, is bounded by what the file has. Below 1024 weights planTensors names those that are missing.
 * @param {import('./config.js').Config} config
 * @param {Entry[]} entries
 * @param {string} where  file name, for messages
 */
export function checkCount(config, entries, where) {
  // q, k and v may be one tensor, and so may the rows of a matrix: the experts, the norms of heads
  const room = entries.reduce((n, { shape, bytes }) => n + Math.max(3, Math.min(2 * shape[0] || 0, bytes)), 1024);
  let left = Math.min(room, 1 << 17);
  for (const _ of roster(config))
    if (left-- <= 0)
      fail(
        'missing-tensor',
        `${where}: the configuration has ${config.n_layers} layers, but the file has only ${entries.length} tensors: ` +
          'it is incomplete, or the configuration belongs to another model',
      );
}

/**
 * Compares the tensors of a header with the roster and assigns them to its weights.
 * @param {import('./config.js').Config} config
 * @param {Entry[]} entries
 * @param {Map<string, Place>} places  by name in the file
 * @param {(entry: Entry) => boolean | 'maybe'} isBuffer  whether a tensor is a buffer of a framework, which is skipped;
 *   maybe: what it contains tells
 * @param {string[]} files  names, for messages
 * @param {string[]} warnings  appended to
 * @param {boolean | 'each'} [zeros]  whether biases of a kind that no layer has count as 0; each: all that are missing
 * @returns {TensorSource[]} in file order
 */
export function planTensors(config, entries, places, isBuffer, files, warnings, zeros = false) {
  /** @type {Map<string, number[]>} */
  const shapes = new Map();
  for (const w of roster(config)) shapes.set(w.name, w.shape);
  /** @type {Map<string, string>} roster name -> name in the file */
  const filled = new Map();
  /** @type {TensorSource[]} */
  const plan = [];
  for (const e of entries) {
    const at = `${files[e.file]}: ${e.name.length > 100 ? `${e.name.slice(0, 97)}...` : e.name}`;
    const place = places.get(e.name);
    if (!place) {
      const isEmpty = e.shape.length === 0 || e.shape.includes(0);
      if (isEmpty) warnings.push(`${at}: not a weight of this model, skipped`);
      const skip = isEmpty || isBuffer(e);
      if (!skip)
        fail(
          'unknown-tensor',
          `${at}: the model has no place for this tensor of shape ${shapeText(e.shape)}${reasonOf(e.name, places)}`,
        );
      plan.push({ ...e, dtype: 'f32', covers: [], layout: 'rows', ...(skip === 'maybe' && { stored: e.dtype }) });
      continue;
    }
    const { covers, gain, experts } = place;
    const parts = covers.map((name) => shapes.get(name) ?? fail('bad-config', `${at}: there is no weight ${name}`));
    const fitting = shaped(e, place, parts, config, at);
    if (!isDtype(e.dtype)) fail('unknown-dtype', `${at}: stored as ${e.dtype}, expected one of ${DTYPES}`);
    for (const name of covers) {
      const other = filled.get(name);
      if (other !== undefined) fail('duplicate-tensor', `${at}: the weight ${name} was already in ${other}`);
      filled.set(name, e.name);
    }
    const tensor = { ...fitting, dtype: e.dtype, covers, ...(gain && { gain }) };
    if (experts) plan.push(...eachExpert(tensor, experts, parts.length / experts));
    else plan.push(tensor);
  }
  if (zeros) plan.push(...zeroBiases(shapes, filled, zeros === 'each'));
  if (filled.size < shapes.size) failMissing(shapes, filled, places, files, plan);
  return plan.sort((a, b) => a.file - b.file || a.offset - b.offset);
}

/**
 * Why the model has no place for a tensor whose name looks like that of a weight, as the end of a message.
 * @param {string} name
 * @param {Map<string, Place>} places  by name in the file
 */
function reasonOf(name, places) {
  if (places.has(name.replace(/bias$/, 'weight')))
    return ': the linears of an attention or feed-forward layer have biases all or none';
  const whole = [...places.keys()].find((each) => each.endsWith(`.0.${name}`));
  return whole ? `: one block alone is no model, where it is ${whole}` : '';
}

/**
 * Biases that a file lacks, as tensors of zeros: linears of a layer have biases all or none here.
 * @param {Map<string, number[]>} shapes  of all weights, by name
 * @param {Map<string, string>} filled    name in the file by name of the weight; completed
 * @param {boolean} each  whether a layer may lack a bias that another one has
 * @returns {TensorSource[]}
 */
function zeroBiases(shapes, filled, each) {
  const kindOf = (/** @type {string} */ name) => name.replace(/\.\d+\./g, '.N.');
  const known = new Set([...filled.keys()].map(kindOf));
  /** @type {TensorSource[]} */
  const made = [];
  for (const [name, shape] of shapes) {
    if (filled.has(name) || !/^(?!.*norm).*\.bias$/.test(name) || (!each && known.has(kindOf(name)))) continue;
    filled.set(name, name);
    const bytes = 4 * shape.reduce((n, size) => n * size, 1);
    const zero = { name, covers: [name], dtype: /** @type {Dtype} */ ('f32'), shape, file: 0, offset: 0, bytes };
    made.push({ ...zero, layout: 'rows', arrangement: { parts: [] } });
  }
  return made;
}

/**
 * The parts of a tensor that holds experts along its first axis, one for each expert.
 * @param {TensorSource} tensor
 * @param {number} experts
 * @param {number} perExpert  weights of each
 * @returns {TensorSource[]}
 */
function eachExpert(tensor, experts, perExpert) {
  const bytes = tensor.bytes / experts;
  return Array.from({ length: experts }, (_, i) => ({
    ...tensor,
    name: `${tensor.name}[${i}]`,
    covers: tensor.covers.slice(i * perExpert, (i + 1) * perExpert),
    shape: tensor.shape.slice(1),
    offset: tensor.offset + i * bytes,
    bytes,
    ...(tensor.tensor && { tensor: tensor.tensor.at(i) }),
  }));
}

/**
 * Throws unless the tensors follow each other without overlap, and with only the padding of their alignment between
 * them.
 * @param {string} where  file name, for messages
 * @param {Entry[]} entries
 * @param {number} start  where the first tensor must begin, in bytes
 * @param {number} [alignment]  in bytes
 * @returns {number} the end of the last tensor
 */
export function checkTiling(where, entries, start, alignment = 1) {
  let next = start;
  let end = start;
  for (const e of [...entries].sort((a, b) => a.offset - b.offset || a.bytes - b.bytes)) {
    if (e.offset !== next) {
      const position = e.offset < next ? 'inside the tensor before it' : 'after bytes of no tensor';
      fail('overlap', `${where}: ${show(e.name)} begins at byte ${e.offset}, ${position}; expected ${next}`);
    }
    end = e.offset + e.bytes;
    next = align(end, alignment);
  }
  return end;
}

/**
 * The next multiple of `alignment` from n on.
 * @param {number} n
 * @param {number} alignment
 */
export const align = (n, alignment) => Math.ceil(n / alignment) * alignment;

/**
 * Throws the error for weights that no tensor fills.
 * @param {Map<string, number[]>} shapes  of all weights, by name
 * @param {Map<string, string>} filled    name in the file by name of the weight
 * @param {Map<string, Place>} places     by name in the file
 * @param {string[]} files                names, for messages
 * @param {TensorSource[]} plan            with tensors that may be buffers
 * @returns {never}
 */
function failMissing(shapes, filled, places, files, plan) {
  const names = [...shapes.keys()].filter((name) => !filled.has(name));
  const spare = plan.find(
    ({ stored, shape }) => stored && names.some((name) => String(shapes.get(name)) === String(shape)),
  );
  if (spare)
    fail(
      'unknown-tensor',
      `${files[spare.file]}: ${spare.name}: the model has no place for this tensor of shape ` +
        `${shapeText(spare.shape)}, and ${names[0]} is missing`,
    );
  const [stored = names[0]] = [...places].find(([, { covers }]) => covers.includes(names[0])) ?? [];
  const others = names.length > 1 ? ` (and ${names.length - 1} more weights)` : '';
  return fail('missing-tensor', `${files.length === 1 ? files[0] : 'the checkpoint'}: ${stored} is missing${others}`);
}
