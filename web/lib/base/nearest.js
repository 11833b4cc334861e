// nearest.js - the name that a misspelt one probably means, for messages

/** A name without what spellings differ in: topP, top_p, top-p. @param {string} name */
const bare = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/**
 * How many letters lie between what two names have in common at their beginnings and ends.
 * @param {string} a
 * @param {string} b
 */
function difference(a, b) {
  const [short, long] = [Math.min(a.length, b.length), Math.max(a.length, b.length)];
  let same = 0;
  while (same < short && a[same] === b[same]) same++;
  for (let i = 1; same < short && a.at(-i) === b.at(-i); i++) same++;
  return long - same;
}

/**
 * A question about the nearest of some names; '' where none is near.
 * @param {string} given
 * @param {readonly string[]} names
 * @returns {string}
 */
export function didYouMean(given, names) {
  const own = bare(given);
  const [best] = names
    .map((name) => ({ name, d: difference(own, bare(name)) }))
    .filter(({ d }) => d <= 2 && d * 2 <= own.length)
    .sort((a, b) => a.d - b.d);
  return best ? `: did you mean ${best.name}?` : '';
}
