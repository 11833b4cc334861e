// inks.js - colours of the style sheet for what is drawn on a canvas

/**
 * What these variables (`--name`) are at an element now, as rgb(…).
 * @param {Element} element
 * @param {readonly string[]} names
 * @returns {Record<string, string>}
 */
export function inksOf(element, names) {
  const probe = document.createElement('i');
  element.append(probe);
  const style = getComputedStyle(probe);
  const colors = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, style.color];
  });
  probe.remove();
  return Object.fromEntries(colors);
}
