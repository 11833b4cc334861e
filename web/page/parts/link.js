// link.js - links to what the page can show without being loaded again
import { untrack } from 'svelte';

/**
 * The attributes of a link. A plain click does this; with a modifier key the browser opens the link in a tab of its own.
 * @param {() => string} address  asked again when the link is pointed at or focused: the state changes
 * @param {() => void} act
 */
export function linkTo(address, act) {
  const write = (/** @type {{ currentTarget: HTMLAnchorElement }} */ { currentTarget: link }) =>
    (link.href = address());
  return {
    href: untrack(address), // without a subscription to the whole state
    onpointerenter: write,
    onfocus: write,
    onclick(/** @type {MouseEvent} */ event) {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      act();
    },
  };
}
