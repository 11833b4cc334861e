// position_tables.js - tables with a row for each position that classes save: rotary angles, sines and cosines,
// sinusoidal positions. What they contain is compared with the configuration.
import { rotaryDim } from '../../engine/config/config.js';
import { show } from '../../base/errors.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Found } from './buffers.js' */
/**
 * Values along the positions. error: how far one may be from the computed one in the first rows.
 * @typedef {{data: Float64Array, rows: number, cols: number, error: number}} Table
 */

/** How far a frequency may be from the computed one, of its size. */
const NEAR = 2e-3;
/** What the rounding of an angle adds at each position. */
const ANGLE_ERROR = 2e-7;
/** Rows of a table that are compared with the frequencies of a configuration. */
const ROWS_COMPARED = 8;

/** @param {number} a @param {number} b */
export const near = (a, b) => Math.abs(a - b) <= NEAR * Math.max(1e-3, Math.abs(b));

/**
 * Position times frequency.
 * @param {Table} table
 * @param {Config} config
 * @returns {Found | null}
 */
export function angles({ data, rows, cols }, config) {
  if (rows < 3 || data[cols] !== 1) return null;
  for (let i = 0; i < data.length; i++)
    if (!near(data[i], Math.floor(i / cols) * data[cols + (i % cols)]) && data[i] !== 0) return null;
  const wrong = wrongFrequencies(config, cols, (i) => data[cols + i]);
  return { kind: 'a table of rotary angles', wrong };
}

/**
 * Sines and cosines: each column is a wave along the positions that begins at 0 or at its highest value.
 * @param {Table} table
 * @param {Config} config
 * @returns {Found | null}
 */
export function sines(table, config) {
  const { data, rows, cols, error } = table;
  const most = data.subarray(0, cols).reduce((m, x) => Math.max(m, Math.abs(x)), 0) || 1;
  const starts = data.subarray(0, cols).every((x) => Math.abs(x) <= error || Math.abs(Math.abs(x) - most) <= error);
  if (rows < 3 || !starts) return null;
  for (let c = 0; c < cols; c++) if (!isWave(table, c)) return null;
  const isPosition = config.position === 'sinusoidal';
  const kind = isPosition ? 'a table of sinusoidal positions' : 'a table of sines';
  if (config.position !== 'rope' && !isPosition) {
    const wrong = `the configuration has position ${show(config.position)}, expected "rope" or "sinusoidal"`;
    return { kind, wrong };
  }
  const wrong = isPosition ? wrongPositions(table, config) : wrongRotation(table, config, most);
  return { kind, wrong };
}

/**
 * Whether a column has x[p - 1] + x[p + 1] = 2 cos(f) x[p] for one frequency f, as every sampled wave has.
 * @param {Table} table
 * @param {number} c
 */
function isWave({ data, rows, cols, error }, c) {
  const most = 4 * (error + rows * ANGLE_ERROR);
  const at = (/** @type {number} */ p) => data[p * cols + c];
  let [product, square] = [0, 0];
  for (let p = 1; p + 1 < rows; p++) {
    product += (at(p - 1) + at(p + 1)) * at(p);
    square += at(p) ** 2;
  }
  const twice = square > 0 ? product / square : 2;
  if (Math.abs(twice) > 2 + most) return false;
  for (let p = 1; p + 1 < rows; p++) if (Math.abs(at(p - 1) + at(p + 1) - twice * at(p)) > most) return false;
  return true;
}

/**
 * What the frequencies of a table say about rope_theta, where the configuration says something else.
 * @param {Config} config
 * @param {number} n  frequencies
 * @param {(i: number) => number} at
 */
export function wrongFrequencies(config, n, at) {
  if (config.position !== 'rope') return `the configuration has position ${show(config.position)}, expected "rope"`;
  if (config.rope_scaling !== 'none' || n < 2) return undefined;
  const dim = rotaryDim(config);
  const i = n > dim / 2 && at(1) === 1 ? 2 : 1; // each frequency may stand there twice
  if (near(at(i), config.rope_theta ** (-2 / dim))) return undefined;
  return otherTheta(at(i), dim, config);
}

/**
 * @param {number} frequency  of the second pair
 * @param {number} dim  components that are rotated
 * @param {Config} config
 */
const otherTheta = (frequency, dim, { rope_theta: theta }) =>
  `made for the rope_theta ${Number((frequency ** (-dim / 2)).toPrecision(3))} where ${dim} components are rotated, ` +
  `and the configuration says ${theta}`;

/**
 * What a table of cosines, sines or both says about the rotation, where the configuration says something else.
 * @param {Table} table
 * @param {Config} config
 * @param {number} scale  of its values
 */
function wrongRotation({ data, rows, cols, error }, config, scale) {
  const dim = rotaryDim(config);
  const compared = Math.min(rows, ROWS_COMPARED);
  if (config.rope_scaling === 'none')
    for (let c = 0; c < cols; c++) {
      const wave = Math.abs(data[c]) <= error ? Math.sin : Math.cos;
      const fits = (/** @type {number} */ f) => {
        for (let p = 0; p < compared; p++)
          if (Math.abs(Math.abs(data[p * cols + c]) - scale * Math.abs(wave(p * f))) > error) return false;
        return true;
      };
      let found = false;
      for (let i = 0; i < dim && !found; i += 2) found = fits(config.rope_theta ** (-i / dim));
      if (!found) {
        const x = data[cols + c] / scale;
        const f = wave === Math.sin ? Math.asin(Math.min(1, Math.abs(x))) : Math.acos(Math.max(-1, Math.min(1, x)));
        return cols < 2 || c > 2
          ? `other frequencies than rope_theta ${config.rope_theta} has`
          : otherTheta(f, dim, config);
      }
    }
  if (cols !== dim || dim < 4) return undefined;
  const same = (/** @type {number} */ a, /** @type {number} */ b) => {
    for (let p = 0; p < rows; p++) if (Math.abs(data[p * cols + a] - data[p * cols + b]) > error) return false;
    return true;
  };
  const pairs = same(0, 1) ? 'adjacent' : same(0, cols / 2) ? 'half' : config.rope_pairs;
  if (pairs === config.rope_pairs) return undefined;
  return `made for rope_pairs ${show(pairs)}, and the configuration says ${show(config.rope_pairs)}`;
}

/**
 * What a table of sinusoidal positions says about their order, where the configuration says something else.
 * @param {Table} table
 * @param {Config} config
 */
function wrongPositions(
  { data, rows, cols, error },
  { d_model: width, sinusoid_pairs: pairs, position_offset: first },
) {
  if (cols !== width) return `${cols} columns, expected d_model ${width}`;
  const isInclusive = pairs === 'half_inclusive';
  const half = isInclusive ? width >> 1 : Math.ceil(width / 2);
  for (let p = 0; p < Math.min(rows, ROWS_COMPARED); p++)
    for (let c = 0; c < width; c++) {
      const [i, wave] =
        pairs === 'adjacent' ? [c >> 1, c % 2 ? Math.cos : Math.sin] : [c % half, c < half ? Math.sin : Math.cos];
      const power = isInclusive ? -i / (half - 1) : (-2 * i) / width;
      if (Math.abs(data[p * cols + c] - wave((first + p) * 10000 ** power)) > error)
        return `row ${p} has ${data[p * cols + c].toPrecision(4)} at ${c}, which sinusoid_pairs ${show(pairs)} has not`;
    }
  return undefined;
}
