// lifetimes.js - frees the engine-side object of a handle that is garbage-collected, and keeps a handle alive while one
// of its calls runs

/**
 * Calls the registered function when a handle is garbage-collected. `dispose` is the contract; this is the safety net.
 */
export const finalizers = new FinalizationRegistry((/** @type {() => void} */ free) => free());

/**
 * The handle of each running call (a promise or a generator). While the call is reachable, its handle is not collected.
 * @type {WeakMap<object, object>}
 */
const owners = new WeakMap();

/**
 * Keep a handle alive while one of its calls is reachable.
 * @template {object} T
 * @param {T} call  a promise or a generator of the handle
 * @param {object} handle
 * @returns {T} the same call
 */
export function keepAlive(call, handle) {
  owners.set(call, handle);
  return call;
}
