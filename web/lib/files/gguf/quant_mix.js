// quant_mix.js - the type of each tensor of a quantised GGUF: some matrices keep more bits, as llama.cpp chooses them
// without a matrix of importance (llama-quant.cpp, llama_tensor_get_type)
import { BLOCKS } from '../../base/dtype_names.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @typedef {'F32' | 'F16' | 'BF16' | 'Q8_0' | 'Q4_0' | 'Q4_1'} Plain types that a file can have as a whole */
/** @typedef {Plain | 'Q5_0' | 'Q5_1' | 'Q4_K' | 'Q5_K' | 'Q6_K'} Stored  types of a tensor */
/** @typedef {Plain | 'Q4_K' | 'Q5_K' | 'Q6_K' | 'Q4_K_M' | 'Q5_K_M'} Type  types of a file */

/**
 * The types that can be written, with llama.cpp's numbers for a whole file. Q4_K and Q5_K have the numbers of Q4_K_S
 * and Q5_K_S.
 * @type {Record<Type, number>}
 */
export const FILE_TYPES = {
  F32: 0,
  F16: 1,
  BF16: 32,
  Q8_0: 7,
  Q4_0: 2,
  Q4_1: 3,
  Q4_K: 14,
  Q4_K_M: 15,
  Q5_K: 16,
  Q5_K_M: 17,
  Q6_K: 18,
};

/** The type for rows that are no whole blocks of a type. @type {Partial<Record<Stored, Stored>>} */
const NARROWER = { Q4_K: 'Q5_0', Q5_K: 'Q5_1', Q6_K: 'Q8_0' };

/**
 * The types of tensors. Norms, biases, positions and routers are F32.
 * @param {{name: string, shape: number[], covers: string[]}[]} tensors  in the order of the file
 * @param {Type} type  of the file
 * @param {Config} config
 * @returns {Stored[]}
 */
export function typesOf(tensors, type, config) {
  const values = tensors.filter(({ name }) => VALUES.test(name)).map(({ name }) => name);
  return tensors.map((tensor) => {
    if (!isMatrix(tensor)) return 'F32';
    const base = /** @type {Stored} */ (type.replace('_M', ''));
    if (!base.startsWith('Q')) return base;
    const chosen = wider(tensor.name, type, config, values) ?? base;
    return fitting(chosen, /** @type {number} */ (tensor.shape.at(-1)));
  });
}

/** @param {{name: string, shape: number[], covers: string[]}} tensor */
const isMatrix = ({ name, shape, covers }) =>
  shape.length >= 2 &&
  covers.length > 0 &&
  !/^(position_embd|cls)\./.test(name) &&
  !/_(norm|inp|rel_b)\.\w+$/.test(name);

const VALUES = /\.attn_(v|qkv)\.weight$/;

/**
 * The type of a tensor that keeps more bits than the others; null for one that does not.
 * @param {string} name
 * @param {Type} type  of the file
 * @param {Config} config
 * @param {string[]} values  names of the projections of values
 * @returns {Stored | null}
 */
function wider(name, type, { n_layers: layers, n_experts: experts, tie_word_embeddings: tied }, values) {
  if (type === 'Q8_0') return null;
  if (name === 'output.weight' || (tied && name === 'token_embd.weight')) return 'Q6_K';
  const mixed = type.endsWith('_M');
  const isValue = VALUES.test(name);
  if (experts === 8 && (isValue || /\.attn_k\.weight$/.test(name))) return 'Q8_0';
  if (experts === 8 && type === 'Q4_K_M' && /\.attn_output\.weight$/.test(name)) return 'Q5_K';
  if (mixed && isValue && hasMoreBits(values.indexOf(name), values.length)) return 'Q6_K';
  const [, layer] = /blk\.(\d+)\.ffn_down/.exec(name) ?? [];
  return mixed && layer !== undefined && hasMoreBits(Number(layer), layers) ? 'Q6_K' : null;
}

/**
 * The first and the last eighth of the layers, and every third one between them.
 * @param {number} i
 * @param {number} n
 */
function hasMoreBits(i, n) {
  const eighth = Math.floor(n / 8);
  return i < eighth || i >= Math.floor((7 * n) / 8) || (i - eighth) % 3 === 2;
}

/**
 * A type whose blocks divide rows of a length.
 * @param {Stored} type
 * @param {number} cols
 * @returns {Stored}
 */
function fitting(type, cols) {
  const divides = (/** @type {Stored} */ t) =>
    cols % BLOCKS[/** @type {import('../../base/dtype_names.js').Dtype} */ (t.toLowerCase())][0] === 0;
  const narrower = divides(type) ? type : (NARROWER[type] ?? type);
  return divides(narrower) ? narrower : 'F16';
}
