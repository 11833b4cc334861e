// wasm_file.js - reads WebAssembly binaries, and makes such as tests need: with less memory, or with a call that traps.
// Encodings: WebAssembly core specification 3.0, section "Binary Format".
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

/** @param {string} name  simd, simd-threads, train, ... */
export const wasmFile = (name) => new URL(`../../web/lib/api/wasm/glassformer-${name}.wasm`, import.meta.url);

const MEMORY = 5,
  EXPORT = 7;
export const CODE = 10;

/** Reads numbers from bytes, in order. */
export class Reader {
  /** @param {Uint8Array} bytes @param {number} [at] */
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  byte() {
    if (this.at >= this.bytes.length) throw new Error('the file ends within a section');
    return this.bytes[this.at++];
  }

  /** Reads an unsigned LEB128 number. Also skips signed ones, which have the same length; their value is not used. */
  leb() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  lebs(n) {
    for (let i = 0; i < n; i++) this.leb();
  }

  text() {
    const length = this.leb();
    return new TextDecoder().decode(this.bytes.subarray(this.at, (this.at += length)));
  }
}

/**
 * The sections of a binary: where each begins and ends, and a reader of its content.
 * @param {Uint8Array} bytes
 */
export function sectionsOf(bytes) {
  const list = [],
    r = new Reader(bytes, 8);
  while (r.at < bytes.length) {
    const from = r.at,
      id = r.byte(),
      size = r.leb(),
      end = r.at + size;
    list.push({ id, from, end, content: new Reader(bytes, r.at) });
    r.at = end;
  }
  return list;
}
const section = (bytes, id) =>
  sectionsOf(bytes).find((each) => each.id === id) ?? assert.fail(`there is no section ${id} in it`);

/** An unsigned LEB128 number. @param {number} n @returns {number[]} */
const leb = (n) => (n > 0x7f ? [(n % 128) | 0x80, ...leb(Math.floor(n / 128))] : [n]);

/**
 * A binary with this limit of its memory, in pages of 64 KiB.
 * @param {number} pages
 * @param {string} [name]  simd or relaxed
 */
export function limited(pages, name = 'simd') {
  const bytes = readFileSync(wasmFile(name)),
    { from, end, content } = section(bytes, MEMORY);
  assert.deepEqual([content.leb(), content.leb()], [1, 1]); // one memory, which has a maximum
  const body = [1, 1, ...leb(content.leb()), ...leb(pages)];
  const parts = [bytes.subarray(0, from), Uint8Array.from([MEMORY, ...leb(body.length), ...body]), bytes.subarray(end)];
  return Uint8Array.from(Buffer.concat(parts));
}

/**
 * The binary with one of its functions replaced by `unreachable`.
 * @param {string} file
 * @param {string} name of an export
 */
export function crippled(file, name) {
  const bytes = Uint8Array.from(readFileSync(wasmFile(file)));
  const imported = WebAssembly.Module.imports(new WebAssembly.Module(bytes)).filter(({ kind }) => kind === 'function');
  const exported = section(bytes, EXPORT).content;
  const indices = new Map(
    Array.from({ length: exported.leb() }, () => [exported.text(), exported.byte() === 0, exported.leb()])
      .filter(([, isFunction]) => isFunction)
      .map(([text, , index]) => [text, index]),
  );
  assert.ok(indices.has(name), `${name} is not exported`);
  const code = section(bytes, CODE).content;
  code.leb(); // the number of bodies, each of which is preceded by its size
  for (let left = indices.get(name) - imported.length; left > 0; left--) {
    const size = code.leb();
    code.at += size;
  }
  const size = code.leb();
  // no locals, unreachable, nop ..., end
  bytes.fill(1, code.at, code.at + size);
  bytes.set([0, 0], code.at);
  bytes[code.at + size - 1] = 0x0b;
  return bytes;
}
