// buffers.js - tensors that classes save beside their weights and that the engine computes: masks, frequencies,
// positions and the tables of position_tables.js
//
// They are recognised by what they contain, whatever their name. What they contain is compared with the configuration:
// a table for another rope_theta, or a mask in a model without one, is refused, because the numbers would be others.
import { fail, show } from '../../base/errors.js';
import { bufferValues } from './buffer_values.js';
import { angles, near, sines, wrongFrequencies } from './position_tables.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { TensorSource } from '../../engine/config/tensor_plan.js' */
/**
 * What a buffer is. wrong: what the configuration says otherwise.
 * @typedef {{kind: string, wrong?: string}} Found
 */

/** Names that only such buffers have. They are skipped whatever they contain, and a warning says which kind it is. */
const NAMED = /(^|[._])((causal_|attn_|attention_|src_|tgt_)?mask|tri[lu]|(cos|sin)(_cache|_cached|_table|_cis)?)$/;
/** How far a value between -1 and 1 may be from the computed one, by its type. @type {Record<string, number>} */
const ERRORS = { f16: 1e-3, bf16: 8e-3 };
/** Most values of a buffer. */
const MAX_VALUES = 1 << 26;

/**
 * Whether a tensor that is no weight may be a buffer, as far as its name and shape tell.
 * @param {{name: string, shape: number[]}} entry
 */
export function mayBeBuffer({ name, shape }) {
  const n = shape.reduce((a, b) => a * b, 1);
  const isSquare = shape.length >= 2 && shape.at(-1) === shape.at(-2);
  return shape.length > 0 && n <= MAX_VALUES && !(isSquare ? /weight$/ : /(weight|bias)$/).test(name);
}

/**
 * What a skipped tensor is. Throws when it is no buffer, or contradicts the configuration.
 * @param {TensorSource} t
 * @param {Uint8Array} bytes
 * @param {Config} config
 * @param {string} file  for messages
 * @returns {string}  for a warning
 */
export function checkBuffer(t, bytes, config, file) {
  const values = bufferValues(bytes, t.stored ?? t.dtype);
  const found = values && kindOf(values, t.shape, config, ERRORS[t.stored ?? ''] ?? 3e-5);
  if (found?.wrong) fail('bad-config', `${file}: ${t.name} is ${found.kind}: ${found.wrong}`);
  if (found) return `${t.name} (${found.kind})`;
  if (NAMED.test(t.name)) return `${t.name} (by its name: its values are not known)`;
  return fail(
    'unknown-tensor',
    `${file}: ${t.name}: the model has no place for this tensor of shape ${show(t.shape)}, and its values are those ` +
      'of no mask and no table of positions: name it in names, or list it in names.ignore',
  );
}

/**
 * @param {Float64Array} data
 * @param {number[]} shape
 * @param {Config} config
 * @param {number} error  of a value between -1 and 1
 * @returns {Found | null}
 */
function kindOf(data, shape, config, error) {
  const sizes = shape.filter((n) => n !== 1);
  if (sizes.length === 0) return data[0] === 0 || data[0] === 1 ? { kind: 'a mask of one position' } : null;
  if (sizes.length === 1) return sequence(data, config);
  const table = { data, rows: sizes[0], cols: data.length / sizes[0], error };
  return triangle(data, sizes, config) ?? angles(table, config) ?? sines(table, config);
}

// ---- masks

/**
 * A triangle of two values: 1 and 0, or 0 and a large negative number that is added to the scores.
 * @param {Float64Array} data
 * @param {number[]} sizes
 * @param {Config} config
 * @returns {Found | null}
 */
function triangle(data, sizes, { causal, kind }) {
  const [rows, cols] = sizes.slice(-2);
  const [inside, outside] = [data[0], data[1]];
  const isPair =
    (inside === 1 && outside === 0) || (inside === 0 && outside === 1) || (inside === 0 && outside <= -1e4);
  if (!isPair) return null;
  for (let i = 0; i < data.length; i++) {
    const row = Math.floor(i / cols) % rows;
    if (data[i] !== (i % cols <= row ? inside : outside)) return null;
  }
  const wrong = causal && kind !== 'encoder' ? undefined : 'the configuration says that every query sees every key';
  return { kind: 'a causal mask', wrong };
}

// ---- numbers in a row

/**
 * Positions from 0 on, rotary frequencies, or the slopes of ALiBi.
 * @param {Float64Array} data
 * @param {Config} config
 * @returns {Found | null}
 */
function sequence(data, config) {
  if (data.every((x, i) => x === i)) return { kind: 'positions' };
  const ratio = data[1] / data[0];
  const isGeometric = data.every((x, i) => i === 0 || near(x / data[i - 1], ratio));
  if (config.position === 'alibi' && isGeometric && ratio < 1) return { kind: 'slopes' };
  const isScaled = config.rope_scaling !== 'none' && data.every((x, i) => x > 0 && (i === 0 || x <= data[i - 1]));
  if (data[0] !== 1 || !(ratio < 1) || !(isGeometric || isScaled)) return null;
  const kind = 'rotary frequencies';
  return { kind, wrong: wrongFrequencies(config, data.length, (i) => data[i]) };
}
