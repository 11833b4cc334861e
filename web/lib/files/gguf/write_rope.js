// write_rope.js - rotary scaling in a GGUF: its metadata keys and its tables of factors
import { rotaryDim } from '../../engine/config/config.js';
import { llama3Divisors } from './rope_freqs.js';
import { f32, text, u32 } from './write_gguf.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Value } from './write_gguf.js' */
/** @import { Out } from './write_model.js' */

/**
 * Equality of values that the engine keeps as f32.
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
export function same(a, b) {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((x, i) => same(x, b[i]));
  return typeof a === 'number' ? Math.abs(a - b) <= 1e-6 * Math.abs(a) : a === b;
}

/**
 * The keys of rotary scaling.
 * @param {Config} c
 * @returns {Record<string, Value>}
 */
export function scalingKeys(c) {
  const prefix = 'rope.scaling.';
  const original = { [`${prefix}original_context_length`]: u32(c.rope_original_context) };
  const natural = c.rope_factor <= 1 ? 1 : 0.1 * Math.log(c.rope_factor) + 1;
  switch (c.rope_scaling) {
    case 'linear':
      return { [`${prefix}type`]: text('linear'), [`${prefix}factor`]: f32(c.rope_factor) };
    case 'yarn':
      return {
        [`${prefix}type`]: text('yarn'),
        [`${prefix}factor`]: f32(c.rope_factor),
        ...original,
        ...(c.rope_beta_fast !== 32 && { [`${prefix}yarn_beta_fast`]: f32(c.rope_beta_fast) }),
        ...(c.rope_beta_slow !== 1 && { [`${prefix}yarn_beta_slow`]: f32(c.rope_beta_slow) }),
        ...(!same(c.rope_attention_factor, natural) && {
          [`${prefix}attn_factor`]: f32(c.rope_attention_factor / natural),
        }),
      };
    case 'longrope':
      return {
        [`${prefix}type`]: text('longrope'),
        ...original,
        [`${prefix}attn_factor`]: f32(c.rope_attention_factor),
      };
    default:
      return {};
  }
}

/**
 * The tables of rotary factors: those of longrope, and the divisors of Llama 3's rule.
 * @param {Config} c
 * @returns {Out[]}
 */
export function ropeTables(c) {
  const table = (/** @type {string} */ name, /** @type {ArrayLike<number>} */ values) => ({
    name,
    shape: [values.length],
    covers: [],
    table: Float32Array.from(values),
  });
  if (c.position !== 'rope') return [];
  if (c.rope_scaling === 'longrope')
    return [
      table('rope_factors_long.weight', c.rope_long_factors),
      table('rope_factors_short.weight', c.rope_short_factors),
    ];
  if (c.rope_scaling !== 'llama3') return [];
  return [table('rope_freqs.weight', llama3Divisors(c, c.rope_theta, rotaryDim(c) / 2))];
}
