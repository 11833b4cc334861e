// remembered.js - values that are made at their first use

/**
 * The value of a key, which is made and stored where the map has none.
 * @template K, V
 * @param {{get(key: K): V | undefined, set(key: K, value: V): unknown}} map  a Map or a WeakMap
 * @param {K} key
 * @param {() => NoInfer<V>} make
 * @returns {V}
 */
export function remembered(map, key, make) {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
