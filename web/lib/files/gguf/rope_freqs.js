// rope_freqs.js - reads the tables of rotary factors of a GGUF: divisors, one for each frequency
//
// rope_freqs.weight is Llama 3's scaling. The engine computes it from the four numbers of a Hugging Face configuration,
// which this file recovers from the table. rope_factors_short.weight and rope_factors_long.weight are those of longrope
// (Phi-3), which a configuration contains as they are. A table that does not follow Llama 3's rule is longrope with the
// same factors at every length.
import { fail, show } from '../../base/errors.js';
import { bytesAhead } from '../bytes/read_range.js';

/** @import { Entry } from '../../engine/config/tensor_plan.js' */
/** @import { Bytes } from '../bytes/open_file.js' */
/** @import { ByteReader } from '../bytes/chunks.js' */

const FREQS = 'rope_freqs.weight';
const SHORT = 'rope_factors_short.weight';
const LONG = 'rope_factors_long.weight';
/** Most bytes of a table. */
const MAX_BYTES = 1 << 20;

/**
 * Reads the tables without consuming them.
 * @param {import('../opened_files.js').OpenedFiles} opener
 * @param {(() => Promise<ByteReader>)[]} readers  of the files, at the end of their headers
 * @param {(Bytes | ByteReader)[]} files
 * @param {Entry[]} entries  those that are tables
 * @param {Map<string, any>} meta
 * @returns {Promise<Record<string, any> | null>} fields of a configuration; null for a table of ones: no scaling
 */
export async function readRopeTables(opener, readers, files, entries, meta) {
  /** @type {Map<string, Float32Array>} */
  const tables = new Map();
  for (const e of entries) {
    const r = await readers[e.file]();
    if (e.dtype !== 'f32' || e.packed || e.shape.length !== 1)
      fail('unknown-dtype', `${r.name}: ${e.name} is ${e.dtype} of shape ${show(e.shape)}, expected a list of f32`);
    if (e.bytes > MAX_BYTES) fail('unsupported', `${r.name}: ${e.name} has ${e.shape[0]} factors, which is no table`);
    const bytes = await bytesAhead(opener, r, files[e.file], e);
    const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    tables.set(
      e.name,
      Float32Array.from({ length: e.shape[0] }, (_, i) => v.getFloat32(4 * i, true)),
    );
  }
  return ropeTableFields((await readers[0]()).name, tables, meta);
}

/**
 * The configuration fields of the tables.
 * @param {string} where  file name, for messages
 * @param {Map<string, Float32Array>} tables  by name
 * @param {Map<string, any>} meta
 * @returns {Record<string, any> | null} null for a table of ones: no scaling
 */
export function ropeTableFields(where, tables, meta) {
  const arch = meta.get('general.architecture');
  // Some keys have a list with a value for each layer.
  const value = (/** @type {string} */ key) => [meta.get(`${arch}.${key}`)].flat()[0];
  const width = value('attention.key_length') ?? value('embedding_length') / value('attention.head_count');
  const rotated = value('rope.dimension_count');
  for (const [name, { length }] of tables) {
    const pairs = (rotated ?? width) / 2;
    if (pairs && length !== pairs)
      fail(
        'bad-shape',
        `${where}: ${name} has ${length} factors, expected one for each pair of ` +
          `${rotated === undefined || rotated === width ? 'd_head' : 'rope.dimension_count'}, ${pairs}`,
      );
  }
  const freqs = tables.get(FREQS);
  const divisors = freqs?.every((x) => x === 1) ? undefined : freqs;
  const long = tables.get(LONG);
  const short = tables.get(SHORT);
  const name = divisors ? FREQS : long ? LONG : short ? SHORT : null;
  if (name === null) return null;
  const type = value('rope.scaling.type') ?? 'linear';
  const stretch = value('rope.scaling.factor') ?? value('rope.scale_linear') ?? 1;
  if (type !== 'none' && !(type === 'longrope' && !divisors) && (type !== 'linear' || stretch !== 1))
    fail('unsupported', `${where}: ${name} and ${arch}.rope.scaling ${show(type)} together are not supported`);
  if (divisors && (long || short)) fail('unsupported', `${where}: ${FREQS} beside other tables is not supported`);
  if (!divisors && !(long && short)) fail('missing-tensor', `${where}: ${long ? SHORT : LONG} is missing`);
  const rule = divisors && llama3Scaling(divisors, Number(value('rope.freq_base') ?? 10000));
  return (
    rule ?? {
      rope_scaling: 'longrope',
      rope_short_factors: [...(divisors ?? short ?? [])],
      rope_long_factors: [...(divisors ?? long ?? [])],
      rope_original_context: value('rope.scaling.original_context_length') ?? value('context_length'),
      rope_attention_factor: value('rope.scaling.attn_factor') ?? 1,
    }
  );
}

/**
 * The divisors of Llama 3's rule, one for each pair.
 * @param {Record<string, any>} scaling  fields of a configuration
 * @param {number} theta  rope_theta
 * @param {number} pairs
 * @returns {number[]}
 */
export function llama3Divisors(scaling, theta, pairs) {
  const { rope_low_freq_factor: low, rope_high_freq_factor: high, rope_original_context: context } = scaling;
  return Array.from({ length: pairs }, (_, i) => {
    const rotations = (context * theta ** (-i / pairs)) / (2 * Math.PI);
    const smooth = Math.min(1, Math.max(0, (rotations - low) / (high - low)));
    return 1 / ((1 - smooth) / scaling.rope_factor + smooth);
  });
}

/**
 * The numbers of Llama 3's rule that a table of divisors follows. Files have low 1 and high 4; the original context is
 * found by trying powers of two.
 * @param {Float32Array} factors  the table, [rotated components / 2]
 * @param {number} theta  rope_theta
 * @returns {Record<string, any> | null} fields of a configuration; null: it follows no such rule
 */
function llama3Scaling(factors, theta) {
  const rope_factor = factors.reduce((a, b) => Math.max(a, b), 0);
  const known = { rope_scaling: 'llama3', rope_factor, rope_low_freq_factor: 1, rope_high_freq_factor: 4 };
  for (let context = 1; context <= 1 << 20; context *= 2) {
    const scaling = { ...known, rope_original_context: context };
    const rule = llama3Divisors(scaling, theta, factors.length);
    if (factors.every((x, i) => Math.abs(x / rule[i] - 1) < 1e-4)) return scaling;
  }
  return null;
}
