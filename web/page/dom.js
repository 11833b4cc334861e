// dom.js - elements in one line each. Text is only ever text: nothing here reads HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

/** @param {string} tag @param {Record<string, any>} [props] attributes, and listeners under `onclick` and the like
 * @param {...(Node | string | null | false)} children @returns {any} */
export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. @param {string} tag @param {Record<string, any>} [props]
 * @param {...(Node | string | null | false)} children @returns {any} */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** Arrow keys move among `items`, of which exactly one is in the tab order. `columns` makes it a grid.
 * @param {HTMLElement} root @param {() => HTMLElement[]} items @param {() => number} columns */
export function roving(root, items, columns = () => 1) {
  root.addEventListener('keydown', (event) => {
    const list = items();
    const at = list.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (at < 0) return;
    const c = columns();
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: c, ArrowUp: -c, Home: -at, End: list.length - 1 - at }[
      event.key
    ];
    if (step === undefined) return;
    const to = at + step;
    event.preventDefault();
    if (to < 0 || to >= list.length) return;
    list[to].focus();
    list[to].click();
  });
}
