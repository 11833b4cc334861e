// dom.js - makes elements; what is written in them is only ever text

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * A bar of a share.
 * @param {number} share  0..1
 */
export function bar(share) {
  const fill = made('i');
  fill.style.inlineSize = `${100 * Math.min(1, Math.max(0, share))}%`;
  return made('span', { class: 'track', 'aria-hidden': 'true' }, fill);
}
