// vector_steps.js - one vector through a norm, as plain arithmetic

/**
 * @param {Float32Array} x
 * @param {'layernorm' | 'rmsnorm'} kind
 * @param {number} eps  inside the root
 * @returns {{ name: 'input' | 'centred' | 'rescaled', numbers: Float32Array, value: number }[]}  value: length of the
 *   input; its mean; what the numbers are divided by
 */
export function normSteps(x, kind, eps) {
  const mean = kind === 'layernorm' ? x.reduce((sum, v) => sum + v, 0) / x.length : 0;
  const centred = x.map((v) => v - mean);
  const size = Math.sqrt(centred.reduce((sum, v) => sum + v * v, 0) / x.length + eps);
  return [
    { name: /** @type {const} */ ('input'), numbers: x, value: Math.hypot(...x) },
    ...(kind === 'layernorm' ? [{ name: /** @type {const} */ ('centred'), numbers: centred, value: mean }] : []),
    { name: /** @type {const} */ ('rescaled'), numbers: centred.map((v) => v / size), value: size },
  ];
}
