// node-flags.js - what an older Node needs to run the relaxed binary.

/** Node 20 knows relaxed SIMD but hides it, and its first compiler tier miscompiles it. */
export const relaxedSimd = process.versions.node.startsWith('20.')
  ? ['--experimental-wasm-relaxed-simd', '--no-liftoff']
  : [];
