// typing.js - fields in which a visitor types, for a value that others set too

/**
 * An attachment that shows a text in a field, unless somebody types in it.
 * @param {string} text
 */
export const showing = (text) => (/** @type {HTMLInputElement | HTMLTextAreaElement} */ field) => {
  if (document.activeElement !== field && field.value !== text) field.value = text;
};

/** What Enter does in a text area; with Shift it begins a line. @param {() => void} act */
export const onEnter = (act) => (/** @type {KeyboardEvent} */ event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  act();
};
