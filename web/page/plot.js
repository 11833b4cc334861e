// plot.js - curves over a logarithmic axis, in SVG at the size that they are shown at, so that type stays type.

import { el, svg } from './dom.js';
import { power } from './text/format.js';

const LEFT = 40,
  RIGHT = 12,
  TOP = 24,
  BOTTOM = 34; // px

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {string} kind          a class of the style sheet: colour and dashes
 * @property {[number, number][]} points
 * @property {boolean} [dots]       a mark at each point
 *
 * @typedef {object} Picture
 * @property {string} label         what it shows, in words
 * @property {[number, number]} x   first and last
 * @property {string} xName
 * @property {string} yName
 * @property {[number, number]} y   lowest and highest, above 0
 * @property {{ name: string, y: number }[]} [lines]  dotted, across
 * @property {Series[]} series
 */

/** Where rules lie on a logarithmic axis and what is written there: at 1, 2 and 5 of each decade; far from 1 at its powers of
 * ten; of many decades some. @param {[number, number]} axis @returns {{ at: number, text: string }[]} */
function marks([low, high]) {
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const step = to - from > 4 ? Math.ceil((to - from) / 7) : 0; // 0: every decade, with its 2 and 5
  const near = from >= -2 && !step;
  const found = [];
  for (let d = from; d <= to; d++) {
    if (step && d % step) continue;
    for (const m of step ? [1] : [1, 2, 5]) {
      const at = m * 10 ** d;
      if (at >= low * 0.999 && at <= high * 1.001)
        found.push({ at, text: near ? String(Number(at.toPrecision(1))) : m > 1 ? '' : d === 0 ? '1' : power(d) });
    }
  }
  return found;
}

/** Round places on a linear axis, about one each 90 px. */
function places(/** @type {[number, number]} */ [low, high], width) {
  const rough = (high - low) / Math.max(2, width / 90);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, (rough / unit > 5 ? 10 : rough / unit > 2 ? 5 : rough / unit > 1 ? 2 : 1) * unit);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) found.push(v);
  return found;
}

/**
 * A figure that shows one picture at a time.
 * @returns {{ node: HTMLElement, draw: (picture: Picture) => void }}
 */
export function createPlot() {
  const picture = svg('svg', { role: 'img' });
  const legend = el('figcaption', { class: 'legend' });
  const node = el('figure', { class: 'curves' }, picture, legend);
  /** @type {Picture | null} */
  let last = null;
  let legendOf = '';

  function draw(/** @type {Picture} */ now) {
    last = now;
    const width = picture.clientWidth || 600,
      height = picture.clientHeight || 260;
    const [x0, x1] = now.x,
      [y0, y1] = now.y.map(Math.log);
    const x = (/** @type {number} */ v) => LEFT + (x1 === x0 ? 0.5 : (v - x0) / (x1 - x0)) * (width - LEFT - RIGHT);
    const y = (/** @type {number} */ v) =>
      TOP + (1 - (Math.min(y1, Math.max(y0, Math.log(v))) - y0) / (y1 - y0)) * (height - TOP - BOTTOM);
    // which has no place on such an axis: it lies on the foot
    const zero = now.series.some((s) => s.points.some(([, v]) => v === 0));
    const floor = height - BOTTOM;
    const lines = now.lines ?? [];
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.setAttribute('aria-label', now.label);
    picture.replaceChildren(
      ...marks(now.y)
        .filter(({ at }) => !zero || y(at) < floor - 12)
        .flatMap(({ at, text }) => [
          svg('path', { class: 'rule', d: `M${LEFT} ${y(at)}H${width - RIGHT}` }),
          svg('text', { x: LEFT - 8, y: y(at) + 4, 'text-anchor': 'end' }, text),
        ]),
      ...(zero ? [svg('text', { x: LEFT - 8, y: floor + 4, 'text-anchor': 'end' }, '0')] : []),
      svg('path', { class: 'axis', d: `M${LEFT} ${TOP}V${floor}H${width - RIGHT}` }),
      ...places(now.x, width - LEFT).map((v) =>
        svg('text', { x: x(v), y: floor + 16, 'text-anchor': 'middle' }, String(v)),
      ),
      svg('text', { class: 'name', x: width - RIGHT, y: height - 3, 'text-anchor': 'end' }, now.xName),
      svg('text', { class: 'name', x: 0, y: 11 }, now.yName),
      ...lines.map((line) => svg('path', { class: 'level', d: `M${LEFT} ${y(line.y)}H${width - RIGHT}` })),
      ...now.series.flatMap((s) => [
        svg('path', {
          class: `curve ${s.kind}`,
          d: s.points.map(([a, b], i) => `${i ? 'L' : 'M'}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join(''),
        }),
        ...(s.dots
          ? s.points.map(([a, b]) => svg('circle', { class: s.kind, cx: x(a).toFixed(1), cy: y(b).toFixed(1), r: 2.5 }))
          : []),
      ]),
      ...lines.map((line) =>
        svg('text', { class: 'level-name', x: width - RIGHT, y: y(line.y) + 14, 'text-anchor': 'end' }, line.name),
      ),
    );
    const names = now.series.map((s) => s.name).join();
    if (names === legendOf) return;
    legendOf = names;
    legend.replaceChildren(
      ...now.series.map((s) =>
        el(
          'span',
          {},
          svg(
            'svg',
            { class: 'sample', viewBox: '0 0 28 8', 'aria-hidden': 'true' },
            svg('path', { class: `curve ${s.kind}`, d: 'M0 4H28' }),
          ),
          s.name,
        ),
      ),
    );
  }

  new ResizeObserver(() => {
    if (last) draw(last);
  }).observe(picture);
  return { node, draw };
}
