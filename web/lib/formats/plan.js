// plan.js - assigns the tensors of a file to the weights of a configuration
//
// A reader gives the list of its header and a mapping of names. Every tensor is compared with the roster before any
// data is read: none may be missing, duplicated or left over, and every shape must match.
import { DTYPES, isDtype } from '../base/blocks.js';
import { fail } from '../base/errors.js';
import { roster } from './roster.js';

/** @typedef {import('../base/blocks.js').Dtype} Dtype */
/**
 * @typedef {object} TensorSource
 * @property {string} name       in the file, for messages
 * @property {string[]} covers   roster names it fills, stacked by rows in this order; [] = bytes to skip
 * @property {Dtype} dtype
 * @property {'rows'|'cols'} layout  cols: stored [in, out]
 * @property {number[]} shape    as stored, outermost first
 * @property {number} file       index into the files
 * @property {number} offset     in bytes from the start of the file
 * @property {number} bytes      in the file
 * @property {Int8Blocks} [int8] llama2.c v2: stored as int8 with separate f32 scales, handed on as f32
 */
/** @typedef {{groupSize: number}} Int8Blocks */
/**
 * What a header lists.
 * @typedef {object} Entry
 * @property {string} name
 * @property {string} dtype      ours where we have it, otherwise the file's name for it
 * @property {number[]} shape
 * @property {number} file
 * @property {number} offset
 * @property {number} bytes
 */
/** @typedef {{covers: string[], layout?: 'rows'|'cols'}} Place */
/**
 * Names in a file by names of the roster, without layer and without .weight or .bias: 'embed', 'attn.q', 'ffn.up'. A
 * `*` stands for the last part, so that 'attn.*': 'self_attn.*_proj' names four; where several come to one name, that
 * tensor holds them all, stacked. 'blocks', 'encoder', 'decoder' name the stacks, '' is put before all names but those
 * that begin with '/'.
 * 'decoder.attn.*' is for one stack, 'embed.weight' for one tensor with its ending.
 * @typedef {Record<string, string>} Names
 */

/** @param {number[]} shape */
export const shapeText = (shape) => `[${shape.join(', ')}]`;

/**
 * Every weight of a configuration under the name that a file gives it.
 * @param {import('./config.js').Config} config
 * @param {Names} names
 * @param {{cols?: boolean, gamma?: boolean}} [how] cols: matrices of blocks are stored [in, out]; gamma: norms have
 *   .gamma and .beta
 * @returns {Map<string, Place>}
 */
export function placesByName(config, names, { cols, gamma } = {}) {
  /** @type {Map<string, Place>} */
  const places = new Map();
  for (const { name, shape } of roster(config)) {
    const [, stack, layer, part, end] = /** @type {RegExpExecArray} */ (/^(?:(\w+)\.(\d+)\.)?(.+)(\.\w+)$/.exec(name));
    const dot = part.lastIndexOf('.') + 1;
    const any = `${part.slice(0, dot)}*`;
    const ending = gamma && /(^|\.)(final_)?norm\d?$/.test(part) ? { '.weight': '.gamma', '.bias': '.beta' }[end] : end;
    const stem = names[`${stack}.${part}`] ?? names[part] ?? names[`${stack}.${any}`] ?? names[any] ?? part;
    const local = names[name] ?? stem.replace('*', part.slice(dot)) + ending;
    const theirs =
      local[0] === '/'
        ? local.slice(1)
        : `${names[''] ?? ''}${stack ? `${names[stack] ?? stack}.${layer}.` : ''}${local}`;
    const place = places.get(theirs) ?? { covers: [], layout: cols && stack && shape.length === 2 ? 'cols' : 'rows' };
    place.covers.push(name);
    places.set(theirs, place);
  }
  return places;
}

/**
 * @param {import('./config.js').Config} config
 * @param {Entry[]} entries
 * @param {Map<string, Place>} places  by name in the file
 * @param {(entry: Entry) => boolean} isBuffer  a tensor that frameworks save and nobody needs
 * @param {string[]} files  names, for messages
 * @param {string[]} warnings  grows
 * @returns {TensorSource[]} in file order
 */
export function planTensors(config, entries, places, isBuffer, files, warnings) {
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
      if (e.shape.length === 0 || e.shape.includes(0)) warnings.push(`${at}: not a weight of this model, skipped`);
      else if (!isBuffer(e))
        fail('unknown-tensor', `${at}: the model has no place for this tensor of shape ${shapeText(e.shape)}`);
      plan.push({ ...e, dtype: 'f32', covers: [], layout: 'rows' });
      continue;
    }
    const { covers, layout = 'rows' } = place;
    const want = stacked(
      covers.map((name) => shapes.get(name) ?? fail('bad-config', `${at}: there is no weight ${name}`)),
      layout,
    );
    if (want.length !== e.shape.length || want.some((n, i) => n !== e.shape[i])) {
      fail('bad-shape', `${at}: shape ${shapeText(e.shape)}, expected ${shapeText(want)}`);
    }
    if (!isDtype(e.dtype)) fail('unknown-dtype', `${at}: stored as ${e.dtype}, expected one of ${DTYPES}`);
    for (const name of covers) {
      const other = filled.get(name);
      if (other !== undefined) fail('duplicate-tensor', `${at}: the weight ${name} was already in ${other}`);
      filled.set(name, e.name);
    }
    plan.push({ ...e, dtype: e.dtype, covers, layout });
  }
  if (filled.size < shapes.size) missing(shapes, filled, places, files);
  return plan.sort((a, b) => a.file - b.file || a.offset - b.offset);
}

/**
 * @param {number[][]} shapes
 * @param {'rows'|'cols'} layout
 * @returns {number[]} of the tensor that contains all of them
 */
function stacked(shapes, layout) {
  const rows = shapes.reduce((n, s) => n + s[0], 0);
  const whole = [rows, ...shapes[0].slice(1)];
  return layout === 'cols' ? whole.reverse() : whole;
}

/**
 * @param {Map<string, number[]>} shapes
 * @param {Map<string, string>} filled
 * @param {Map<string, Place>} places
 * @param {string[]} files
 * @returns {never}
 */
function missing(shapes, filled, places, files) {
  const names = [...shapes.keys()].filter((name) => !filled.has(name));
  /** @type {string | undefined} */
  let stored;
  for (const [name, { covers }] of places)
    if (covers.includes(names[0])) {
      stored = name;
      break;
    }
  const others = names.length > 1 ? ` (and ${names.length - 1} more weights)` : '';
  return fail(
    'missing-tensor',
    `${files.length === 1 ? files[0] : 'the checkpoint'}: ${stored ?? names[0]} is missing${others}`,
  );
}
