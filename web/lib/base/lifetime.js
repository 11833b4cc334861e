// lifetime.js - when nobody names an object any more: what it held is given back, but not under what still needs it

/** A net only: dispose is the contract. */
export const forgotten = new FinalizationRegistry((/** @type {() => void} */ close) => close());
/** What must not be forgotten while something of its own is under way. @type {WeakMap<object, object>} */
const needed = new WeakMap();
/** @template {object} T @param {T} work @param {object} by @returns {T} the same */
export function kept(work, by) {
  needed.set(work, by);
  return work;
}
