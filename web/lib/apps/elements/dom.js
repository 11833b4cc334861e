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
 * A table whose columns after the first are numbers, and whose last one has bars.
 * @param {string} label
 * @param {string[]} columns  names; the bars have none
 * @param {{ cells: string[], share: number | null }[]} rows  share: length of the bar, 0..1; null for a sum
 */
export function table(label, columns, rows) {
  const cells = (/** @type {string[]} */ [name, ...numbers], /** @type {'row' | 'col'} */ scope) => [
    made('th', { scope }, name),
    ...numbers.map((text) => made(scope === 'col' ? 'th' : 'td', { class: 'n' }, text)),
  ];
  const body = made('tbody');
  for (const { cells: texts, share } of rows) {
    const fill = made('i');
    fill.style.inlineSize = `${100 * Math.min(1, share ?? 0)}%`;
    const track = made('span', { class: 'track', 'aria-hidden': 'true' }, ...(share ? [fill] : []));
    body.append(made('tr', {}, ...cells(texts, 'row'), made('td', { class: 'bar' }, track)));
  }
  const head = made('thead', {}, made('tr', {}, ...cells(columns, 'col'), made('td')));
  const scroll = { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': label };
  return made('div', scroll, made('table', { 'aria-label': label }, head, body));
}
