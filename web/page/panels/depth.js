// panels/depth.js - how much gradient reaches each layer of a fresh, deep model: with norms before or after, with the
// residual stream and without.
//
// One pass there and back for each, on random tokens: what Xiong et al. 2020 derive and He et al. 2016 build upon,
// measured.

import { depth } from 'glassformer';
import { el } from '../dom.js';
import { far, figures } from '../text/format.js';
import { createPlot } from '../plot.js';

const WAYS = /** @type {Record<string, { name: string, changes: Record<string, any> }>} */ ({
  pre: { name: 'pre-norm', changes: {} },
  post: { name: 'post-norm', changes: { norm_placement: 'post' } },
  carried: { name: 'residuals', changes: { use_norm: false } },
  bare: { name: 'no residuals', changes: { use_norm: false, use_residual: false } },
});
const PICTURES = [
  { title: 'With norms, before or after', ways: ['pre', 'post'] },
  { title: 'Without norms, with residuals or without', ways: ['carried', 'bare'] },
];
const SHOWS = /** @type {Record<string, string>} */ ({
  weights: 'gradient of the weights',
  stream: 'size of the residual stream',
});
const TOKENS = 64;

/** @typedef {{ weights: number, stream: number }[]} Layers */

/** @param {HTMLElement} root */
export function create(root) {
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(
    ' ',
    el('small', {}, 'how much gradient reaches each layer of a fresh model'),
  );
  const layers = el('input', { type: 'range', id: 'depth-layers', min: 4, max: 64, step: 4, value: 32 });
  const count = el('output', { for: 'depth-layers' }, '32');
  layers.addEventListener('input', () => {
    count.textContent = layers.value;
  });
  const width = el(
    'select',
    { id: 'depth-width' },
    ...[32, 64, 128].map((d) => el('option', { value: d, selected: d === 64 }, String(d))),
  );
  const shows = el(
    'select',
    { id: 'depth-shows' },
    ...Object.entries(SHOWS).map(([v, name]) => el('option', { value: v }, name)),
  );
  const measure = el('button', { type: 'button', onclick: () => work() }, 'Measure');
  const stop = el('button', { type: 'button', 'aria-disabled': 'true', onclick: () => job?.abort() }, 'Stop');
  const status = el('output', { class: 'hint', 'aria-live': 'polite' });
  const progress = el('progress', { 'aria-label': 'Models measured', max: Object.keys(WAYS).length, hidden: true });
  const alarm = el('p', { class: 'wrong', role: 'alert' });
  const pictures = PICTURES.map(({ title, ways }) => {
    const plot = createPlot();
    const said = el('div', { class: 'findings' });
    return { ways, plot, said, node: el('div', {}, el('h3', {}, title), plot.node, said) };
  });
  const head = el('tr');
  const body = el('tbody');
  const caption = el('caption');
  const table = el(
    'details',
    { class: 'as-table' },
    el('summary', {}, 'As a table'),
    el(
      'div',
      { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Values by layer' },
      el('table', {}, caption, el('thead', {}, head), body),
    ),
  );
  const result = el(
    'div',
    { 'aria-live': 'polite', hidden: true },
    el('div', { class: 'depth-result' }, ...pictures.map((p) => p.node)),
  );
  const lab = el(
    'details',
    { class: 'lab' },
    el('summary', {}, 'Gradients through a deep stack, measured here'),
    el(
      'div',
      { class: 'controls' },
      el('div', { class: 'control' }, el('label', { for: 'depth-layers' }, 'layers'), layers, count),
      el('div', { class: 'control' }, el('label', { for: 'depth-width' }, 'd_model'), width),
      el('div', { class: 'control' }, el('label', { for: 'depth-shows' }, 'shows'), shows),
      measure,
      stop,
      progress,
      status,
    ),
    alarm,
    result,
    table,
  );
  root.append(
    el(
      'p',
      { class: 'hint' },
      'A deep stack learns only if signal and gradient come through it. Four fresh models, their weights normal with 0.02, one pass there and back each.',
    ),
    lab,
  );
  table.hidden = true;

  /** @type {Record<string, Layers> | null} */
  let found = null;
  /** Of the measurement that runs: to abort it ends its worker. @type {AbortController | null} */
  let job = null;

  function enter(/** @type {AbortController | null} */ next) {
    job = next;
    measure.setAttribute('aria-disabled', String(!!job));
    stop.setAttribute('aria-disabled', String(!job));
    progress.hidden = !job;
  }

  async function work() {
    if (job) return;
    const { signal } = (job = new AbortController());
    enter(job);
    alarm.textContent = status.textContent = '';
    progress.value = 0;
    const d = Number(width.value);
    const config = {
      kind: 'decoder',
      vocab_size: 256,
      d_model: d,
      n_layers: Number(layers.value),
      n_heads: d / 16,
      d_ff: 4 * d,
      context_length: TOKENS,
      norm: 'layernorm',
      ffn: 'gelu_erf',
      position: 'learned',
    };
    try {
      const now = /** @type {Record<string, Layers>} */ ({});
      for (const [way, { changes }] of Object.entries(WAYS)) {
        now[way] = await depth({ ...config, ...changes }, { seed: 1, tokens: TOKENS, signal });
        progress.value++;
      }
      found = now;
      result.hidden = table.hidden = false;
      paint();
    } catch (error) {
      if (signal.aborted) status.textContent = found ? 'Stopped; below is what was measured before.' : 'Stopped.';
      else alarm.textContent = `${error instanceof Error ? error.message : error}.`;
    } finally {
      enter(null);
    }
  }

  function paint() {
    if (!found) return;
    const key = /** @type {'weights' | 'stream'} */ (shows.value);
    const values = Object.fromEntries(
      Object.entries(found).map(([way, list]) => [way, list.map((layer) => layer[key])]),
    );
    const n = values.pre.length;
    for (const { ways, plot } of pictures) {
      const seen = ways.flatMap((way) => values[way]).filter((v) => v > 0);
      const low = Math.min(...seen) / (ways.some((way) => values[way].includes(0)) ? 20 : 2); // room for what lies at 0
      plot.draw({
        label: `${SHOWS[key]} by layer. ${ways.map((way) => `${WAYS[way].name}: ${far(values[way][0])} in layer 0, ${far(values[way][n - 1])} in layer ${n - 1}`).join('; ')}`,
        x: [0, n - 1],
        xName: 'layer',
        yName: `${SHOWS[key]}, root mean square`,
        y: [low, 2 * Math.max(...seen)],
        series: ways.map((way, i) => ({
          name: WAYS[way].name,
          kind: `kind-${i}`,
          points: values[way].map((v, layer) => [layer, v]),
          dots: true,
        })),
      });
    }
    caption.textContent = `${SHOWS[key]}, root mean square, first layer first`;
    head.replaceChildren(
      el('th', { scope: 'col' }, 'layer'),
      ...Object.values(WAYS).map(({ name }) => el('th', { scope: 'col' }, name)),
    );
    body.replaceChildren(
      ...values.pre.map((_, layer) =>
        el(
          'tr',
          {},
          el('th', { scope: 'row' }, String(layer)),
          ...Object.keys(WAYS).map((way) => el('td', {}, far(values[way][layer]))),
        ),
      ),
    );
    tell(found);
  }

  /**
   * What is seen, from the numbers themselves.
   * @param {Record<string, Layers>} found
   */
  function tell({ pre, post, carried, bare }) {
    const n = pre.length;
    const [norms, none] = pictures.map((p) => p.said);
    const factor = pre[0].weights / post[0].weights;
    const ratio = (/** @type {Layers} */ list) => far(list[0].weights / list[n - 1].weights);
    norms.replaceChildren(
      el(
        'p',
        {},
        el('b', {}, 'Pre-norm: '),
        `the stream grows from ${far(pre[0].stream)} to ${far(pre[n - 1].stream)}, and the gradient shrinks as it grows: the first layer gets ${ratio(pre)} times what the last one gets.`,
      ),
      el(
        'p',
        {},
        el('b', {}, 'Post-norm: '),
        `the stream is brought back to ${far(post[n - 1].stream)} in each layer. The first layer gets ${ratio(post)} times what the last one gets, `,
        el('b', { 'data-role': 'factor' }, `${far(factor >= 1 ? factor : 1 / factor)} times`),
        ` ${factor >= 1 ? 'less' : 'more'} than under pre-norm.`,
      ),
      el(
        'p',
        { class: 'hint' },
        'Xiong et al. 2020 derive it for the last layer: its gradient falls with the square root of the depth under pre-norm, and under post-norm does not depend on it.',
      ),
    );
    const silent = bare.findIndex((layer) => layer.stream === 0);
    const less = carried[0].weights / bare[0].weights;
    none.replaceChildren(
      el(
        'p',
        {},
        el('b', {}, 'Residuals: '),
        `the stream carries the signal through, ${far(carried[0].stream)} in the first layer and ${far(carried[n - 1].stream)} in the last, and the gradient back: the first layer gets ${ratio(carried)} times what the last one gets.`,
      ),
      el(
        'p',
        {},
        el('b', {}, 'No residuals: '),
        `one layer leaves 1/${figures(bare[0].stream / bare[1].stream)} of the signal to the next. `,
        silent > 0 ? `From layer ${silent} on it is below what a float holds, ` : '',
        bare[0].weights > 0
          ? `the first layer gets ${far(less)} times less gradient than with residuals.`
          : 'and no layer gets any gradient: nothing can be learnt.',
      ),
      el('p', { class: 'hint' }, 'He et al. 2016 let each layer add to a stream that runs past it.'),
    );
  }

  shows.addEventListener('change', paint);
  lab.addEventListener('toggle', () => {
    if (lab.open && !found) void work();
  });
}
