// figure_svg.js - a figure of the page as an SVG file, or as pixels: it looks the same without the page's style sheets
import { xmlText } from '../state/base/file_text.js';

/** What style sheets set for elements of drawings. */
const STYLES = [
  ...['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'stroke-linecap', 'opacity'],
  ...['fill-opacity', 'stroke-opacity', 'font-family', 'font-size', 'font-weight', 'paint-order', 'image-rendering'],
];
const SIDE = 16; // px around all
const SCALE = 2; // pixels of a CSS pixel
/** Controls, which say nothing on paper. */
const CONTROLS = 'input, select, textarea, button.quiet, .hidden, [hidden], [role="status"]';
const pen = document.createElement('canvas').getContext('2d');

/** @param {string} name @param {Record<string, string | number>} attributes @param {string} [text] */
function made(name, attributes, text = '') {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

/** @param {DOMRect} box */
const placeOf = ({ left, top, width, height }) => ({ x: left, y: top, width, height });

/** A copy of a drawing with its present style as attributes. @param {SVGSVGElement} drawing */
function copyOf(drawing) {
  const copy = /** @type {SVGElement} */ (drawing.cloneNode(true));
  const copies = [copy, ...copy.querySelectorAll('*')];
  for (const [i, original] of [drawing, ...drawing.querySelectorAll('*')].entries()) {
    const style = getComputedStyle(original);
    for (const name of STYLES) copies[i].setAttribute(name, style.getPropertyValue(name));
    copies[i].removeAttribute('class');
    copies[i].removeAttribute('style');
  }
  for (const [key, value] of Object.entries(placeOf(drawing.getBoundingClientRect())))
    copy.setAttribute(key, String(value));
  return copy;
}

/** The lines of a text as the page breaks them. @param {Text} node */
function linesOf(node) {
  const range = document.createRange();
  /** @type {{text: string, box: DOMRect}[]} */
  const lines = [];
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect(),
      last = lines[lines.length - 1];
    if (!last || box.top > last.box.top + 2) lines.push({ text: word, box });
    else Object.assign(last, { text: `${last.text} ${word}`, box: union(last.box, box) });
  }
  return lines;
}

/** @param {DOMRect} a @param {DOMRect} b */
const union = (a, b) => new DOMRect(a.left, a.top, Math.max(a.right, b.right) - a.left, a.height);

/** @param {Text} node @param {CSSStyleDeclaration} style */
function textOf(node, style) {
  return linesOf(node).map(({ text, box }) => {
    if (pen) pen.font = style.font;
    const { fontBoundingBoxAscent: above = 3, fontBoundingBoxDescent: below = 1 } = pen?.measureText(text) ?? {};
    const font = { 'font-family': style.fontFamily, 'font-size': style.fontSize, 'font-weight': style.fontWeight };
    const y = box.top + (box.height * above) / (above + below);
    return made('text', { x: box.left, y, fill: style.color, ...font, textLength: box.width }, text);
  });
}

/** Background and borders. @param {DOMRect} box @param {CSSStyleDeclaration} style */
function boxOf(box, style) {
  const sides = /** @type {const} */ (['Top', 'Right', 'Bottom', 'Left']);
  const widths = sides.map((side) =>
    style[`border${side}Style`] === 'none' ? 0 : parseFloat(style[`border${side}Width`]),
  );
  const whole = widths.every((width) => width === widths[0]) ? widths[0] : 0;
  const parts = [];
  if (whole || !/, 0\)$|^transparent$/.test(style.backgroundColor)) {
    const line = { stroke: whole ? style.borderTopColor : 'none', 'stroke-width': whole };
    const radius = parseFloat(style.borderTopLeftRadius) || 0;
    parts.push(made('rect', { ...placeOf(box), rx: radius, fill: style.backgroundColor, ...line }));
  }
  const { left, right, top, bottom } = box;
  const ends = {
    Top: [left, top, right, top],
    Right: [right, top, right, bottom],
    Bottom: [left, bottom, right, bottom],
    Left: [left, top, left, bottom],
  };
  for (const [i, side] of sides.entries())
    if (!whole && widths[i]) {
      const [x1, y1, x2, y2] = ends[side];
      const dashes = style[`border${side}Style`] === 'dashed' ? '4 3' : 'none';
      const line = { stroke: style[`border${side}Color`], 'stroke-width': widths[i], 'stroke-dasharray': dashes };
      parts.push(made('line', { x1, y1, x2, y2, ...line }));
    }
  return parts;
}

/** An element and all in it, as it lies in the window. @param {Element} element @returns {SVGElement[]} */
function drawn(element) {
  const style = getComputedStyle(element),
    box = element.getBoundingClientRect();
  if (element.matches(CONTROLS) || style.visibility === 'hidden' || style.opacity === '0') return [];
  if (style.display !== 'contents' && (box.width < 1 || box.height < 1) && style.overflow !== 'visible') return [];
  if (element instanceof SVGSVGElement) return box.width ? [copyOf(element)] : [];
  if (element instanceof HTMLCanvasElement) {
    const how = { 'image-rendering': style.imageRendering, preserveAspectRatio: 'none', opacity: style.opacity };
    return box.width ? [made('image', { ...placeOf(box), ...how, href: element.toDataURL() })] : [];
  }
  const inner = [...element.childNodes].flatMap((child) => {
    if (child instanceof Element) return drawn(child);
    return child instanceof Text ? textOf(child, style) : [];
  });
  const group = made('g', style.opacity === '1' ? {} : { opacity: style.opacity });
  group.append(...boxOf(box, style), ...inner);
  if (style.overflow === 'visible') return [group];
  const window = made('svg', { ...placeOf(box), viewBox: `${box.left} ${box.top} ${box.width} ${box.height}` });
  window.append(group);
  return [window];
}

/**
 * A figure as it stands on the page.
 * @param {Element} figure  in a `.card`
 * @param {string} title
 * @param {string} about    from where it is, under it
 * @returns {string}
 */
export function svgOf(figure, title, about) {
  const { left, top, width, height } = figure.getBoundingClientRect();
  const { color, fontFamily } = getComputedStyle(figure);
  const letters = Math.max(40, Math.floor(width / 7.2)); // a letter of 11 px is about 7.2 px wide
  const lines = about.match(new RegExp(`.{1,${letters}}`, 'gu')) ?? [];
  const size = { width: width + 2 * SIDE, height: height + (lines.length + 2) * SIDE };
  const svg = made('svg', { ...size, viewBox: `0 0 ${size.width} ${size.height}` });
  const background = getComputedStyle(/** @type {Element} */ (figure.closest('.card'))).backgroundColor;
  const inner = made('g', { transform: `translate(${SIDE - left} ${SIDE - top})` });
  inner.append(...drawn(figure));
  const words = { x: SIDE, fill: color, 'font-family': fontFamily, 'font-size': 11, opacity: 0.7 };
  svg.append(made('title', {}, title), made('desc', {}, about), made('rect', { ...size, fill: background }), inner);
  svg.append(...lines.map((line, i) => made('text', { ...words, y: height + (i + 2.25) * SIDE }, line)));
  return xmlText(new XMLSerializer().serializeToString(svg));
}

/**
 * An SVG as pixels.
 * @param {string} svg
 * @returns {Promise<Blob>} PNG
 */
export async function pngOf(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), {
    width: SCALE * image.width,
    height: SCALE * image.height,
  });
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the picture is too large'))), 'image/png'),
  );
}
