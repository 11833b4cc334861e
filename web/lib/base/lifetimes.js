// lifetimes.js - frees the engine-side object of a handle that is garbage-collected, and keeps a handle alive while one
// of its calls runs

/**
 * Calls the registered function when a handle is garbage-collected. `dispose` is the contract; this is the safety net.
 */
export const finalizers = new FinalizationRegistry((/** @type {() => void} */ free) => free());

/**
 * Handles by their running calls: a handle cannot be collected while a promise or generator of its own is reachable.
 * @type {WeakMap<object, object>}
 */
const owners = new WeakMap();

/**
 * Keep a handle alive as long as a call of its own.
 * @template {object} T
 * @param {T} call  a promise or a generator
 * @param {object} handle
 * @returns {T} the same call
 */
export function keepAlive(call, handle) {
  owners.set(call, handle);
  return call;
}
