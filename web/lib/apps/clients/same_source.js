// same_source.js - whether two sources name the same model, for components that make them again in each rendering

/**
 * Addresses are compared by their text, lists and parts by what is in them, files, bytes and everything else by
 * identity.
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
export function isSameSource(a, b) {
  if (a === b) return true;
  const isAddress = (/** @type {any} */ x) => typeof x === 'string' || x instanceof URL;
  if (isAddress(a) || isAddress(b)) return isAddress(a) && isAddress(b) && String(a) === String(b);
  const isPlain = (/** @type {any} */ x) => Array.isArray(x) || (x && Object.getPrototypeOf(x) === Object.prototype);
  if (!isPlain(a) || !isPlain(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => isSameSource(a[key], b[key]));
}
