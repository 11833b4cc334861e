// isa.js - the x86 instruction sets that V8 can be limited to, and a test of which one it uses
//
// V8 compiles the same WebAssembly to other instructions when a flag takes an extension away, so one machine shows how
// every older one of its kind would compute (at its own clock and caches). The flags apply to all WebAssembly of a
// process, so every engine in a browser runs under the same ones.

/**
 * @typedef {object} Isa
 * @property {string} label
 * @property {string[]} without  extensions that V8 must not use
 * @property {string} dot  how i32x4.relaxed_dot_i8x16_i7x16_add reads its second operand
 * @property {boolean} fused  whether f32x4.relaxed_madd rounds once
 */

/** @type {Record<string, Isa>} */
export const ISAS = {
  vnni: { label: 'AVX-VNNI', without: [], dot: 'unsigned', fused: true },
  avx2: { label: 'AVX2', without: ['avx-vnni', 'avx-vnni-int8'], dot: 'saturating', fused: true },
  sse: { label: 'SSE4', without: ['avx-vnni', 'avx-vnni-int8', 'avx2', 'avx'], dot: 'saturating', fused: false },
};

/** V8's flags for an instruction set. */
export const v8Flags = (/** @type {string} */ isa) => ISAS[isa].without.map((extension) => `--no-enable-${extension}`);

/*  (func (export "dot") (param i32 i32) (result i32)
 *    i32x4.extract_lane 0 (i32x4.relaxed_dot_i8x16_i7x16_add_s (i8x16.splat 0) (i8x16.splat 1) (i32x4.splat 0)))
 *  (func (export "madd") (param f32 f32 f32) (result f32)
 *    f32x4.extract_lane 0 (f32x4.relaxed_madd (f32x4.splat 0) (f32x4.splat 1) (f32x4.splat 2)))  */
const PROBE = Uint8Array.from(
  [
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    [1, 14, 2, 0x60, 2, 0x7f, 0x7f, 1, 0x7f, 0x60, 3, 0x7d, 0x7d, 0x7d, 1, 0x7d],
    [3, 3, 2, 0, 1],
    [7, 14, 2, 3, ...[100, 111, 116], 0, 0, 4, ...[109, 97, 100, 100], 0, 1],
    [10, 43, 2],
    [20, 0, 0x20, 0, 0xfd, 0x0f, 0x20, 1, 0xfd, 0x0f, 0x41, 0, 0xfd, 0x11, 0xfd, 0x93, 2, 0xfd, 0x1b, 0, 0x0b],
    [20, 0, 0x20, 0, 0xfd, 0x13, 0x20, 1, 0xfd, 0x13, 0x20, 2, 0xfd, 0x13, 0xfd, 0x85, 2, 0xfd, 0x1f, 0, 0x0b],
  ].flat(),
);

/**
 * What this process computes with. Results of relaxed instructions differ between machines, and show which instructions
 * V8 chose: only vpdpbusd (AVX-VNNI) sums products of unsigned bytes exactly, pmaddubsw saturates, ARM reads signed
 * bytes; only vfmadd (with AVX) rounds a product and sum once.
 * @returns {{ dot: string, fused: boolean } | null} null without relaxed SIMD
 */
export function probe() {
  if (!WebAssembly.validate(PROBE)) return null;
  const { dot, madd } = /** @type {any} */ (new WebAssembly.Instance(new WebAssembly.Module(PROBE)).exports);
  const sum = dot(127, 255),
    a = 1 + 2 ** -12; // a * a = 1 + 2^-11 + 2^-24, whose last bit f32 cannot hold
  return {
    dot: { [4 * 127 * 255]: 'unsigned', [4 * -127]: 'signed', [2 * 32767]: 'saturating' }[sum] ?? `unknown: ${sum}`,
    fused: madd(a, a, -(1 + 2 ** -11)) !== 0,
  };
}

/**
 * Why figures under `isa`'s flags would not be those of `isa`; null when they are.
 * @param {string} isa @param {ReturnType<typeof probe>} found  by a process with these flags
 */
export function missing(isa, found) {
  const { label, dot, fused, without } = ISAS[isa];
  if (!found) return `${isa}: not measured. This V8 has no relaxed SIMD, by which the instruction set is tested`;
  if (found.dot === 'signed') return `${isa}: not measured. This processor is not an x86`;
  if (found.dot === dot && found.fused === fused) return null;
  const lacks = (dot === 'unsigned' && found.dot !== 'unsigned') || (fused && !found.fused);
  return lacks
    ? `${isa}: not measured. This machine, or this V8, has no ${label}`
    : `${isa}: not measured. This V8 does not obey ${without.map((extension) => `--no-enable-${extension}`).join(' ')}`;
}
