// write_dictionary.js - writes a dictionary in SAELens's format: cfg.json and sae_weights.safetensors
//
// SAELens 6 reads what is written here (sae_lens/saes). It has no token table: that is a file of its own,
// token_table.safetensors, and the dictionary describes what is left after it. It has no TopK transcoder either: one
// whose input is as wide as its output is written as a TopK with hook_name_out. With int8 the matrices are
// rounded row by row, `NAME.scale` beside them, which this package alone reads.
import { oneOf, checkedOptions } from '../../base/checks.js';
import { wholeRows } from '../../engine/stored_rows.js';
import { toSafetensors } from '../../files/bytes/tensor_files.js';

/** @import { Model } from '../../api/model.js' */
/** @import { DictionaryWeights } from './sparse_dictionary.js' */

/** The version of SAELens whose format this is. */
const SAE_LENS = '6.54.12';

const utf8 = new TextEncoder();

/**
 * The transpose of [rows, cols].
 * @param {Float32Array} x
 * @param {number} rows
 * @param {number} cols
 */
export function transposed(x, rows, cols) {
  const out = new Float32Array(x.length);
  for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) out[c * rows + r] = x[r * cols + c];
  return out;
}

/**
 * Rows rounded to steps of max|x| / 127.
 * @param {Float32Array} x  [rows, cols]
 * @param {number} cols
 */
function rounded(x, cols) {
  const rows = x.length / cols;
  const scale = new Float32Array(rows);
  const data = new Int8Array(x.length);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) scale[r] = Math.max(scale[r], Math.abs(x[r * cols + c]) / 127);
    for (let c = 0; c < cols; c++) data[r * cols + c] = scale[r] ? Math.round(x[r * cols + c] / scale[r]) : 0;
  }
  return { data, scale };
}

/** normalize_activations, by the norm of DictionaryWeights. */
const NORMS = ['none', 'constant_norm_rescale', 'layer_norm'];

/**
 * The configuration, with the provenance in metadata.glassformer.
 * @param {DictionaryWeights} w
 * @param {Model | null} model
 */
function configOf({ at, out, architecture, dIn, dOut, size, k, from, norm, afterGain, provenance }, model) {
  return {
    architecture: k ? (out && dIn !== dOut ? 'topk_transcoder' : 'topk') : architecture,
    d_in: dIn,
    d_sae: size,
    ...(out && { d_out: dOut }),
    dtype: 'float32',
    device: 'cpu',
    apply_b_dec_to_input: false,
    normalize_activations: NORMS[norm],
    reshape_activations: /hook_z$/.test(at) ? 'hook_z' : 'none',
    ...(k && { k, rescale_acts_by_decoder_norm: false }),
    metadata: {
      sae_lens_version: SAE_LENS,
      model_name: provenance.model_name ?? 'glassformer',
      hook_name: afterGain ? at.replace('ln2.hook_normalized', 'mlp.hook_in') : at,
      ...(out && { hook_name_out: out }),
      hook_head_index: null,
      prepend_bos: true,
      seqpos_slice: [from, null],
      context_size: model?.contextLength ?? null,
      glassformer: provenance,
    },
  };
}

/**
 * Biases and thresholds, by SAELens's names.
 * @param {DictionaryWeights} w
 * @returns {Record<string, Float32Array>}
 */
function vectorsOf({ architecture, size, vectors, bDec }) {
  const part = (/** @type {number} */ i) => vectors.slice(i * size, (i + 1) * size);
  if (architecture === 'gated') return { b_gate: part(0), r_mag: part(2).map(Math.log), b_mag: part(3), b_dec: bDec };
  return { b_enc: part(0), b_dec: bDec, ...(architecture.startsWith('jumprelu') && { threshold: part(1) }) };
}

/**
 * @param {DictionaryWeights} w
 * @param {Model | null} model
 * @param {{dtype?: 'f32' | 'int8'}} [options]
 * @returns {{name: string, bytes: Uint8Array<ArrayBuffer>}[]}
 */
export function writeDictionary(w, model, options = {}) {
  const { dtype = 'f32' } = checkedOptions('files', options, { dtype: oneOf('f32', 'int8') });
  const { dIn, dOut, size } = w;
  const [wEnc, wDec] = [wholeRows(w.wEnc, dIn), wholeRows(w.wDec, dOut)];
  /** @type {Record<string, any>} */
  const tensors = {};
  /** @type {Record<string, any>} */
  const tables = {};
  const put = (
    /** @type {Record<string, any>} */ to,
    /** @type {string} */ name,
    /** @type {Float32Array} */ x,
    /** @type {number} */ cols,
  ) => {
    const { data, scale } = rounded(x, cols);
    to[name] = { data, shape: [x.length / cols, cols] };
    to[`${name}.scale`] = { data: scale, shape: [scale.length] };
  };
  if (dtype === 'int8') {
    put(tensors, 'W_enc', wEnc, dIn);
    put(tensors, 'W_dec', wDec, dOut);
  } else {
    tensors.W_enc = { data: transposed(wEnc, size, dIn), shape: [dIn, size] };
    tensors.W_dec = { data: wDec, shape: [size, dOut] };
  }
  for (const [name, data] of Object.entries(vectorsOf(w))) tensors[name] = { data, shape: [data.length] };
  if (w.skip) tensors.W_skip = { data: w.skip, shape: [dOut, dIn] };
  for (const [name, table, d] of /** @type {[string, Float32Array | null, number][]} */ ([
    ['table', w.tableIn, dIn],
    ['table_out', w.tableOut, dOut],
  ]))
    if (table && dtype === 'int8') put(tables, name, table, d);
    else if (table) tables[name] = { data: table, shape: [table.length / d, d] };
  const files = [
    { name: 'cfg.json', bytes: utf8.encode(JSON.stringify(configOf(w, model), null, 2)) },
    { name: 'sae_weights.safetensors', bytes: toSafetensors(tensors) },
  ];
  if (w.tableIn) files.push({ name: 'token_table.safetensors', bytes: toSafetensors(tables) });
  return files;
}
