// lazy_value.js - values that are made at their first use

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

/** Most values of a map of the newest. */
const NEWEST = 8;

/**
 * Does what `remembered` does, for a map that keeps the values that were asked for last.
 * @template K, V
 * @param {Map<K, V>} map  the newest is its last
 * @param {K} key
 * @param {() => V} make
 * @returns {V}
 */
export function rememberedNewest(map, key, make) {
  const value = map.get(key) ?? make();
  map.delete(key);
  map.set(key, value);
  if (map.size > NEWEST) map.delete([...map.keys()][0]);
  return value;
}
