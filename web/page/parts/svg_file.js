// svg_file.js - a figure of the page as an SVG file that looks the same without the page's style sheets

/** What style sheets set for the drawn elements. */
const STYLES = [
  ...['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'stroke-linecap', 'opacity'],
  ...['font-family', 'font-size', 'font-weight', 'paint-order', 'image-rendering'],
];
const [LINE, SAMPLE, SIDE] = [18, 28, 16]; // px: of a line of the legend, of its sample, around all

/** A copy of an element with its present style as attributes. @param {Element} element */
function styled(element) {
  const copy = /** @type {SVGElement} */ (element.cloneNode(true));
  const copies = [copy, ...copy.querySelectorAll('*')];
  for (const [i, original] of [element, ...element.querySelectorAll('*')].entries()) {
    const style = getComputedStyle(original);
    for (const name of STYLES) copies[i].setAttribute(name, style.getPropertyValue(name));
    copies[i].removeAttribute('class');
  }
  return copy;
}

/** @param {string} name @param {Record<string, string | number>} attributes @param {string} [text] */
function made(name, attributes, text = '') {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

/**
 * The drawing of a figure under its title, above the legend of its curves.
 * @param {Element} figure  with an `svg`, and samples of the curves in `.legend span`
 * @param {string} title
 * @returns {string}
 */
export function svgOf(figure, title) {
  const drawing = /** @type {SVGSVGElement} */ (figure.querySelector('svg'));
  const { width, height } = drawing.viewBox.baseVal;
  const { color, fontFamily } = getComputedStyle(drawing);
  const words = { fill: color, 'font-family': fontFamily, 'font-size': 13 };
  const legend = [...figure.querySelectorAll('.legend span')];
  const whole = { width: width + 2 * SIDE, height: height + (legend.length + 2) * LINE + 2 * SIDE };
  const svg = made('svg', whole);
  const inner = made('g', { transform: `translate(${SIDE} ${SIDE})` });
  const background = getComputedStyle(/** @type {Element} */ (figure.closest('.card'))).backgroundColor;
  svg.append(made('rect', { ...whole, fill: background }), inner);
  inner.append(made('text', { ...words, y: LINE * 0.75, 'font-weight': 600 }, title));
  const copy = styled(drawing);
  for (const [name, value] of Object.entries({ y: LINE * 1.5, width, height, overflow: 'visible' }))
    copy.setAttribute(name, String(value));
  inner.append(copy);
  for (const [i, line] of legend.entries()) {
    const y = height + (i + 2.5) * LINE;
    const sample = made('g', { transform: `translate(0 ${y - 8})` });
    sample.append(styled(/** @type {Element} */ (line.querySelector('path'))));
    inner.append(sample, made('text', { ...words, x: SAMPLE + 8, y }, line.textContent?.trim()));
  }
  return new XMLSerializer().serializeToString(svg);
}
