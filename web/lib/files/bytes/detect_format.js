// detect_format.js - recognises the format of a weight file by its first bytes and its name
import { fail, show } from '../../base/errors.js';

/** @import { ByteReader } from './chunks.js' */

/** @typedef {'gguf' | 'safetensors' | 'pytorch' | 'llama2c' | 'llmc'} Format */

/** First four bytes of llama2.c's versions 1 and 2, little-endian: "ak42" read as a big-endian number. */
export const LLAMA2C_MAGIC = 0x616b3432;
/** First four bytes of the GPT-2 of llm.c, little-endian. */
const LLMC_MAGIC = 20240326;
/** First four bytes of older torch.save files, little-endian: pickle protocol 2, then an integer of ten bytes. */
const PICKLE_MAGIC = 0x0a8a0280;
/** First four bytes of a zip archive, which torch.save writes since version 1.6. */
const ZIP_MAGIC = 0x04034b50;

/**
 * Whether a file could begin with the seven sizes of llama2.c's version 0, which has no magic number.
 * @param {DataView} v  the first bytes of the file
 */
function plausibleV0(v) {
  if (v.byteLength < 28) return false;
  const [d, ff, layers, heads, kv, vocab, context] = Array.from({ length: 7 }, (_, i) => v.getInt32(4 * i, true));
  return (
    [d, ff, layers, heads, kv, Math.abs(vocab), context].every((n) => n > 0 && n < 1 << 24) &&
    d % heads === 0 &&
    heads % kv === 0
  );
}

/**
 * The format of a weight file. Nothing is consumed. An unknown format is refused.
 * @param {ByteReader} r  at the start of the file
 * @param {boolean} hasConfig  whether the caller supplied a configuration, which only safetensors need
 * @returns {Promise<Format>}
 */
export async function detectFormat(r, hasConfig) {
  const head = await r.peek(28);
  const name = r.name.replace(/[?#].*$/, '').toLowerCase();
  const text = new TextDecoder('latin1').decode(head.subarray(0, 4));
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const magic = head.length < 4 ? 0 : view.getUint32(0, true);
  if (!head.length) return fail('truncated', `${r.name}: the file is empty`);
  if (text === 'GGUF' || name.endsWith('.gguf')) return 'gguf';
  if (name.endsWith('.safetensors')) return 'safetensors';
  if (magic === LLAMA2C_MAGIC) return 'llama2c';
  if (magic === LLMC_MAGIC) return 'llmc';
  if (magic === ZIP_MAGIC) return 'pytorch';
  if (magic === PICKLE_MAGIC)
    return fail(
      'unsupported',
      `${r.name}: this is a pickle in the format of PyTorch before version 1.6, expected its zip format: ` +
        "torch.save(torch.load(file), file) writes it again in today's format",
    );
  if (name.endsWith('.bin') && plausibleV0(view)) return 'llama2c';
  // before foreign files: a header of 640 bytes begins like a pickle
  if (head.length > 8 && view.getUint32(4, true) === 0 && head[8] === 0x7b) return 'safetensors';
  const { foreignFile } = await import('./foreign_files.js');
  const foreign = foreignFile(head, name);
  if (foreign) fail('unknown-format', `${r.name}: this is ${foreign}`);
  if (hasConfig) return 'safetensors';
  if (plausibleV0(view)) return 'llama2c';
  return fail(
    'unknown-format',
    `${r.name}: begins with ${show(text)}, which is neither GGUF, safetensors, PyTorch, llama2.c nor llm.c` +
      (name.endsWith('.bin') ? '; a .bin of other programs may hold token ids' : ''),
  );
}
