// measured.js - the width of an element, told in the frame after it changed. Told at once, as `bind:clientWidth` does, a
// drawing that depends on it changes the layout while the browser still reports sizes; WebKit calls that an error.

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
  sizes.observe(element);
  tell(element.clientWidth, element);
  return () => {
    sizes.disconnect();
    cancelAnimationFrame(frame);
  };
};
