// feature_link.js - what an address says of the view Features: the dictionary, the chosen feature, and the names that a
// visitor gave
/**
 * How a dictionary was trained here. text: the name of the visitor's text, '' for texts that the model writes itself
 * @typedef {{ at: string, size: number, k: number, tokens: number, seed: number, text: string }} Recipe
 */
/**
 * dictionary: '' the shipped one of the story model, 'files' one from files, or the address of its folder on the hub;
 * recipe: of one that was trained here. sha, weights: the first digits of the SHA-256 of the dictionary's file and of the
 * model's weights, '' where unknown. names: by feature
 * @typedef {{ dictionary: string, recipe: Recipe | null, feature: number, names: Record<number, string>, sha: string,
 *   weights: string, passage: string }} FeatureLink
 */

const DIGITS = 16; // an address has so many of a SHA-256
const [MOST_NAMES, MOST_LETTERS, MOST_PASSAGE] = [100, 60, 5000];

/** The start of a SHA-256 in hex. @param {string} sha */
export const shortSha = (sha) => sha.slice(0, DIGITS);

/** A name as it is kept. @param {string} name */
export const keptName = (name) => name.replace(/\s+/g, ' ').trim().slice(0, MOST_LETTERS);

/** @param {string | null} text */
function objectIn(text) {
  try {
    const found = JSON.parse(text ?? '');
    return found && typeof found === 'object' ? found : null;
  } catch {
    return null;
  }
}

const isCount = (/** @type {unknown} */ n) => Number.isInteger(n) && Number(n) >= 0 && Number(n) < 2 ** 32;

/** @param {any} asked @returns {Recipe | null} */
function recipeOf(asked) {
  if (!asked || typeof asked.at !== 'string' || !/^[\w.]{1,80}$/.test(asked.at)) return null;
  const { at, size, k, tokens, seed, text = '' } = asked;
  if (![size, k, tokens, seed].every(isCount) || typeof text !== 'string') return null;
  return { at, size, k, tokens, seed, text: text.slice(0, 100) };
}

/** @param {any} asked @returns {Record<number, string>} */
function namesOf(asked) {
  const named = Object.entries(asked ?? {}).filter(([i, name]) => isCount(Number(i)) && typeof name === 'string');
  return Object.fromEntries(named.slice(0, MOST_NAMES).map(([i, name]) => [i, keptName(name)]));
}

/**
 * What an address asks for; null: nothing of this view.
 * @param {URLSearchParams} q
 * @returns {FeatureLink | null}
 */
export function featureLinkIn(q) {
  const get = (/** @type {string} */ name) => q.get(name) ?? '';
  const feature = Number(get('feature'));
  if (!q.has('feature') || !isCount(feature)) return null;
  const source = get('dictionary');
  const recipe = recipeOf(objectIn(source));
  const sha = (/** @type {string} */ name) => (/^[0-9a-f]{1,64}$/.test(get(name)) ? shortSha(get(name)) : '');
  return {
    dictionary: recipe ? '' : /^(files|hf:[\w./@-]{3,200})$/.test(source) ? source : '',
    recipe,
    feature,
    names: namesOf(objectIn(get('names'))),
    sha: sha('dictionary-sha256'),
    weights: sha('weights-sha256'),
    passage: get('passage').slice(0, MOST_PASSAGE),
  };
}

/** The keys that an address has of it. */
export const FEATURE_KEYS = ['feature', 'dictionary', 'names', 'dictionary-sha256', 'weights-sha256', 'passage'];

/**
 * @param {URLSearchParams} q  gets the keys
 * @param {FeatureLink} link
 */
export function putFeatureLink(q, { dictionary, recipe, feature, names, sha, weights, passage }) {
  const values = {
    feature: String(feature),
    dictionary: recipe ? JSON.stringify(recipe) : dictionary,
    names: Object.keys(names).length ? JSON.stringify(names) : '',
    'dictionary-sha256': sha,
    'weights-sha256': weights,
    passage,
  };
  for (const [key, value] of Object.entries(values)) if (value) q.set(key, value);
}
