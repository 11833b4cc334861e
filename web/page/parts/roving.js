// roving.js - arrow keys move among the items of a group, of which only the chosen one is in the tab order

/**
 * An attachment for the element around the items. The item that an arrow key reaches gets the focus and is clicked; the
 * items themselves keep `tabindex` 0 on the chosen one and -1 on the others.
 * @param {() => number} [columns]  of a grid; 1: all four arrow keys move by one
 * @param {string} [selector]       which descendants are items
 * @returns {import('svelte/attachments').Attachment<HTMLElement>}
 */
export const roving =
  (columns = () => 1, selector = 'button') =>
  (root) => {
    /** @param {KeyboardEvent} event */
    function move(event) {
      const items = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(selector)]);
      const at = items.indexOf(/** @type {HTMLElement} */ (event.target));
      if (at < 0) return;
      const row = columns();
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + row, ArrowUp: at - row, Home: 0 }[event.key];
      const index = event.key === 'End' ? items.length - 1 : to;
      if (index === undefined) return;
      event.preventDefault();
      items[index]?.focus();
      items[index]?.click();
    }
    root.addEventListener('keydown', move);
    return () => root.removeEventListener('keydown', move);
  };
