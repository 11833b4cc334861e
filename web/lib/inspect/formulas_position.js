// formulas_position.js - the formulas of positions: learned, sinusoidal and rotary ones, and relative biases
import { weight } from './weight.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./explain.js').Term} Term */
/** @typedef {import('./terms.js').Derivation} Derivation */

/**
 * A value of the position embedding: learned, or the sinusoid of Vaswani 2017, section 3.5.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Derivation}
 */
export function positionEmbedding(pass, position, index) {
  const { config: c, model } = pass;
  if (c.position === 'learned') {
    const name = `${pass.stackPrefix === 'encoder.' ? 'encoder.' : ''}position.weight`;
    const row = c.position_offset + countedPosition(pass, position);
    const value = weight(model, name, row)[index];
    return {
      how: 'given',
      formula: `row ${row} of ${name}`,
      terms: [{ name: `position ${row - c.position_offset}`, value, weight: { name, row, column: index, value } }],
    };
  }
  const sines = Math.ceil(c.d_model / 2);
  const [pair, isCosine] =
    c.sinusoid_pairs === 'half' ? [index % sines, index >= sines] : [index >> 1, index % 2 === 1];
  const angle = position / 10000 ** ((2 * pair) / c.d_model);
  const wave = isCosine ? 'cos' : 'sin';
  return {
    how: 'given',
    formula: `${wave}(${position} / 10000^(${2 * pair} / d_model))`,
    terms: [{ name: wave, value: Math[wave](angle), input: angle }],
  };
}

/**
 * The number of tokens before one of them that count as positions; -1 for a token that does not.
 * @param {PassValues} pass
 * @param {number} position
 */
export function countedPosition(pass, position) {
  const pad = pass.config.position_pad_id;
  if (pass.ids[position] === pad) return -1;
  return position - pass.ids.slice(0, position).filter((id) => id === pad).length;
}

/**
 * q or k after RoPE: each pair of dimensions is rotated by position × frequency (Su et al. 2021).
 * @param {PassValues} pass
 * @param {'q'|'k'} which
 * @param {number} position
 * @param {number} head
 * @param {number} index
 * @returns {Derivation}
 */
export function rotation(pass, which, position, head, index) {
  const { config: c } = pass;
  const half = c.d_head / 2;
  const at = pass.inBlock(`attn.hook_${which}`);
  const x = pass.headNormed(which, position, head);
  const pair = c.rope_pairs === 'half' ? index % half : index >> 1;
  const second = c.rope_pairs === 'half' ? index >= half : index % 2 === 1;
  const other = c.rope_pairs === 'half' ? (index + half) % c.d_head : index ^ 1;
  const angle = position * frequency(c, pair);
  const cosine = {
    name: `${which} ${index} × cos`,
    value: x[index] * Math.cos(angle),
    input: x[index],
    from: { at, position, head, index },
  };
  const sine = {
    name: `${which} ${other} × ${second ? '' : '−'}sin`,
    value: x[other] * Math.sin(angle) * (second ? 1 : -1),
    input: x[other],
    from: { at, position, head, index: other },
  };
  return {
    how: 'sum',
    formula: `pair ${pair} rotated by ${position} × ${frequency(c, pair).toPrecision(4)} radians`,
    terms: [cosine, sine],
  };
}

/**
 * The frequency of a pair, with the configuration's scaling.
 * @param {import('../formats/config.js').Config} c
 * @param {number} pair
 * @returns {number} radians per position
 */
function frequency(c, pair) {
  const plain = c.rope_theta ** ((-2 * pair) / c.d_head);
  if (c.rope_scaling === 'linear') return plain / c.rope_factor;
  if (c.rope_scaling !== 'llama3') return plain;
  const { rope_low_freq_factor: low, rope_high_freq_factor: high, rope_original_context: context } = c;
  const rotations = (context * plain) / (2 * Math.PI);
  if (rotations < low) return plain / c.rope_factor;
  if (rotations > high) return plain;
  const smooth = (rotations - low) / (high - low);
  return ((1 - smooth) * plain) / c.rope_factor + smooth * plain;
}

/**
 * The relative position bias of a score.
 * @param {PassValues} pass
 * @param {number} distance  key position minus query position
 * @param {number} head
 * @returns {Term}
 */
export function relativeBias(pass, distance, head) {
  const encodes = pass.config.kind === 'encoder' || pass.stackPrefix === 'encoder.';
  const name = `${pass.stackPrefix === 'encoder.' ? 'encoder.' : ''}relative_bias.weight`;
  const row = relativeBucket(pass.config, encodes, distance);
  const value = weight(pass.model, name, row)[head];
  return { name: `distance ${distance}`, value, weight: { name, row, column: head, value } };
}

/**
 * The bucket of a distance in a table of relative position biases (Raffel et al. 2020): half of the buckets are for one
 * distance each, the others grow in width by a constant factor.
 * @param {import('../formats/config.js').Config} c
 * @param {boolean} twoSided  an encoder's: keys after the query have the upper half
 * @param {number} distance  key position minus query position
 */
function relativeBucket({ relative_buckets: all, relative_max_distance: most }, twoSided, distance) {
  const n = twoSided ? all >> 1 : all;
  const single = n >> 1;
  const first = twoSided && distance > 0 ? n : 0;
  const away = twoSided ? Math.abs(distance) : Math.max(0, -distance);
  if (away < single) return first + away;
  const share = Math.log(away / single) / Math.log(most / single);
  return first + Math.min(n - 1, single + Math.floor(share * (n - single) + 1e-6));
}
