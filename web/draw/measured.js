// measured.js - the width of an element, reported in the frame after it changed. `bind:clientWidth` reports it in the
// same frame: a drawing that depends on it then changes the layout while the browser still reports sizes, which WebKit
// calls an error.

/**
 * An attachment.
 * @param {(width: number, element: Element) => void} tell  width in CSS pixels
 */
export const measured = (tell) => (/** @type {Element} */ element) => {
  let frame = 0;
  const sizes = new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => tell(element.clientWidth, element));
  });
  const now = () => tell(element.clientWidth, element);
  sizes.observe(element);
  addEventListener('beforeprint', now); // no frame comes before the page is on paper
  now();
  return () => {
    sizes.disconnect();
    removeEventListener('beforeprint', now);
    cancelAnimationFrame(frame);
  };
};
