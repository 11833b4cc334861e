// rope_freqs.js - reads Llama 3's rotary scaling from a GGUF, where it is a table of divisors, one for each frequency
//
// The engine computes the scaling from the four numbers of a Hugging Face configuration. This file recovers these
// numbers from the table.
import { fail, show } from '../base/errors.js';

const ROPE_FREQS = 'rope_freqs.weight';
/**
 * Largest distance in bytes from the header to the end of that table: the configuration must be complete before the
 * weights are read, and everything before the table is buffered.
 */
const MAX_DISTANCE = 1 << 20;

/**
 * Reads the table without consuming it, and computes the numbers of Llama 3's rule that it follows.
 * @param {import('./bytes.js').ByteReader} r  at the end of the header
 * @param {import('./plan.js').Entry} e  the table
 * @param {Map<string, any>} meta
 * @returns {Promise<Record<string, any> | null>} fields of a configuration; null for a table of ones: no scaling
 */
export async function readRopeFreqs(r, e, meta) {
  const arch = meta.get('general.architecture');
  // Some keys have a list with a value for each layer.
  const value = (/** @type {string} */ key) => [meta.get(`${arch}.${key}`)].flat()[0];
  const pairs = (value('attention.key_length') ?? value('embedding_length') / value('attention.head_count')) / 2;
  if (e.dtype !== 'f32' || e.shape.length !== 1)
    fail('unknown-dtype', `${r.name}: ${ROPE_FREQS} is ${e.dtype} of shape ${show(e.shape)}, expected a list of f32`);
  if (pairs && e.shape[0] !== pairs)
    fail(
      'bad-shape',
      `${r.name}: ${ROPE_FREQS} has ${e.shape[0]} factors, expected one for each pair of d_head, ${pairs}`,
    );
  const from = e.offset - r.pos;
  const end = from + e.bytes;
  if (end > MAX_DISTANCE)
    fail(
      'unsupported',
      `${r.name}: ${ROPE_FREQS} lies ${from} bytes behind the header, expected within ${MAX_DISTANCE}`,
    );
  const bytes = await r.peek(end);
  if (bytes.length < end) r.failTruncated(end, bytes.length, ROPE_FREQS);
  const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const factors = Float32Array.from({ length: e.shape[0] }, (_, i) => v.getFloat32(from + 4 * i, true));
  if (factors.every((x) => x === 1)) return null;
  const type = value('rope.scaling.type') ?? 'linear';
  const stretch = value('rope.scaling.factor') ?? value('rope.scale_linear') ?? 1;
  if (type !== 'none' && (type !== 'linear' || stretch !== 1))
    fail('unsupported', `${r.name}: ${ROPE_FREQS} and ${arch}.rope.scaling ${show(type)} together are not supported`);
  return llama3Scaling(r.name, factors, Number(value('rope.freq_base') ?? 10000));
}

/**
 * The configuration fields of a table of divisors. Files of Llama 3 have low 1 and high 4; the original context is
 * found by trying powers of two.
 * @param {string} where  file name, for messages
 * @param {Float32Array} factors  the table, [d_head / 2]
 * @param {number} theta  rope_theta
 */
function llama3Scaling(where, factors, theta) {
  const factor = factors.reduce((a, b) => Math.max(a, b), 0);
  const low = 1;
  const high = 4;
  for (let context = 8192; context <= 1 << 17; context *= 2) {
    const rule = (/** @type {number} */ i) => {
      const rotations = (context * theta ** (-i / factors.length)) / (2 * Math.PI);
      const smooth = Math.min(1, Math.max(0, (rotations - low) / (high - low)));
      return 1 / ((1 - smooth) / factor + smooth);
    };
    if (factors.every((x, i) => Math.abs(x / rule(i) - 1) < 1e-4)) {
      return {
        rope_scaling: 'llama3',
        rope_factor: factor,
        rope_low_freq_factor: low,
        rope_high_freq_factor: high,
        rope_original_context: context,
      };
    }
  }
  return fail(
    'unsupported',
    `${where}: ${ROPE_FREQS} does not follow Llama 3's rule (low 1, high 4, context 8,192 or more)`,
  );
}
