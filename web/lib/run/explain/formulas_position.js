// formulas_position.js - the formulas of positions: learned, sinusoidal and rotary ones, ALiBi and relative biases
import { short, tableValue } from './terms.js';
import { weight } from '../inspect/weight.js';
import { rotaryDim, rotaryKvHeads, scoreScale, windowOf } from '../../engine/config/config.js';

/** @import { PassValues } from './pass_values.js' */
/** @import { Term } from './explain.js' */
/** @import { Derivation, Formula } from './terms.js' */
/** @import { Config } from '../../engine/config/config.js' */

/**
 * A value of the position embedding: learned, or the sinusoid of Vaswani 2017, section 3.5.
 * @type {Formula}
 */
export function positionEmbedding(pass) {
  const { config: c, position, index } = pass;
  if (c.position === 'learned') {
    const counted = countedPosition(pass);
    return tableValue(pass, `${pass.weightPrefix}position.weight`, c.position_offset + counted, `position ${counted}`);
  }
  const isInclusive = c.sinusoid_pairs === 'half_inclusive';
  const sines = isInclusive ? c.d_model >> 1 : Math.ceil(c.d_model / 2);
  const [pair, isCosine] =
    c.sinusoid_pairs === 'adjacent' ? [index >> 1, index % 2 === 1] : [index % sines, index >= sines];
  const row = c.position_offset + position;
  const angle = row / 10000 ** (isInclusive ? pair / (sines - 1) : (2 * pair) / c.d_model);
  const wave = isCosine ? 'cos' : 'sin';
  return {
    how: 'given',
    formula: `${wave}(${row} / 10000^(${isInclusive ? `${pair} / (d_model / 2 - 1)` : `${2 * pair} / d_model`}))`,
    terms: [{ name: wave, value: Math[wave](angle), input: angle }],
  };
}

/**
 * The number of tokens before one of them that count as positions; -1 for a token that does not.
 * @param {PassValues} pass
 */
function countedPosition({ config: { position_pad_id: pad }, ids, position }) {
  return ids[position] === pad ? -1 : position - ids.slice(0, position).filter((id) => id === pad).length;
}

/**
 * q or k after RoPE: each pair of dimensions is rotated by position × frequency (Su et al. 2021).
 * @param {PassValues} pass
 * @param {'q'|'k'} which
 * @returns {Derivation}
 */
export function rotation(pass, which) {
  const { config: c, position, head, index } = pass;
  const size = rotaryDim(c);
  const at = pass.inBlock(`attn.hook_${which}`);
  const x = pass.headNormed(which, position, head);
  const normed = c.qk_norm_rotated ? normAfter(pass, which, x) : 1;
  const part = (/** @type {number} */ i, /** @type {string} */ name, /** @type {number} */ by) => ({
    name: `${which} ${i}${name}`,
    value: x[i] * by * normed,
    input: x[i],
    from: { at, position, head, index: i },
  });
  const groups = rotaryKvHeads(c),
    inGroup = (which === 'q' ? pass.kvHead : head) < groups;
  if (!inGroup || index >= size) {
    const first = inGroup ? `${size} dimensions` : `${groups} kv heads and their queries`;
    return { how: 'sum', formula: `only the first ${first} rotate`, terms: [part(index, '', 1)] };
  }
  const half = size / 2;
  const [pair, isSecond, other] =
    c.rope_pairs === 'half'
      ? [index % half, index >= half, (index + half) % size]
      : [index >> 1, index % 2 === 1, index ^ 1];
  const local = c.rope_local_theta > 0 && windowOf(c, pass.layer) > 0;
  const turn = local ? c.rope_local_theta ** ((-2 * pair) / size) : frequency(c, pair, pass.ids.length);
  const scale = local ? 1 : c.rope_attention_factor;
  const ends = scale === 1 ? '' : `, times ${short(scale)}`;
  const angle = position * turn;
  return {
    how: 'sum',
    formula: `pair ${pair} rotated by ${position} × ${turn.toPrecision(4)} radians${ends}`,
    terms: [
      part(index, ' × cos', scale * Math.cos(angle)),
      part(other, isSecond ? ' × sin' : ' × −sin', scale * Math.sin(angle) * (isSecond ? 1 : -1)),
    ],
  };
}

/**
 * What the norm of a rotated q or k multiplies its dimension by. A rotation changes no pair's length.
 * @param {PassValues} pass
 * @param {'q'|'k'} which
 * @param {ArrayLike<number>} x  q or k of a head before the rotation
 */
function normAfter({ config: c, block, model, index, layer }, which, x) {
  const size = c.rope_local_theta > 0 && windowOf(c, layer) > 0 ? 0 : rotaryDim(c);
  const squares = Array.from(x, (v, i) => (v * (i < size ? c.rope_attention_factor : 1)) ** 2);
  const gain = c.norm_gain ? weight(model, `${block}.attn.${which}_norm.weight`)[index] : 1;
  return gain / Math.sqrt(squares.reduce((a, b) => a + b, 0) / x.length + c.norm_eps);
}

/**
 * The frequency of a pair, with the configuration's scaling. Sources: src/model/layers/position_tables.c.
 * @param {Config} c
 * @param {number} pair
 * @param {number} length  of the sequence
 * @returns {number} radians per position
 */
function frequency(c, pair, length) {
  const size = rotaryDim(c);
  const { rope_factor: factor, rope_original_context: context } = c;
  const isLonger = length > context;
  const theta =
    c.rope_scaling === 'dynamic' && isLonger
      ? c.rope_theta * ((factor * length) / context - (factor - 1)) ** (size / (size - 2))
      : c.rope_theta;
  const plain = theta ** ((-2 * pair) / size);
  switch (c.rope_scaling) {
    case 'linear':
      return plain / factor;
    case 'llama3': {
      const { rope_low_freq_factor: low, rope_high_freq_factor: high } = c;
      const rotations = (context * plain) / (2 * Math.PI);
      return mixedFrequency(c, plain, Math.min(1, Math.max(0, (high - rotations) / (high - low))));
    }
    case 'yarn':
      return mixedFrequency(c, plain, yarnRamp(c, pair));
    case 'longrope':
      return plain / (isLonger ? c.rope_long_factors : c.rope_short_factors)[pair];
    default:
      return plain;
  }
}

/**
 * A frequency, divided by the factor in part.
 * @param {Config} c
 * @param {number} plain
 * @param {number} share  0: as it is, 1: divided
 */
const mixedFrequency = (c, plain, share) => plain * (1 - share) + (plain / c.rope_factor) * share;

/**
 * How far a pair is on YaRN's ramp (Peng et al. 2023), from the pairs that turn often in the original context, 0, to
 * those that turn seldom, 1.
 * @param {Config} c
 * @param {number} pair
 */
function yarnRamp(c, pair) {
  const size = rotaryDim(c);
  const turning = (/** @type {number} */ turns) =>
    (size * Math.log(c.rope_original_context / (2 * Math.PI * turns))) / (2 * Math.log(c.rope_theta));
  const [first, last] = [turning(c.rope_beta_fast), turning(c.rope_beta_slow)];
  const low = Math.max(0, c.rope_truncate ? Math.floor(first) : first);
  const high = Math.min(size - 1, c.rope_truncate ? Math.ceil(last) : last);
  return Math.min(1, Math.max(0, (pair - low) / (high - low || 0.001)));
}

/**
 * ALiBi's bias of a score (Press et al. 2022): the distance times the head's slope.
 * @param {PassValues} pass
 * @returns {Term}
 */
export function alibi({ config: c, layer, position, head, index }) {
  const distance = index - position;
  const power = 2 ** Math.floor(Math.log2(c.n_heads));
  const share = head < power ? (head + 1) / power : (head - power + 0.5) / power;
  const slope = 2 ** (-c.alibi_max * share) * (c.alibi_scaled ? scoreScale(c, layer) : 1);
  return { name: `distance ${distance} × slope`, value: -slope * Math.abs(distance), input: distance };
}

/**
 * The relative position bias of a score.
 * @param {PassValues} pass
 * @returns {Term}
 */
export function relativeBias({ config: c, model, weightPrefix, encodes, position, head, index }) {
  const distance = index - position;
  const name = `${weightPrefix}relative_bias.weight`;
  const row = relativeBucket(c, encodes, distance);
  const value = weight(model, name, row)[head];
  return { name: `distance ${distance}`, value, weight: { name, row, column: head, value } };
}

/**
 * The bucket of a distance in a table of relative position biases (Raffel et al. 2020): half of the buckets are for one
 * distance each, the others grow in width by a constant factor.
 * @param {Config} c
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
