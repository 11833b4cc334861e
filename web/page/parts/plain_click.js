// plain_click.js - links to what the page can show without being loaded again

/**
 * A plain click does this; with a modifier key the browser opens the link in a tab of its own.
 * @param {() => void} act
 */
export const onPlainClick = (act) => (/** @type {MouseEvent} */ event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  act();
};
