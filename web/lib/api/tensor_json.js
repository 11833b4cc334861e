// tensor_json.js - makes JSON.stringify write a tensor as lists; an array of floats would be an object with its indices
import { setOrigin } from './origins.js';

const PROPERTY = {
  /** @this {{shape: number[], data: Float32Array}} */
  value() {
    return { shape: this.shape, data: Array.from(this.data) };
  },
};

/**
 * Give the tensors in a result, which came from a worker as plain objects, the method that JSON.stringify calls, and
 * their origin.
 * @template T
 * @param {T} result  a tensor, or an object of tensors or of such objects
 * @param {import('./origins.js').Origin} origin
 * @returns {T} the same value
 */
export function withJson(result, origin) {
  if (!result || typeof result !== 'object' || Array.isArray(result)) return result;
  if ('data' in result && 'shape' in result) {
    Object.defineProperty(result, 'toJSON', PROPERTY);
    setOrigin(/** @type {any} */ (result), origin);
  } else for (const value of Object.values(result)) withJson(value, origin);
  return result;
}
