// panels/anatomy.js - one forward pass as one picture, drawn for the architecture that is loaded and alive with its
// values.
//
// Lanes run from left to right, one per token; ribbons fan out into q, k and v; the heads are a stack of cards with
// the pattern between them; the residual stream runs straight past; the FFN widens and closes. The nodes are built
// once per architecture; afterwards only opacities, widths and words change, and of those what differs. Opacity is that
// of the fill: on an element it would make each of them a layer for the compositor. The values in the strips, hundreds
// at a time, are painted on a canvas over the picture.

import { el, svg } from '../dom.js';
import { int, label, percent, quoted, si, time, value } from '../text/format.js';
import { createInks, shade } from '../draw/heatmap.js';
import { onDemand } from '../state/late.js';
import { inView } from '../state/patterns.js';
import { blockPoint } from '../state/points.js';
import { chance, following } from '../state/sampler.js';
import { stagesOf, timeOf } from '../text/stages.js';
import { createValues } from '../values.js';

const LANES = 9;
const Y0 = 104; // first lane
const PITCH = 34;
const DOT = 15.5; // pitch of the pattern
const PLACES = {
  label: 104,
  embed: 114,
  norm1: 204,
  qkv: 262,
  card: 424,
  out: 756,
  norm2: 838,
  ffn: 898,
  resid: 990,
  more: 1074,
  final: 1150,
  bars: 1256,
};
const ACROSS = 300; // what cross-attention takes, between the heads and the FFN
let X = { ...PLACES, cross: 880, added: 1092 };
const CROSS_W = 152;
const KEYS = 8; // tokens of the source that its card shows
const W = {
  added: 44,
  embed: 44,
  norm1: 8,
  qkv: 32,
  card: 196,
  out: 44,
  norm2: 8,
  ffn: 56,
  resid: 28,
  more: 44,
  final: 8,
};
const BINS = { added: 11, embed: 11, q: 8, k: 8, v: 8, out: 11, ffn: 14, resid: 7, more: 11 };

/** A ribbon from one edge to another, as thick as its ends. */
function ribbon(x1, y1, h1, x2, y2, h2) {
  const m = (x1 + x2) / 2;
  return `M${x1} ${y1 - h1 / 2}C${m} ${y1 - h1 / 2} ${m} ${y2 - h2 / 2} ${x2} ${y2 - h2 / 2}V${y2 + h2 / 2}C${m} ${y2 + h2 / 2} ${m} ${y1 + h1 / 2} ${x1} ${y1 + h1 / 2}Z`;
}

/**
 * An attribute is set where it differs: what is written makes the browser look again.
 * @param {Element} node
 * @param {string} name
 * @param {string | number} value
 */
function put(node, name, value) {
  const text = String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}
/**
 * How wide a caption is, without asking the page to lay it out.
 * @param {string} text
 */
function widthOf(text) {
  measure ??= /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));
  measure.font = '600 13px Inter, system-ui, sans-serif';
  return measure.measureText(text).width;
}
/** @type {CanvasRenderingContext2D | undefined} */
let measure;

/**
 * @param {Element} node
 * @param {string} text
 */
function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  const { state } = store;
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(
    ' ',
    el('small', {}, 'one pass over your text; choose a stage to open its values'),
  );
  const steppers = el(
    'div',
    { class: 'steppers' },
    stepper('Layer', 'layer', () => inView(state).layers || 1),
    stepper('Head', 'head', () => state.model?.config.nHeads ?? 1),
  );
  const picture = svg('svg', {
    class: 'anatomy-svg',
    viewBox: '0 0 1400 470',
    role: 'group',
    'aria-label': 'The forward pass, stage by stage',
  });
  const cells = el('canvas', { class: 'anatomy-cells', 'aria-hidden': 'true' });
  const inks = createInks('dim', 'q', 'k', 'v', 'p', 'f');
  const scroll = el(
    'div',
    { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Picture of the forward pass' },
    el('div', { class: 'anatomy-picture' }, picture, cells),
    inks.node,
  );
  const values = createValues({
    onchoose: (at, position, head, index) => {
      void explain({ at, position, index, ...(head !== undefined && { head }) });
    },
  });
  const explained = el('div', { class: 'explained', hidden: true });
  const ask = el('button', {
    type: 'button',
    hidden: true,
    onclick: () => void explain({ at: 'logits', position: state.cursor, index: Number(ask.dataset.id) }),
  });
  const facts = el('dl', { class: 'stage-facts' });
  const sentence = el('p');
  const title = el('h3');
  const neurons = el('div', { class: 'neurons', role: 'group', hidden: true });
  const inspector = el(
    'div',
    { class: 'inspector', hidden: true },
    el('div', { class: 'stage-text' }, title, sentence, facts, neurons, ask),
    values.root,
    explained,
  );
  root.append(steppers, scroll, inspector);

  function stepper(name, key, count) {
    const number = el('output', { class: 'mono' });
    const move = (by) => {
      const n = count();
      store.set({ head: { ...state.head, [key]: (state.head[key] + by + n) % n } });
    };
    store.watch(['head', 'model', 'stack'], (s) => {
      number.textContent = `${s.head[key]} of ${count()}`;
    });
    return el(
      'div',
      { class: 'stepper' },
      el('span', {}, name),
      el('button', { type: 'button', 'aria-label': `${name} before`, onclick: () => move(-1) }, '‹'),
      number,
      el('button', { type: 'button', 'aria-label': `${name} after`, onclick: () => move(1) }, '›'),
    );
  }

  // -- the picture ----------------------------------------------------------------------------------------------------
  let built = '';
  /** @type {any} the nodes that change */
  let n = {};
  /** values of the layer in hand for the text as it rests: point -> tensor */
  let captured = {};
  let capturedFor = '';

  /** The layer that is drawn: the encoder, whose heads may be in hand, can have more. */
  const layerOf = (s) => Math.min(s.head.layer, s.model.config.nLayers - 1);

  /** Which positions have lanes: the last nine up to the one after the token in hand. */
  function lanesOf(s) {
    const known = Math.min(s.tokens.length, Math.max(s.patterns?.length ?? 0, 1));
    const last = Math.min(known - 1, Math.max(s.cursor, LANES - 1));
    const first = Math.max(0, last - LANES + 1);
    return s.tokens.length ? { first, count: last - first + 1 } : { first: 0, count: 0 };
  }

  /** The ground of a strip; its values are drawn on the canvas. */
  const strip = (parent, cls, x, y, width, height, bins) => {
    parent.append(svg('rect', { x, y, width, height, rx: 3, class: `cell-back ${cls}` }));
    return {
      ink: cls === 'ink' ? 'dim' : cls,
      x: x + 1,
      y: y + 1,
      width: (width - 2) / bins,
      height: height - 2,
      bins,
    };
  };

  function build(s) {
    const { config: c, parameters } = s.model;
    const stages = stagesOf(c, parameters.rows, layerOf(s), LANES, 1);
    const has = (id) => stages.some((st) => st.id === id);
    const post = c.normPlacement === 'post';
    const cross = c.kind === 'encoder_decoder';
    const shift = cross ? ACROSS : 0;
    X = { ...X, ...PLACES };
    for (const name of ['norm2', 'ffn', 'resid', 'more', 'final', 'bars']) X[name] += shift;
    picture.setAttribute('viewBox', `0 0 ${1400 + shift} 470`);
    const beforeFfn = cross ? X.added + W.added : X.out + W.out;
    const group = (cls) => svg('g', { class: cls });
    const under = group('ribbons');
    const nodes = group('nodes');
    const bottom = Y0 + (LANES - 1) * PITCH + 46;
    const toHead = has('final') ? X.final + W.final : has('more') ? X.more + W.more : X.resid + W.resid;
    n = { toHead, lanes: [], count: LANES, captions: new Map(), leaders: [], dots: [], bars: [] };

    picture.replaceChildren();
    // the block, dashed
    picture.append(
      svg('rect', {
        x: 186,
        y: 64,
        width: X.resid + W.resid + 18 - 186,
        height: bottom - 64 + 12,
        rx: 14,
        class: 'block',
      }),
    );
    n.blockName = svg('text', { x: 200, y: bottom + 2, class: 'd' });
    picture.append(n.blockName, under);

    for (let i = 0; i < LANES; i++) {
      const y = Y0 + i * PITCH;
      const lane = { q: [], strips: {} };
      const g = group('lane');
      const flow = group('lane-flow');
      const r = (d, cls) => {
        const p = svg('path', { d, class: `ribbon ${cls}` });
        flow.append(p);
        return p;
      };
      // the residual stream, straight past everything
      flow.append(svg('path', { d: `M${X.embed + W.embed} ${y - 13}H${X.final}`, class: 'stream-line' }));
      r(ribbon(X.embed + W.embed, y, 18, has('norm1') && !post ? X.norm1 : X.qkv, y, 15), 'ink');
      if (has('norm1') && !post) r(ribbon(X.norm1 + W.norm1, y, 15, X.qkv, y, 20), 'ink');
      const qy = 150 + i * DOT;
      const ky = 306 + i * 5.2;
      const vy = 372 + i * 5.2;
      lane.q = r(ribbon(X.qkv + W.qkv, y - 7.5, 6.5, X.card, qy, 6), 'q');
      lane.k = r(ribbon(X.qkv + W.qkv, y, 6.5, X.card, ky, 4.4), 'k');
      lane.v = r(ribbon(X.qkv + W.qkv, y + 7.5, 6.5, X.card, vy, 4.4), 'v');
      lane.through = r(`M${X.card} ${vy - 2.2}H${X.card + W.card + 30}V${vy + 2.2}H${X.card}Z`, 'v');
      r(ribbon(X.card + W.card + 30, vy, 4.4, X.out, y, 14), 'v faint');
      lane.mix = r(ribbon(X.card + W.card + 30, vy, 4.4, X.out, y, 14), 'v');
      if (cross) {
        lane.asks = r(ribbon(X.out + W.out, y, 15, X.cross, 150 + i * DOT, 6), 'q');
        r(ribbon(X.cross + CROSS_W, 286, 40, X.added, y, 14), 'v faint');
      }
      r(ribbon(beforeFfn, y, 18, post || !has('norm2') ? X.ffn : X.norm2, y, 15), 'f');
      if (!post && has('norm2')) r(ribbon(X.norm2 + W.norm2, y, 15, X.ffn, y, 26), 'f');
      r(ribbon(X.ffn + W.ffn, y, 27, X.resid, y, 16), 'f');
      r(ribbon(X.resid + W.resid, y, 16, has('more') ? X.more : X.final, y, 16), 'ink');
      if (has('more')) r(ribbon(X.more + W.more, y, 16, has('final') ? X.final : X.bars - 60, y, 14), 'ink');
      lane.toHead = r(ribbon(toHead, y, 14, X.bars - 64, y, 3), 'ink');

      lane.label = svg('text', { x: X.label, y: y + 4.5, class: 'lane-label', 'text-anchor': 'end' });
      g.append(lane.label);
      lane.strips.embed = strip(g, 'ink', X.embed, y - 9, W.embed, 18, BINS.embed);
      lane.strips.q = strip(g, 'q', X.qkv, y - 11, W.qkv, 7, BINS.q);
      lane.strips.k = strip(g, 'k', X.qkv, y - 3.5, W.qkv, 7, BINS.k);
      lane.strips.v = strip(g, 'v', X.qkv, y + 4, W.qkv, 7, BINS.v);
      lane.strips.out = strip(g, 'p', X.out, y - 9, W.out, 18, BINS.out);
      if (cross) lane.strips.added = strip(g, 'p', X.added, y - 9, W.added, 18, BINS.added);
      lane.strips.ffn = strip(g, 'f', X.ffn, y - 14, W.ffn, 28, BINS.ffn);
      lane.strips.resid = strip(g, 'ink', X.resid, y - 8, W.resid, 16, BINS.resid);
      if (has('more')) lane.strips.more = strip(g, 'ink', X.more, y - 9, W.more, 18, BINS.more);
      if (has('norm1'))
        g.append(
          svg('rect', {
            x: post ? X.out + W.out + 8 : X.norm1,
            y: y - (post ? 17 : 9),
            width: W.norm1,
            height: post ? 26 : 18,
            rx: 2.5,
            class: 'norm-bar',
          }),
        );
      if (has('norm2'))
        g.append(
          svg('rect', {
            x: post ? X.resid + W.resid + 8 : X.norm2,
            y: y - (post ? 17 : 9),
            width: W.norm2,
            height: post ? 26 : 18,
            rx: 2.5,
            class: 'norm-bar',
          }),
        );
      if (has('final'))
        g.append(svg('rect', { x: X.final, y: y - 9, width: W.final, height: 18, rx: 2.5, class: 'norm-bar' }));
      // where the block adds to the stream
      for (const x of [X.out + W.out / 2, ...(cross ? [X.added + W.added / 2] : []), X.resid + W.resid / 2]) {
        g.append(svg('path', { d: `M${x - 3} ${y - 13}h6m-3 -3v6`, class: 'plus' }));
      }
      g.addEventListener('click', () => store.set({ cursor: n.first + i, follow: false, key: null }));
      nodes.append(g);
      under.append(flow);
      lane.groups = [g, flow];
      n.lanes.push(lane);
    }
    picture.append(nodes);

    // the heads as a stack of cards
    const stack = group('stack');
    for (let k = Math.min(4, c.nHeads - 1); k >= 0; k--) {
      stack.append(
        svg('rect', { x: X.card + k * 7, y: 92 - k * 6, width: W.card, height: 262, rx: 8, class: 'card-rect' }),
      );
    }
    stack.append(svg('text', { x: X.card + W.card / 2, y: 122, class: 'word-q', 'text-anchor': 'middle' }, 'queries'));
    const inset = X.card + (W.card - (LANES + 1) * DOT) / 2;
    n.row = svg('rect', { x: 0, y: 0, width: 0, height: DOT + 1, rx: DOT / 2, class: 'row-ring' });
    for (let q = 0; q < LANES; q++) {
      const row = [];
      const early = svg('rect', {
        x: inset,
        y: 150 + q * DOT - 4.6,
        width: 9.2,
        height: 9.2,
        rx: 2,
        class: 'dot early',
      });
      early.append(svg('title', {}, 'keys before these lanes'));
      stack.append(early);
      for (let k = 0; k < LANES; k++) {
        const masked = c.causal && k > q;
        const d = svg('circle', {
          cx: inset + (k + 1) * DOT + 5,
          cy: 150 + q * DOT,
          r: masked ? 4.6 : 5.2,
          class: masked ? 'dot masked' : 'dot',
        });
        if (!masked)
          d.addEventListener('click', () =>
            store.set({ stack: 'self', cursor: n.first + q, key: n.first + k, follow: false }),
          );
        stack.append(d);
        row.push(d);
      }
      n.dots.push({ row, early });
    }
    stack.append(n.row);
    n.inset = inset;
    stack.append(
      svg(
        'text',
        { x: X.card + W.card / 2, y: 150 + LANES * DOT + 14, class: 'word-k', 'text-anchor': 'middle' },
        'keys',
      ),
    );
    n.headName = svg('text', { x: X.card + W.card / 2, y: 342, class: 'd', 'text-anchor': 'middle' });
    stack.append(n.headName);
    stack.addEventListener('click', (event) => {
      if (/** @type {Element} */ (event.target).classList.contains('card-rect')) choose('heads');
    });
    picture.append(stack);

    n.cross = null;
    if (cross) buildCross(c, under);

    // the bars of the next token
    for (let i = 0; i < 10; i++) {
      const y = Y0 - 14 + i * 31;
      const word = svg('text', { x: X.bars, y: y + 4.5, 'text-anchor': 'end', class: 'bar-word' });
      const bar = svg('rect', { x: X.bars + 9, y: y - 4.5, width: 0, height: 9, rx: 2, class: 'bar-rect' });
      const num = svg('text', { x: X.bars + 14, y: y + 4, class: 'd mono-text' });
      picture.append(word, bar, num);
      n.bars.push({ word, bar, num });
    }

    // captions are the buttons
    const at = {
      embed: X.embed + W.embed / 2,
      norm1: post ? X.out + W.out + 14 : X.norm1 + 4,
      qkv: X.qkv + W.qkv / 2,
      heads: X.card + W.card / 2 + 10,
      out: X.out + W.out / 2,
      norm2: post ? X.resid + W.resid + 42 : X.norm2 + 4,
      ffn: X.ffn + W.ffn / 2,
      resid: X.resid + W.resid / 2 - (post ? 26 : 0),
      more: X.more + W.more / 2,
      final: X.final + 4,
      head: X.bars + 30,
      cross: X.cross + CROSS_W / 2 + 8,
      encoder: X.cross + CROSS_W / 2,
    };
    for (const st of stages) {
      const small = st.id.startsWith('norm') || st.id === 'final' || st.id === 'resid';
      const low = small && st.id !== 'resid';
      const y = st.id === 'encoder' ? 394 : low ? bottom + 34 : st.id === 'resid' ? bottom + 34 : 24;
      const name = svg('text', {
        x: at[st.id],
        y,
        'text-anchor': 'middle',
        class: low || st.id === 'resid' ? 'caption small' : 'caption',
      });
      if (st.id === 'qkv')
        name.append(
          svg('tspan', { class: 'word-q' }, 'q'),
          svg('tspan', { class: 'word-k', dx: 9 }, 'k'),
          svg('tspan', { class: 'word-v', dx: 9 }, 'v'),
        );
      else name.textContent = st.title;
      const shape = svg('text', { x: at[st.id], y: y + 17, class: 'd', 'text-anchor': 'middle' });
      const back = svg('rect', { class: 'caption-back', rx: 6 });
      const g = svg('g', { class: 'stage', role: 'button', tabindex: 0, 'aria-pressed': 'false' }, back, name, shape);
      const pick = () => choose(state.openStage === st.id ? '' : st.id);
      g.addEventListener('click', pick);
      g.addEventListener('keydown', (event) => {
        if (event.key === 'Enter' || event.key === ' ') {
          event.preventDefault();
          pick();
        }
      });
      picture.append(g);
      n.captions.set(st.id, { g, shape, back, name, x: at[st.id], y });
      if (small) {
        const leader = svg('path', { class: 'leader' });
        under.append(leader);
        n.leaders.push({ leader, x: at[st.id], y: y - 14 });
      }
    }
    for (const { back, name, x, y } of n.captions.values()) {
      const w = Math.max(64, widthOf(name.textContent) + 18);
      for (const [k, v] of Object.entries({ x: x - w / 2, y: y - 16, width: w, height: 40 })) back.setAttribute(k, v);
    }
  }

  /**
   * Show so many lanes.
   * @param {number} count
   */
  function open(count) {
    const show = (/** @type {Element} */ node, /** @type {boolean} */ on) =>
      put(node, 'display', on ? 'inline' : 'none');
    n.lanes.forEach((lane, i) => {
      for (const g of lane.groups) show(g, i < count);
    });
    n.dots.forEach(({ row, early }, q) => {
      for (const [k, d] of [early, ...row].entries()) show(d, q < count && k <= count);
    });
    n.cross?.dots.forEach((row, q) => {
      for (const d of row) show(d, q < count);
    });
    for (const { leader, x, y } of n.leaders) put(leader, 'd', `M${x} ${Y0 + (count - 1) * PITCH + 12}V${y}`);
    n.count = count;
  }

  /** The card between the stacks: the text asks from the left, the encoder's keys and values come from below. */
  function buildCross(c, under) {
    const g = svg('g', { class: 'stack' });
    for (let k = Math.min(3, c.nHeads - 1); k >= 0; k--)
      g.append(
        svg('rect', { x: X.cross + k * 6, y: 92 - k * 5, width: CROSS_W, height: 230, rx: 8, class: 'card-rect' }),
      );
    g.append(
      svg('text', { x: X.cross + CROSS_W / 2, y: 122, class: 'word-q', 'text-anchor': 'middle' }, 'queries'),
      svg(
        'text',
        { x: X.cross + CROSS_W / 2, y: 150 + LANES * DOT + 14, class: 'word-k', 'text-anchor': 'middle' },
        'the source’s keys',
      ),
    );
    const inset = X.cross + (CROSS_W - KEYS * DOT) / 2 + DOT / 2;
    const dots = Array.from({ length: LANES }, (_, q) =>
      Array.from({ length: KEYS }, (_, k) => {
        const d = svg('circle', { cx: inset + k * DOT, cy: 150 + q * DOT, r: 5.2, class: 'dot' });
        d.addEventListener('click', () =>
          store.set({ stack: 'cross', cursor: n.first + q, key: n.cross.from + k, follow: false }),
        );
        g.append(d);
        return d;
      }),
    );
    const y = 372;
    for (const [x, hue] of /** @type {[number, string][]} */ ([
      [X.cross + 44, 'k'],
      [X.cross + 108, 'v'],
    ])) {
      under.append(
        svg('path', {
          d: `M${x - 14} 322C${x - 14} 345 ${x - 9} 350 ${x - 9} ${y}H${x + 9}C${x + 9} 350 ${x + 14} 345 ${x + 14} 322Z`,
          class: `ribbon ${hue}`,
          'fill-opacity': 0.35,
        }),
      );
    }
    g.append(svg('rect', { x: X.cross - 24, y, width: CROSS_W + 48, height: 50, rx: 8, class: 'card-rect' }));
    picture.append(g);
    n.cross = { dots, from: 0 };
  }

  // -- values of the layer in hand ------------------------------------------------------------------------------------
  let fetching = false;
  let fetchedAt = 0;
  async function fetchValues(s) {
    const layer = layerOf(s);
    const keyNow = () => `${layer} ${run.textKey()}`;
    const key = keyNow();
    /** The text may have grown since. */
    const holds = (/** @type {string} */ now, /** @type {string} */ then) => `${now},`.startsWith(`${then},`);
    if (capturedFor === key || fetching || !s.tokens.length) return;
    // While text streams at reading speed a look now and then is enough: what was read does not change.
    if (
      s.status === 'running' &&
      (s.pace === 'fast' || s.speed.msPerToken > 5 || performance.now() - fetchedAt < 500)
    ) {
      if (!holds(key, capturedFor)) captured = {};
      return;
    }
    fetching = true;
    fetchedAt = performance.now();
    const b = blockPoint(s.model.config, layer);
    try {
      const got = await run.values([
        'hook_embed',
        `${b}.hook_resid_pre`,
        `${b}.attn.hook_q`,
        `${b}.attn.hook_k`,
        `${b}.attn.hook_v`,
        `${b}.hook_attn_out`,
        `${b}.mlp.hook_post`,
        `${b}.hook_resid_post`,
        `${b}.hook_cross_attn_out`,
        'decoder.hook_embed',
        `${blockPoint(s.model.config, s.model.config.nLayers - 1)}.hook_resid_post`,
      ]);
      if (holds(keyNow(), key)) captured = got;
    } catch {
      captured = {}; // strips stay plain; the text goes on
    }
    capturedFor = key;
    fetching = false;
    store.set({ patterns: state.patterns });
  }

  let colors = inks.read();
  let onCanvas = { of: {}, key: '', seen: 0 }; // what is drawn there
  store.watch(['theme'], (s) => {
    colors = inks.read();
    if (built) paintStrips(s);
  });
  new ResizeObserver(() => {
    cells.width = Math.round(picture.clientWidth * devicePixelRatio);
    cells.height = Math.round(picture.clientHeight * devicePixelRatio);
    onCanvas.key = '';
    if (built) paintStrips(state);
  }).observe(picture);

  /** Strength of each part of a vector: the root mean square of its bins, the largest on the page being 1. */
  function paintStrips(s) {
    if (!n.lanes) return;
    const layer = layerOf(s);
    const b = blockPoint(s.model.config, layer);
    const from = {
      embed:
        layer === 0
          ? (captured.hook_embed ?? captured['decoder.hook_embed'] ?? captured[`${b}.hook_resid_pre`])
          : captured[`${b}.hook_resid_pre`],
      q: captured[`${b}.attn.hook_q`],
      k: captured[`${b}.attn.hook_k`],
      v: captured[`${b}.attn.hook_v`],
      out: captured[`${b}.hook_attn_out`],
      added: captured[`${b}.hook_cross_attn_out`],
      ffn: captured[`${b}.mlp.hook_post`],
      resid: captured[`${b}.hook_resid_post`],
      more: captured[`${blockPoint(s.model.config, s.model.config.nLayers - 1)}.hook_resid_post`],
    };
    const seen = Math.max(
      0,
      ...Object.values(from).map((tensor) => Math.min(n.count, (tensor?.shape[0] ?? 0) - n.first)),
    ); // lanes with values
    const key = [seen, n.first, n.count, layer, cells.width, colors.q].join();
    if (onCanvas.of === captured && (onCanvas.key === key || (!seen && !onCanvas.seen))) return;
    onCanvas = { of: captured, key, seen };
    const g = /** @type {CanvasRenderingContext2D} */ (cells.getContext('2d'));
    const scale = cells.width / picture.viewBox.baseVal.width;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, cells.width, cells.height);
    g.setTransform(scale, 0, 0, scale, 0, 0);
    for (const [name, tensor] of Object.entries(from)) {
      const bins = n.lanes[0].strips[name]?.bins;
      if (!bins || !tensor) continue;
      const width = tensor.data.length / tensor.shape[0];
      const rows = n.lanes.slice(0, n.count).map((_, i) => {
        const p = n.first + i;
        if (p >= tensor.shape[0]) return [];
        const v = tensor.data.subarray(p * width, (p + 1) * width);
        return Array.from({ length: bins }, (_, j) => {
          const a = Math.floor((j * width) / bins);
          const z = Math.max(a + 1, Math.floor(((j + 1) * width) / bins));
          let sum = 0;
          for (let k = a; k < z; k++) sum += v[k] * v[k];
          return Math.sqrt(sum / (z - a));
        });
      });
      const all = rows.flat().sort((x, y) => x - y);
      const low = all[0] ?? 0;
      const most = all[Math.floor(all.length * 0.98)] || 1;
      rows.forEach((row, i) => {
        const { ink, x, y, width: step, height } = n.lanes[i].strips[name];
        g.fillStyle = colors[ink];
        row.forEach((v, j) => {
          g.globalAlpha = 0.06 + 0.94 * Math.max(0, Math.min(1, (v - low) / (most - low || 1)));
          g.fillRect(x + j * step, y, step, height);
        });
      });
    }
  }

  // -- painting -------------------------------------------------------------------------------------------------------
  function paint(s) {
    if (!s.model || !s.patterns || !s.tokens.length) {
      if (built) {
        picture.replaceChildren();
        cells.width = cells.width; // nothing is left on it
        onCanvas = { of: {}, key: '', seen: 0 };
      }
      built = '';
      return;
    }
    const { first, count } = lanesOf(s);
    const shape = `${s.model.name} ${s.model.parameters.total} ${JSON.stringify(s.model.config)}`;
    if (built !== shape) {
      build(s);
      built = shape;
      captured = {};
      capturedFor = '';
    }
    n.first = first;
    open(count);
    const { config: c } = s.model;
    const layer = layerOf(s);
    const { head } = s.head;
    const stages = stagesOf(c, s.model.parameters.rows, layer, s.tokens.length, s.sourceTokens.length);
    for (const st of stages) {
      const caption = n.captions.get(st.id);
      write(caption.shape, st.id.startsWith('norm') || st.id === 'final' || st.id === 'resid' ? '' : st.shape);
      put(caption.g, 'aria-pressed', String(s.openStage === st.id));
    }
    write(n.blockName, `block ${layer} of ${c.nLayers}`);
    write(n.headName, `layer ${layer}, head ${head} of ${c.nHeads}`);

    const own = s.stack === 'self';
    const here = ((own ? s.hover?.query : null) ?? s.cursor) - first;
    const seen = !own ? -1 : s.hover ? s.hover.key : s.key;
    const inHand = s.patterns.row(layer, head, first + here);
    n.lanes.slice(0, count).forEach((lane, i) => {
      write(lane.label, clip(label(s.tokens[first + i])));
      lane.label.classList.toggle('here', i === here);
      lane.label.classList.toggle('seen', first + i === seen);
      const w = inHand ? (first + i < inHand.length ? inHand[first + i] : 0) : 0;
      lane.q.classList.toggle('lit', i === here);
      put(lane.k, 'fill-opacity', inHand ? (0.1 + 0.6 * Math.sqrt(w)).toFixed(2) : 0.16);
      put(lane.v, 'fill-opacity', inHand ? (0.1 + 0.6 * Math.sqrt(w)).toFixed(2) : 0.16);
      put(lane.through, 'fill-opacity', inHand ? (0.1 + 0.6 * Math.sqrt(w)).toFixed(2) : 0.16);
      // the values of the row in hand gather in its lane, as wide as their weight
      const vy = 372 + i * 5.2;
      const x1 = X.card + W.card + 30;
      if (inHand && here >= 0 && here < count) {
        put(
          lane.mix,
          'd',
          ribbon(x1, vy, 4.4, X.out, Y0 + here * PITCH + offset(inHand, first, i), Math.max(0.6, 16 * w)),
        );
        put(lane.mix, 'fill-opacity', w > 0 ? (0.12 + 0.55 * Math.sqrt(w)).toFixed(2) : 0);
      } else {
        put(lane.mix, 'fill-opacity', 0);
      }
      lane.asks?.classList.toggle('lit', i === here);
      lane.toHead.classList.toggle('lit', i === here);
      put(lane.toHead, 'd', ribbon(n.toHead, Y0 + i * PITCH, 14, X.bars - 64, Y0 + i * PITCH, i === here ? 14 : 3));
      const row = s.patterns.row(layer, head, first + i);
      const { row: dots, early } = n.dots[i];
      let before = 0;
      if (row) for (let k = 0; k < first && k < row.length; k++) before += row[k];
      put(early, 'fill-opacity', first ? (row ? 0.06 + 0.94 * (shade(before) / 255) : 0.06) : 0);
      dots.forEach((dot, k) => {
        if (c.causal && k > i) return;
        const v = row ? row[first + k] : 0;
        put(dot, 'fill-opacity', (0.06 + 0.94 * (shade(v) / 255)).toFixed(3));
      });
    });
    const visible = here >= 0 && here < count;
    put(n.row, 'width', visible ? (c.causal ? here + 1 : count) * DOT + (first ? DOT + 1 : 0) + 1 : 0);
    put(n.row, 'x', n.inset + (first ? -3 : DOT - 2.5));
    put(n.row, 'y', 150 + here * DOT - (DOT + 1) / 2);

    if (n.cross) {
      const rows = s.otherPatterns?.cross;
      const length = s.sourceTokens.length;
      n.cross.from = Math.max(0, length - KEYS);
      n.cross.dots.forEach((row, i) => {
        const weights = rows?.row(layer, head, first + i);
        row.forEach((dot, k) => {
          const key = n.cross.from + k;
          put(dot, 'fill-opacity', key >= length ? 0 : (0.06 + 0.94 * (shade(weights?.[key] ?? 0) / 255)).toFixed(3));
        });
      });
    }

    const next = following(s, 10);
    const drawn = s.tokens[s.cursor + 1];
    const most = Math.max(...(next?.candidates.map(chance) ?? [1]), 1e-9);
    if (next) void run.spell(next.candidates.map((k) => k.id));
    n.bars.forEach(({ word, bar, num }, i) => {
      const k = next?.candidates[i];
      write(word, k ? clip(label({ id: k.id, text: k.text || s.words.get(k.id) || '' })) : '');
      const w = k ? (chance(k) / most) * 76 : 0;
      put(bar, 'width', Math.max(k ? 1 : 0, w));
      write(num, k ? percent(chance(k)) : '');
      put(num, 'x', X.bars + 15 + w);
      for (const node of [word, bar]) node.classList.toggle('on', !!k && drawn?.id === k.id);
    });
    void fetchValues(s);
    paintStrips(s);
  }

  /** Where in its slot a value arrives: one below the other, together as wide as the slot. */
  function offset(row, first, i) {
    let y = 0;
    for (let k = 0; k < Math.min(row.length, first + i); k++) y += row[k];
    return -8 + 16 * (y + (row[first + i] ?? 0) / 2);
  }

  const clip = (text) => (text.length > 12 ? `${text.slice(0, 11)}…` : text);

  // -- one of the values, explained: fetched when somebody asks
  // --------------------------------------------------------
  const explanation = onDemand(
    () => import('../explanation.js'),
    ({ createExplanation }) => {
      const made = createExplanation(state, run, 'value');
      explained.replaceChildren(made.root);
      return made;
    },
  );
  /** @param {any} cell */
  async function explain(cell) {
    const made = await explanation().catch(({ message }) => {
      explained.replaceChildren(el('p', { class: 'wrong', role: 'alert' }, `${message}.`));
    });
    explained.hidden = false;
    await made?.show(cell);
  }

  // -- a stage opened -------------------------------------------------------------------------------------------------
  let inspected = '';
  let told = ''; // the stage whose values are shown: another one may be on its way
  const choose = (/** @type {string} */ id) => store.set({ openStage: id });

  async function inspect(s) {
    inspector.hidden = !s.openStage || !s.model || !s.tokens.length;
    if (inspector.hidden || s.status === 'running') return;
    const { config, parameters } = s.model;
    const layer = layerOf(s);
    const st = stagesOf(config, parameters.rows, layer, s.tokens.length, s.sourceTokens.length).find(
      (x) => x.id === s.openStage,
    );
    if (!st) return choose('');
    const keyNow = () => `${s.openStage} ${layerOf(s)} ${run.textKey()}`;
    const key = keyNow();
    if (inspected === key) return;
    inspected = key;
    /** Something else is asked for by now, or will be once the text rests. */
    const late = () => {
      if (inspected === key && (!s.model || keyNow() !== key)) inspected = '';
      return inspected !== key;
    };
    explained.hidden = true;
    wide = null;
    title.textContent = st.title.replace(/ {2}/g, ', ');
    sentence.textContent = st.words;
    const fact = (name, text) => (text ? [el('dt', {}, name), el('dd', { class: 'mono' }, text)] : []);
    const rows = await run.trace().catch(() => []);
    if (late()) return;
    const ms = timeOf(config, rows, st.id, layer);
    facts.replaceChildren(
      ...fact('Computes', st.formula),
      ...fact('Makes', st.shape),
      ...fact('Parameters', st.params ? int(st.params) : 'none of its own'),
      ...fact('FLOPs a token', st.flops ? si(st.flops) : '0'),
      ...fact('Measured', ms ? `${time(ms)} for ${s.tokens.length} tokens at once` : ''),
    );
    let points = {};
    try {
      if (st.points.length) points = await run.values(st.points.map(([p]) => p));
    } catch {
      /* shown as absent below */
    }
    if (late()) return;
    values.show(
      st.points.filter(([p]) => points[p]).map(([p, name]) => ({ point: p, name, tensor: points[p] })),
      st.id === 'encoder' ? s.sourceTokens : s.tokens,
      st.id === 'encoder' ? s.sourceCursor : s.cursor,
    );
    wide = st.id === 'ffn' ? { layer, tensor: points[`${blockPoint(config, layer)}.mlp.hook_post`] } : null;
    told = st.id;
    paintNeurons(state);
    paintAsk(state);
  }

  /** What the head says of the token in hand, and its question: why the next one? */
  function paintAsk(s) {
    const here = s.openStage === 'head' ? s.tokens[s.cursor] : null;
    const token = here && (s.tokens[s.cursor + 1] ?? following(s, 1)?.candidates[0]);
    if (here && told === 'head')
      values.say(`${quoted(here)} is followed by the bars on the right of the picture, and in “Next token” above.`);
    ask.hidden = !token;
    if (!token) return;
    ask.dataset.id = String(token.id);
    ask.textContent = `Explain the logit of ${quoted({ id: token.id, text: token.text || s.words.get(token.id) || '' })}`;
  }
  store.watch(['tokens', 'cursor', 'openStage', 'logits', 'words', 'status'], (s) => {
    if (s.status !== 'running') paintAsk(s);
  });

  /**
   * Values after the bend of the layer that is open.
   * @type {{ layer: number, tensor?: { data: Float32Array, shape: number[] } } | null}
   */
  let wide = null;
  /** The neurons that answer most to the token in hand, each with a switch. */
  function paintNeurons(s) {
    const [n, d] = wide?.tensor?.shape ?? [0, 0];
    neurons.hidden = !wide || s.openStage !== 'ffn' || s.cursor < 0 || s.cursor >= n;
    if (neurons.hidden) return;
    const row = wide.tensor.data.subarray(s.cursor * d, (s.cursor + 1) * d);
    const best = Array.from(row.keys())
      .sort((a, b) => Math.abs(row[b]) - Math.abs(row[a]))
      .slice(0, 5);
    neurons.setAttribute('aria-label', 'Strongest neurons');
    neurons.replaceChildren(
      el('h4', {}, `Strongest neurons at ${quoted(s.tokens[s.cursor])}`),
      ...best.map((i) => {
        const key = `${wide.layer}.n${i}`;
        const off = s.off.includes(key);
        return el(
          'button',
          {
            type: 'button',
            'aria-pressed': String(off),
            onclick: () => {
              store.set({ off: off ? s.off.filter((k) => k !== key) : [...s.off, key] });
            },
          },
          `${i} `,
          el('span', { class: 'num' }, value(row[i])),
          off ? ', off' : '',
        );
      }),
      el(
        'p',
        { class: 'hint' },
        'Press one to switch it off; what becomes of the text is compared in “Switch parts off”.',
      ),
    );
  }
  store.watch(['off', 'cursor', 'openStage', 'model', 'status'], (s) => {
    if (s.status === 'running') return;
    const at = [...neurons.querySelectorAll('button')].indexOf(/** @type {any} */ (document.activeElement));
    paintNeurons(s);
    if (at >= 0) neurons.querySelectorAll('button')[at]?.focus();
  });

  store.watch(
    [
      'model',
      'tokens',
      'patterns',
      'cursor',
      'key',
      'hover',
      'head',
      'logits',
      'sampler',
      'words',
      'status',
      'openStage',
    ],
    paint,
    { every: 90, root },
  );
  store.watch(['status', 'pace'], (s) =>
    picture.classList.toggle('still', s.status === 'running' && s.pace === 'fast'),
  );
  store.watch(['model', 'tokens', 'head', 'status', 'cursor', 'theme', 'openStage'], (s) => {
    void inspect(s);
  });
}
