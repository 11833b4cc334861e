// typing.js - fields in which a visitor types: values that others set too, Enter, their size

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

/**
 * Sizes a text area by its text where CSS cannot yet.
 * @type {import('svelte/attachments').Attachment<HTMLTextAreaElement>}
 */
export function fitted(area) {
  if (CSS.supports('field-sizing', 'content')) return;
  function fit() {
    area.style.blockSize = 'auto';
    area.style.blockSize = `${area.scrollHeight}px`;
  }
  area.addEventListener('input', fit);
  return () => area.removeEventListener('input', fit);
}
