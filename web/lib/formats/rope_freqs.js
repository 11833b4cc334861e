// rope_freqs.js - Llama 3's rotary scaling in GGUF: a table of divisors, one for the frequency of each pair
//
// The engine computes the table from four numbers, as Hugging Face's configurations give them; this file recovers them
// from the table.
import { fail, show } from '../base/errors.js';

const ROPE_FREQS = 'rope_freqs.weight';
/**
 * Bytes behind the header within which that table must lie: the configuration must be complete before the weights are
 * read.
 */
const NEAR = 1 << 20;

/**
 * The numbers of Llama 3's rule that give this table, which is not consumed.
 * @param {import('./bytes.js').ByteReader} r  behind the header
 * @param {import('./plan.js').Entry} e
 * @param {Map<string, any>} meta
 * @returns {Promise<Record<string, any> | null>} fields of a configuration; null: a table of ones, which scales nothing
 */
export async function ropeFreqs(r, e, meta) {
  const arch = meta.get('general.architecture');
  // some keys have a value for each layer
  const of = (/** @type {string} */ key) => [meta.get(`${arch}.${key}`)].flat()[0];
  const pairs = (of('attention.key_length') ?? of('embedding_length') / of('attention.head_count')) / 2;
  if (e.dtype !== 'f32' || e.shape.length !== 1)
    fail('unknown-dtype', `${r.name}: ${ROPE_FREQS} is ${e.dtype} of shape ${show(e.shape)}, expected a list of f32`);
  if (pairs && e.shape[0] !== pairs)
    fail(
      'bad-shape',
      `${r.name}: ${ROPE_FREQS} has ${e.shape[0]} factors, expected one for each pair of d_head, ${pairs}`,
    );
  const from = e.offset - r.pos;
  const end = from + e.bytes;
  if (end > NEAR)
    fail('unsupported', `${r.name}: ${ROPE_FREQS} lies ${from} bytes behind the header, expected within ${NEAR}`);
  const bytes = await r.peek(end);
  if (bytes.length < end) r.short(end, bytes.length, ROPE_FREQS);
  const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const factors = Float32Array.from({ length: e.shape[0] }, (_, i) => v.getFloat32(from + 4 * i, true));
  if (factors.every((x) => x === 1)) return null;
  const type = of('rope.scaling.type') ?? 'linear';
  const stretch = of('rope.scaling.factor') ?? of('rope.scale_linear') ?? 1;
  if (type !== 'none' && (type !== 'linear' || stretch !== 1))
    fail('unsupported', `${r.name}: ${ROPE_FREQS} and ${arch}.rope.scaling ${show(type)} together are not supported`);
  return llama3Scaling(r.name, factors, Number(of('rope.freq_base') ?? 10000));
}

/**
 * @param {string} where
 * @param {Float32Array} factors
 * @param {number} theta
 */
function llama3Scaling(where, factors, theta) {
  const factor = factors.reduce((a, b) => Math.max(a, b), 0);
  const low = 1;
  const high = 4;
  for (let context = 8192; context <= 1 << 17; context *= 2) {
    const rule = (/** @type {number} */ i) => {
      const turns = (context * theta ** (-i / factors.length)) / (2 * Math.PI);
      const smooth = Math.min(1, Math.max(0, (turns - low) / (high - low)));
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
