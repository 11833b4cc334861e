// roving.js - arrow keys move among the items of a group, of which only one is in the tab order

/**
 * Where a key leads in a grid.
 * @param {string} key
 * @param {number} at         the selected item
 * @param {number} count      of items
 * @param {number | number[]} columns  items of a row, or of each row
 * @returns {number | undefined}  undefined: the key does not move; it may lie outside of the items
 */
export function target(key, at, count, columns) {
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -at, End: count - 1 - at }[key];
  if (step !== undefined) return at + step;
  const by = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (by === undefined) return undefined;
  if (typeof columns === 'number') return at + by * columns;
  let row = 0,
    first = 0;
  while (at >= first + columns[row]) first += columns[row++];
  const next = columns[row + by];
  if (next === undefined) return -1;
  return (by > 0 ? first + columns[row] : first - next) + Math.min(at - first, next - 1);
}

/** @type {Record<string, string>} */
const MIRRORED = { ArrowLeft: 'ArrowRight', ArrowRight: 'ArrowLeft' };

/**
 * A function that is called with the element around the items, as Svelte's attachments are, and returns how to end it. The item that an arrow key reaches gets the focus and, if `press`, is
 * clicked; the items themselves keep `tabindex` 0 on the one in the tab order and -1 on the others.
 * @param {() => number | number[]} [columns]  of a grid; 1: all four arrow keys move by one
 * @param {string} [selector]       which descendants are items
 * @param {boolean} [press]         false where an item is a switch, not one of a choice
 * @returns {(root: HTMLElement) => () => void}
 */
export const roving =
  (columns = () => 1, selector = 'button', press = true) =>
  (root) => {
    /** @param {KeyboardEvent} event */
    function move(event) {
      const items = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(selector)]);
      const at = items.indexOf(/** @type {HTMLElement} */ (event.target));
      if (at < 0) return;
      const mirrored = getComputedStyle(root).direction === 'rtl' && MIRRORED[event.key];
      const to = target(mirrored || event.key, at, items.length, columns());
      if (to === undefined) return;
      event.preventDefault();
      items[to]?.focus();
      if (press) items[to]?.click();
    }
    root.addEventListener('keydown', move);
    return () => root.removeEventListener('keydown', move);
  };
