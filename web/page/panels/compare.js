// panels/compare.js - the loaded model beside another one: a known size, or one built here from components.
//
// Counting needs a configuration only, so GPT-2 XL or LLaMA 70B are counted without a byte of weights.

import { PRESETS, countParameters, estimate } from '../../lib/index.js';
import { el } from '../dom.js';
import { bytes, int, percent, si } from '../format.js';
import { ORDER } from './parameters.js';

const NAMES = {
  embedding: 'Token embedding', position: 'Position embedding', attention: 'Attention', cross_attention: 'Cross-attention', ffn: 'FFN', norm: 'Norms', final_norm: 'Final norm', head: 'Head',
};
const NUMBERS = /** @type {[string, string][]} */ ([
  ['vocab_size', 'vocabulary'], ['d_model', 'd_model'], ['n_layers', 'layers'], ['n_heads', 'heads'], ['n_kv_heads', 'kv heads'], ['d_ff', 'd_ff'], ['context_length', 'context'],
]);
const CHOICES = /** @type {[string, string, [string, string][]][]} */ ([
  ['norm', 'norm', [['rmsnorm', 'RMSNorm'], ['layernorm', 'LayerNorm']]],
  ['norm_placement', 'norm is', [['pre', 'before (pre)'], ['post', 'after (post)']]],
  ['ffn', 'FFN', [['swiglu', 'SwiGLU'], ['gelu_tanh', 'GELU-tanh'], ['gelu_erf', 'GELU-erf'], ['relu', 'ReLU']]],
  ['position', 'positions', [['rope', 'rotary'], ['learned', 'learned'], ['sinusoidal', 'sinusoidal'], ['none', 'none']]],
]);
const FLAGS = /** @type {[string, string][]} */ ([['tie_word_embeddings', 'head tied'], ['biases', 'biases']]);
const BIASES = ['bias_qkv', 'bias_attn_out', 'bias_ffn', 'bias_norm'];
const DEFAULTS = { kind: 'decoder', norm: 'rmsnorm', norm_placement: 'pre', ffn: 'swiglu', position: 'rope', tie_word_embeddings: true };
const RUNNABLE = 60e6;   // parameters that are made here with random weights, at most

const snake = (/** @type {Record<string, any>} */ o) => Object.fromEntries(Object.entries(o).map(([k, v]) => [k.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), v]));

/** A preset with what it leaves open written out. */
function whole(config) {
  const c = { ...DEFAULTS, ...config };
  c.n_kv_heads ??= c.n_heads;
  c.d_head ??= c.d_model / c.n_heads;
  c.d_ff ??= 4 * c.d_model;
  return c;
}

/** @param {HTMLElement} root @param {import('../store.js').Store} store @param {import('../run.js').Run} run */
export function create(root, store, run) {
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(' ', el('small', {}, 'the loaded model beside another: counted from its configuration, no weights needed'));
  const preset = el('select', { id: 'preset' }, el('option', { value: '' }, 'the loaded model, changed'), ...Object.keys(PRESETS).map((name) => el('option', { value: name }, name)));
  const fields = el('div', { class: 'fields' });
  const wrong = el('p', { class: 'wrong', role: 'status' });
  const make = el('button', { type: 'button', onclick: () => run.make({ ...config }) }, 'Make it with random weights');
  const body = el('tbody');
  const foot = el('tfoot');
  const other = el('th', { scope: 'col', class: 'n' }, 'the other');
  const table = el('table', {}, el('caption', { class: 'hidden' }, 'Parameters by component of both models'), el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Component'),
    el('th', { scope: 'col', class: 'n' }, 'loaded'), other, el('th', { scope: 'col', class: 'n' }, 'difference'))), body, foot);
  const flows = el('div', { class: 'flows' });
  root.append(el('div', { class: 'compare-split' },
    el('form', { onsubmit: (/** @type {Event} */ e) => e.preventDefault() }, el('div', { class: 'field' }, el('label', { for: 'preset' }, 'Begin with'), preset), fields, wrong, make),
    el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Table of both models' }, table), flows));

  let mine = null;
  let config = whole(PRESETS.gpt2);
  preset.value = 'gpt2';

  const inputs = new Map();
  for (const [key, name] of NUMBERS) inputs.set(key, field(name, el('input', { type: 'number', id: `build-${key}`, min: 1, step: 1 }), (i) => ({ [key]: Math.trunc(Number(i.value)) })));
  for (const [key, name, options] of CHOICES) inputs.set(key, field(name, el('select', { id: `build-${key}` }, ...options.map(([v, t]) => el('option', { value: v }, t))), (i) => ({ [key]: i.value })));
  for (const [key, name] of FLAGS) inputs.set(key, field(name, el('input', { type: 'checkbox', id: `build-${key}` }), (i) => (key === 'biases' ? Object.fromEntries(BIASES.map((b) => [b, i.checked])) : { [key]: i.checked })));

  function field(name, input, read) {
    fields.append(el('div', { class: 'field' }, el('label', { for: input.id }, name), input));
    input.addEventListener('input', () => {
      const before = config;
      config = { ...config, ...read(input) };
      // what follows from another number follows along, unless it was set apart from it
      if (config.n_heads !== before.n_heads && before.n_kv_heads === before.n_heads) config.n_kv_heads = config.n_heads;
      if (before.d_head === before.d_model / before.n_heads) config.d_head = config.d_model / config.n_heads;
      paint();
    });
    return input;
  }
  preset.addEventListener('change', () => {
    config = preset.value ? whole(PRESETS[preset.value]) : { ...mine };
    paint();
  });

  function paint() {
    if (!mine) return;
    for (const [key] of NUMBERS) if (document.activeElement !== inputs.get(key)) inputs.get(key).value = String(config[key]);
    for (const [key] of CHOICES) inputs.get(key).value = config[key];
    inputs.get('tie_word_embeddings').checked = !!config.tie_word_embeddings;
    inputs.get('biases').checked = BIASES.some((b) => config[b]);
    let theirs;
    let cost;
    try {
      theirs = countParameters(config);
      cost = estimate(config, { contextLength: Math.min(1024, config.context_length), dtype: 'q8_0', kvDtype: 'f16' });
      wrong.textContent = '';
    } catch (error) {
      wrong.textContent = error instanceof Error ? `${error.message}.` : String(error);
      make.setAttribute('aria-disabled', 'true');
      return;
    }
    make.hidden = theirs.total > RUNNABLE || config.kind !== 'decoder';
    make.setAttribute('aria-disabled', 'false');
    const own = store.state.model.parameters;
    const sum = (t, component) => t.rows.filter((r) => r.component === component).reduce((n, r) => n + (r.tiedTo ? 0 : r.count), 0);
    const difference = (a, b) => (a === b ? '=' : `${b > a ? '+' : '−'}${int(Math.abs(b - a))}`);
    const row = (name, a, b, cls) => el('tr', { class: cls }, el('th', { scope: 'row' }, name), el('td', { class: 'n' }, int(a)), el('td', { class: 'n' }, int(b)), el('td', { class: 'n' }, difference(a, b)));
    const parts = ORDER.filter((c) => [own, theirs].some((t) => t.rows.some((r) => r.component === c)));
    body.replaceChildren(...parts.map((c) => row(NAMES[c], sum(own, c), sum(theirs, c), null)));
    const n = Math.min(1024, config.context_length);
    foot.replaceChildren(row('Total', own.total, theirs.total, 'total'), row('Non-embedding', own.nonEmbedding, theirs.nonEmbedding, null),
      el('tr', {}, el('th', { scope: 'row' }, 'As Q8_0'), el('td', { class: 'n' }, ''), el('td', { class: 'n' }, bytes(cost.weightBytes)), el('td', { class: 'n' }, '')),
      el('tr', {}, el('th', { scope: 'row' }, `kv cache of ${n} tokens, f16`), el('td', { class: 'n' }, ''), el('td', { class: 'n' }, bytes(cost.kvBytes)), el('td', { class: 'n' }, '')),
      el('tr', {}, el('th', { scope: 'row' }, 'FLOPs a token there'), el('td', { class: 'n' }, ''), el('td', { class: 'n' }, si(cost.flopsPerToken)), el('td', { class: 'n' }, '')));
    other.textContent = preset.value || 'changed';
    flows.replaceChildren(flow(store.state.model.name, mine, config, own), flow(preset.value || 'changed', config, mine, theirs));
  }

  store.watch(['model'], ({ model }) => {
    if (!model) return;
    mine = whole(snake(model.config));
    paint();
  });
}

/** A model as the list of what a token passes, what differs from the other one marked. */
function flow(name, c, other, table) {
  const share = (component) => percent(table.rows.filter((r) => r.component === component).reduce((n, r) => n + (r.tiedTo ? 0 : r.count), 0) / table.total);
  const box = (cls, text, keys, note) => el('li', { class: `box ${cls}${keys.some((k) => (c[k] ?? '') !== (other[k] ?? '')) ? ' differs' : ''}` }, el('span', {}, text), note ? el('span', { class: 'num' }, note) : null);
  const norm = (keys) => box('norm', c.norm === 'rmsnorm' ? 'RMSNorm' : 'LayerNorm', ['norm', ...keys], null);
  const heads = c.n_kv_heads !== c.n_heads ? `${c.n_heads} heads, ${c.n_kv_heads} kv` : `${c.n_heads} heads`;
  const post = c.norm_placement === 'post';
  const place = { rope: ', rotary', learned: '', sinusoidal: '', none: '' }[c.position];
  const added = { learned: ' + learned positions', sinusoidal: ' + sinusoids', none: '', rope: '' }[c.position];
  const half = (inner) => (post ? [inner, el('li', { class: 'plus-line' }, '+ stream'), norm(['norm_placement'])] : [norm(['norm_placement']), inner, el('li', { class: 'plus-line' }, '+ stream')]);
  const ffn = { swiglu: 'SwiGLU', relu: 'ReLU FFN', gelu_erf: 'GELU-erf FFN', gelu_tanh: 'GELU-tanh FFN' }[c.ffn];
  const cross = c.kind === 'encoder_decoder';
  return el('div', {}, el('h3', {}, name), el('ol', { class: 'flow' },
    box('embed', `Embedding ${int(c.vocab_size)} × ${c.d_model}${added}`, ['vocab_size', 'd_model', 'position'], share('embedding')),
    el('li', { class: 'times' }, el('span', { class: 'num' }, `${cross ? `${c.n_layers} + ${c.n_encoder_layers ?? c.n_layers}` : c.n_layers} ×`), el('ol', { class: 'flow' },
      ...half(box('attn', `Attention, ${heads}${place}`, ['n_heads', 'n_kv_heads', 'position', 'bias_qkv'], share('attention'))),
      ...(cross ? half(box('attn', 'Cross-attention in the decoder', ['kind'], share('cross_attention'))) : []),
      ...half(box('ffn', `${ffn}, ${c.d_ff}`, ['ffn', 'd_ff', 'bias_ffn'], share('ffn'))))),
    table.rows.some((r) => r.component === 'final_norm') ? norm(['final_norm']) : null,
    box('head', c.tie_word_embeddings ? 'Head, shared with the embedding' : 'Head', ['tie_word_embeddings', 'vocab_size'], share('head'))));
}
