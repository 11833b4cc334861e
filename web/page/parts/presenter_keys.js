// presenter_keys.js - keys with which a presenter turns pages

/**
 * @param {KeyboardEvent} event
 * @param {boolean} arrows  whether they turn pages too
 * @returns {number | undefined}  pages onward, 0 to leave; undefined: another key, or one for what has the focus
 */
export function turning(event, arrows) {
  const { key, target, altKey, ctrlKey, metaKey, defaultPrevented } = event;
  if (defaultPrevented || altKey || ctrlKey || metaKey) return undefined;
  if (/** @type {Element} */ (target).closest('input, textarea, select, dialog, .part-card')) return undefined;
  const forwards = document.dir === 'rtl' ? -1 : 1; // direction of the arrow to the right
  return { PageDown: 1, PageUp: -1, Escape: 0, ...(arrows && { ArrowRight: forwards, ArrowLeft: -forwards }) }[key];
}
