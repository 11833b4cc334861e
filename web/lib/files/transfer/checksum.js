// checksum.js - the option sha256: the checksum of one file of weights
import { fail, messageOf, show } from '../../base/errors.js';
import { isBytes } from '../../base/checks.js';
import { Yielder } from '../../base/event_loop.js';
import { openBytes } from '../bytes/open_file.js';
import { Sha256 } from './sha256.js';

/** Bytes that are hashed at a time; this takes some 10 ms. */
const HASH_BYTES = 1 << 20;

/**
 * Throws when a checksum is wrong.
 * @param {string} name  of the file
 * @param {string} found
 * @param {string} expected
 */
export function checkDigest(name, found, expected) {
  if (found !== expected) fail('bad-file', `${name}: its SHA-256 is ${found}, expected ${expected}`);
}

/**
 * The SHA-256 of chunks.
 * @param {AsyncIterator<Uint8Array>} chunks
 * @param {AbortSignal} [signal]
 */
async function digestOf(chunks, signal) {
  const hash = new Sha256();
  const yielder = new Yielder(signal);
  for await (const bytes of { [Symbol.asyncIterator]: () => chunks })
    for (let at = 0; at < bytes.length; at += HASH_BYTES) {
      hash.update(bytes.subarray(at, at + HASH_BYTES));
      await yielder.yieldIfDue();
    }
  return hash.digest();
}

/**
 * Checks the option and, of a local file or bytes, the checksum.
 * @param {string} expected  the option
 * @param {any} weights  of the source
 * @param {string} address  of the weights; '' where they have none
 * @param {AbortSignal} [signal]
 */
export async function checkSha256(expected, weights, address, signal) {
  if (typeof expected !== 'string' || !/^[0-9a-f]{64}$/i.test(expected))
    fail('bad-option', `sha256 is ${show(expected)}, expected 64 hexadecimal digits`);
  const isPart = /-\d{5}-of-(?!00001)\d{5}\.gguf(?=[?#]|$)/.test(address);
  if (Array.isArray(weights) || isPart || address.endsWith('/') || /^hf:[^/]*\/[^/]*$/.test(address))
    fail('bad-option', 'sha256 is the checksum of one file of weights, the source is a folder or several files');
  // any other value is refused when the source is opened
  if (!isBytes(weights) || /^(https?|hf|data|blob|stream):/.test(address)) return;
  const { name, chunks } = await openBytes(address || weights, {});
  const found = await digestOf(chunks, signal).catch((error) => {
    signal?.throwIfAborted();
    return fail('bad-file', `${name}: reading failed: ${messageOf(error)}`, error);
  });
  checkDigest(name, found, expected.toLowerCase());
}
