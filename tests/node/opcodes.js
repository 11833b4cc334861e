// opcodes.js - lists the SIMD instructions of a WebAssembly binary
//
//   node tests/node/opcodes.js FILE.wasm...    prints the relaxed SIMD instructions of each file
//
// Decodes every function body to its end, so that constants are not taken for instructions. Encodings: those of
// wasm_file.js, and the threads proposal.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CODE, sectionsOf } from './wasm_file.js';

/** Relaxed SIMD by its number: the byte 0xfd, then this number in LEB128. @type {Record<number, string>} */
export const RELAXED = {
  0x100: 'i8x16.relaxed_swizzle',
  0x101: 'i32x4.relaxed_trunc_f32x4_s',
  0x102: 'i32x4.relaxed_trunc_f32x4_u',
  0x103: 'i32x4.relaxed_trunc_f64x2_s_zero',
  0x104: 'i32x4.relaxed_trunc_f64x2_u_zero',
  0x105: 'f32x4.relaxed_madd',
  0x106: 'f32x4.relaxed_nmadd',
  0x107: 'f64x2.relaxed_madd',
  0x108: 'f64x2.relaxed_nmadd',
  0x109: 'i8x16.relaxed_laneselect',
  0x10a: 'i16x8.relaxed_laneselect',
  0x10b: 'i32x4.relaxed_laneselect',
  0x10c: 'i64x2.relaxed_laneselect',
  0x10d: 'f32x4.relaxed_min',
  0x10e: 'f32x4.relaxed_max',
  0x10f: 'f64x2.relaxed_min',
  0x110: 'f64x2.relaxed_max',
  0x111: 'i16x8.relaxed_q15mulr_s',
  0x112: 'i16x8.relaxed_dot_i8x16_i7x16_s',
  0x113: 'i32x4.relaxed_dot_i8x16_i7x16_add_s',
};

const SIMD = 0xfd;

/**
 * Skip a memory operand: alignment, the memory's number where bit 6 says so, offset.
 * @param {import('./wasm_file.js').Reader} r
 */
function memory(r) {
  r.lebs(r.leb() & 0x40 ? 2 : 1);
}

/**
 * Skip the operands of an instruction.
 * @param {import('./wasm_file.js').Reader} r
 * @param {number} prefix 0 for none
 * @param {number} op
 */
function operands(r, prefix, op) {
  const skip = (n) => {
    r.at += n;
  };
  if (prefix === 0xfc) {
    if (op <= 7) return;
    if ([8, 10, 12, 14].includes(op)) return r.lebs(2);
    if (op <= 17) return r.lebs(1);
  } else if (prefix === SIMD) {
    if (op <= 11 || op === 92 || op === 93) return memory(r);
    if (op === 12 || op === 13) return skip(16);
    if (op >= 21 && op <= 34) return skip(1);
    if (op >= 84 && op <= 91) {
      memory(r);
      return skip(1);
    }
    if (op <= 0xff || op in RELAXED) return;
  } else if (prefix === 0xfe) {
    if (op === 3) return skip(1);
    if (op <= 0x4e) return memory(r);
  } else {
    if (op <= 1 || op === 5 || op === 0x0b || op === 0x0f || op === 0x1a || op === 0x1b) return;
    if ([2, 3, 4, 0x0c, 0x0d, 0x10, 0x12].includes(op) || (op >= 0x20 && op <= 0x26)) return r.lebs(1);
    if (op === 0x0e) return r.lebs(r.leb() + 1);
    if (op === 0x11 || op === 0x13) return r.lebs(2);
    if (op === 0x1c) return r.lebs(r.leb());
    if (op >= 0x28 && op <= 0x3e) return memory(r);
    if ((op >= 0x3f && op <= 0x42) || op === 0xd0 || op === 0xd2) return r.lebs(1);
    if (op === 0x43) return skip(4);
    if (op === 0x44) return skip(8);
    if ((op >= 0x45 && op <= 0xc4) || op === 0xd1) return;
  }
  throw new Error(
    `instruction 0x${op.toString(16)}${prefix ? ` after the prefix 0x${prefix.toString(16)}` : ''} is unknown`,
  );
}

/**
 * How often each SIMD instruction occurs, by its number.
 * @param {Uint8Array} bytes  a whole binary
 * @returns {Map<number, number>}
 */
export function simdInstructions(bytes) {
  if (bytes[0] !== 0 || bytes[1] !== 0x61 || bytes[2] !== 0x73 || bytes[3] !== 0x6d)
    throw new Error('the file does not begin with \\0asm');
  const found = new Map();
  for (const { id, content: r } of sectionsOf(bytes)) {
    if (id !== CODE) continue;
    for (let left = r.leb(); left > 0; left--) {
      const length = r.leb(),
        last = r.at + length;
      for (let groups = r.leb(); groups > 0; groups--) r.lebs(2); // locals: their number and type
      while (r.at < last) {
        const first = r.byte(),
          prefix = first >= 0xfc && first <= 0xfe ? first : 0,
          op = prefix ? r.leb() : first;
        if (prefix === SIMD) found.set(op, (found.get(op) ?? 0) + 1);
        operands(r, prefix, op);
      }
      if (r.at !== last) throw new Error(`a function ends at byte ${last}, its last instruction at ${r.at}`);
    }
  }
  return found;
}

/**
 * The relaxed ones among them, by name.
 * @param {Uint8Array} bytes
 * @returns {Map<string, number>}
 */
export function relaxedInstructions(bytes) {
  return new Map(
    [...simdInstructions(bytes)]
      .filter(([op]) => op in RELAXED)
      .sort(([a], [b]) => a - b)
      .map(([op, n]) => [RELAXED[op], n]),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const file of process.argv.slice(2)) {
    const found = [...relaxedInstructions(readFileSync(file))];
    console.log(`${basename(file)}: ${found.map(([name, n]) => `${name} (${n})`).join(', ') || 'no relaxed SIMD'}`);
  }
}
