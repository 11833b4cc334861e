// node-flags.js - flags with which an older Node runs the relaxed binary.

/** Node 20 has relaxed SIMD behind a flag, and its first compiler tier (Liftoff) miscompiles it. */
export const relaxedSimd = process.versions.node.startsWith('20.')
  ? ['--experimental-wasm-relaxed-simd', '--no-liftoff']
  : [];
