// lifetimes.js - frees the engine-side object of a handle that is garbage-collected, keeps a handle alive while one of
// its calls runs, and keeps it out of proxies

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

/**
 * Tell Vue that instances of a class are not made reactive: the private fields of a handle cannot be read through a
 * proxy. It is what Vue's markRaw sets.
 * @param {new (...args: any[]) => object} handle
 */
export const unproxied = (handle) => void Object.defineProperty(handle.prototype, '__v_skip', { value: true });
