// storage.js - a few words that the browser keeps between visits. Where it keeps nothing, site data being blocked or full,
// the page does without them.

/**
 * @param {string} name
 * @returns {string | null}
 */
export function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/**
 * @param {string} name
 * @param {string | null} text null forgets it
 */
export function keep(name, text) {
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    /* what was chosen lasts as long as the page */
  }
}
