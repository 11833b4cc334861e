// panels/compare.js - the loaded model beside another one: a shipped one, a known size, or one built here from
// components.
//
// Counting needs a configuration only, so GPT-2 XL or LLaMA 70B are counted without a byte of weights. What was chosen
// here is kept apart from what follows from it: with another n_heads come other kv heads and another d_head, unless
// they were set.

import { PRESETS, completeConfig, countParameters, estimate, load } from 'glassformer';
import { el } from '../dom.js';
import { bytes, int, percent, si } from '../text/format.js';
import { SHIPPED, shippedAs } from '../state/models.js';
import { RUNNABLE } from '../state/run.js';
import { ORDER } from '../views/count/parameter_groups.js';

const NAMES = {
  embedding: 'Token embedding',
  position: 'Position embedding',
  attention: 'Attention',
  cross_attention: 'Cross-attention',
  ffn: 'FFN',
  norm: 'Norms',
  final_norm: 'Final norm',
  head: 'Head',
};
const twoStacks = (/** @type {any} */ c) => c.kind === 'encoder_decoder';
const turns = (/** @type {any} */ c) => c.position === 'rope';
/** All but the switches that leave an idea out, which are for “Break it”.
 * @type
 *   {{ key: string, name: string, options?: [string, string][], flag?: boolean, least?: number, real?: boolean, more?: boolean, when?: (c: any) => boolean }[]} */
const FIELDS = [
  {
    key: 'kind',
    name: 'kind',
    options: [
      ['decoder', 'decoder'],
      ['encoder_decoder', 'encoder-decoder'],
      ['encoder', 'encoder'],
    ],
  },
  { key: 'vocabSize', name: 'vocabulary' },
  { key: 'dModel', name: 'd_model' },
  { key: 'nLayers', name: 'layers' },
  { key: 'nEncoderLayers', name: 'encoder layers', when: twoStacks },
  { key: 'nHeads', name: 'heads' },
  { key: 'nKvHeads', name: 'kv heads' },
  { key: 'dHead', name: 'd_head' },
  { key: 'dFf', name: 'd_ff' },
  { key: 'contextLength', name: 'context' },
  { key: 'slidingWindow', name: 'window, 0: all', least: 0 },
  {
    key: 'norm',
    name: 'norm',
    options: [
      ['rmsnorm', 'RMSNorm'],
      ['layernorm', 'LayerNorm'],
    ],
  },
  {
    key: 'normPlacement',
    name: 'norm is',
    options: [
      ['pre', 'before (pre)'],
      ['post', 'after (post)'],
    ],
  },
  {
    key: 'ffn',
    name: 'FFN',
    options: [
      ['swiglu', 'SwiGLU'],
      ['gelu_tanh', 'GELU-tanh'],
      ['gelu_erf', 'GELU-erf'],
      ['relu', 'ReLU'],
    ],
  },
  {
    key: 'position',
    name: 'positions',
    options: [
      ['rope', 'rotary'],
      ['learned', 'learned'],
      ['sinusoidal', 'sinusoidal'],
      ['none', 'none'],
    ],
  },
  { key: 'ropeTheta', name: 'rope theta', real: true, when: turns },
  { key: 'finalNorm', name: 'final norm', flag: true },
  { key: 'qkNorm', name: 'q, k norms', flag: true },
  { key: 'tieWordEmbeddings', name: 'head tied', flag: true, when: (c) => c.kind !== 'encoder' },
  { key: 'sharedEmbedding', name: 'one embedding', flag: true, when: twoStacks },
  { key: 'biasQkv', name: 'biases, q k v', flag: true },
  { key: 'biasAttnOut', name: 'biases, o', flag: true },
  { key: 'biasFfn', name: 'biases, FFN', flag: true },
  { key: 'biasNorm', name: 'biases, norms', flag: true, more: true, when: (c) => c.norm === 'layernorm' },
  { key: 'biasHead', name: 'biases, head', flag: true, more: true, when: (c) => c.kind !== 'encoder' },
  { key: 'normEps', name: 'norm ε', real: true, more: true },
  { key: 'embeddingScale', name: 'embedding ×', real: true, more: true },
  {
    key: 'ropePairs',
    name: 'rope pairs',
    options: [
      ['half', 'i, i + d/2'],
      ['adjacent', 'neighbours'],
    ],
    more: true,
    when: turns,
  },
  {
    key: 'ropeScaling',
    name: 'rope scaling',
    options: [
      ['none', 'none'],
      ['linear', 'linear'],
      ['llama3', 'Llama 3'],
    ],
    more: true,
    when: turns,
  },
  { key: 'ropeFactor', name: 'its factor', real: true, more: true, when: (c) => turns(c) && c.ropeScaling !== 'none' },
  ...[
    ['ropeLowFreqFactor', 'low frequency'],
    ['ropeHighFreqFactor', 'high frequency'],
    ['ropeOriginalContext', 'first context'],
  ].map(([key, name]) => ({
    key,
    name,
    real: true,
    more: true,
    when: (/** @type {any} */ c) => turns(c) && c.ropeScaling === 'llama3',
  })),
];
const FIRST = 'gpt2';

const same = (/** @type {any} */ a, /** @type {any} */ b) =>
  a === b || (typeof a === 'number' && Math.fround(a) === Math.fround(b)); // some formats keep f32
const says = (/** @type {unknown} */ error) => (error instanceof Error ? `${error.message}.` : String(error));

/**
 * What makes this configuration out of the defaults.
 * @param {any} config complete
 */
function chosen(config) {
  const given = { ...config };
  for (const key of Object.keys(config)) {
    const { [key]: value, ...rest } = given;
    try {
      if (same(/** @type {any} */ (completeConfig(rest))[key], value)) delete given[key];
    } catch {
      /* there is no default */
    }
  }
  return given;
}

/**
 * @param {HTMLElement} root
 * @param {import('../state/store.js').Store} store
 * @param {import('../state/run.js').Run} run
 */
export function create(root, store, run) {
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(
    ' ',
    el('small', {}, 'the loaded model beside another: counted from its configuration, no weights needed'),
  );
  const option = (/** @type {string} */ value, text = value) => el('option', { value }, text);
  const base = el(
    'select',
    { id: 'preset' },
    option('', 'the loaded model, changed'),
    el('optgroup', { label: 'On this page' }, ...SHIPPED.map((m) => option(m.file, m.name))),
    el('optgroup', { label: 'Known sizes' }, ...Object.keys(PRESETS).map((name) => option(name))),
  );
  const fields = el('div', { class: 'fields' });
  const further = el('details', { class: 'further' }, el('summary', {}, 'More'));
  const wrong = el('p', { class: 'wrong', role: 'status' });
  const make = el(
    'button',
    {
      type: 'button',
      onclick: () => {
        if (make.getAttribute('aria-disabled') === 'false') void run.make({ ...config });
      },
    },
    'Make it with random weights',
  );
  const tooLarge = el('p', { class: 'hint' }, `Up to ${si(RUNNABLE)} parameters are made here.`);
  const body = el('tbody');
  const foot = el('tfoot');
  const other = el('th', { scope: 'col', class: 'n' }, 'the other');
  const table = el(
    'table',
    {},
    el('caption', { class: 'hidden' }, 'Parameters by component of both models'),
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        el('th', { scope: 'col' }, 'Component'),
        el('th', { scope: 'col', class: 'n' }, 'loaded'),
        other,
        el('th', { scope: 'col', class: 'n' }, 'difference'),
      ),
    ),
    body,
    foot,
  );
  const changes = el('table', { class: 'changes' });
  const flows = el('div', { class: 'flows' });
  root.append(
    el(
      'div',
      { class: 'compare-split' },
      el(
        'form',
        { onsubmit: (/** @type {Event} */ e) => e.preventDefault() },
        el('div', { class: 'field' }, el('label', { for: 'preset' }, 'Begin with'), base),
        fields,
        further,
        wrong,
        make,
        tooLarge,
      ),
      el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Table of both models' }, table),
      el('div', {}, flows, changes),
    ),
  );

  /** @type {any} of the loaded model */
  let mine = null;
  let given = chosen(completeConfig(FIRST));
  /** @type {any} */
  let config = completeConfig(FIRST);
  base.value = FIRST;

  const inputs = new Map(
    FIELDS.map(({ key, name, options, flag, least = 1, real, more }) => {
      const id = `build-${key}`;
      const input = options
        ? el('select', { id }, ...options.map(([value, text]) => option(value, text)))
        : el(
            'input',
            flag ? { type: 'checkbox', id } : { type: 'number', id, min: real ? 0 : least, step: real ? 'any' : 1 },
          );
      const field = el('div', { class: 'field' }, el('label', { for: id }, name), input);
      (more ? further : fields).append(field);
      input.addEventListener('input', () => {
        given[key] = options ? input.value : flag ? input.checked : Number(input.value);
        if (key === 'kind')
          // of the other kind
          for (const f of FIELDS) if (f.when?.({ ...config, ...given }) === false) delete given[f.key];
        paint();
      });
      return [key, { input, field }];
    }),
  );

  /** Configurations of shipped models: their files say them. @type {Map<string, any>} */
  const known = new Map();
  async function begin() {
    const { value } = base;
    try {
      if (shippedAs(value) && !known.has(value)) {
        other.textContent = '…';
        const api = await load(new URL(value, document.baseURI));
        known.set(value, api.config);
        api.dispose();
      }
      if (base.value !== value) return;
      given = chosen(value ? (known.get(value) ?? completeConfig(value)) : mine);
      paint();
    } catch (error) {
      if (base.value === value) wrong.textContent = says(error);
    }
  }
  base.addEventListener('change', () => void begin());

  function paint() {
    if (!mine) return;
    let theirs;
    let cost;
    try {
      config = completeConfig(given);
      theirs = countParameters(config);
      cost = estimate(config, { contextLength: Math.min(1024, config.contextLength), dtype: 'q8_0', kvDtype: 'f16' });
      wrong.textContent = '';
    } catch (error) {
      wrong.textContent = says(error);
    }
    const now = { ...config, ...given };
    for (const { key, options, flag, when } of FIELDS) {
      const { input, field } = inputs.get(key);
      field.hidden = when?.(now) === false;
      if (flag) input.checked = now[key];
      else if (options || document.activeElement !== input) input.value = String(now[key]);
    }
    make.setAttribute('aria-disabled', String(!theirs));
    if (!theirs) return;
    make.hidden = theirs.total > RUNNABLE;
    tooLarge.hidden = !make.hidden;
    const own = store.state.model.parameters;
    const sum = (t, component) =>
      t.rows.filter((r) => r.component === component).reduce((n, r) => n + (r.tiedTo ? 0 : r.count), 0);
    const difference = (a, b) => (a === b ? '=' : `${b > a ? '+' : '−'}${int(Math.abs(b - a))}`);
    const row = (name, a, b, cls) =>
      el(
        'tr',
        { class: cls },
        el('th', { scope: 'row' }, name),
        el('td', { class: 'n' }, int(a)),
        el('td', { class: 'n' }, int(b)),
        el('td', { class: 'n' }, difference(a, b)),
      );
    const parts = ORDER.filter((c) => [own, theirs].some((t) => t.rows.some((r) => r.component === c)));
    body.replaceChildren(...parts.map((c) => row(NAMES[c], sum(own, c), sum(theirs, c), null)));
    const n = Math.min(1024, config.contextLength);
    foot.replaceChildren(
      row('Total', own.total, theirs.total, 'total'),
      row('Non-embedding', own.nonEmbedding, theirs.nonEmbedding, null),
      el(
        'tr',
        {},
        el('th', { scope: 'row' }, 'As Q8_0'),
        el('td', { class: 'n' }, ''),
        el('td', { class: 'n' }, bytes(cost.weightBytes)),
        el('td', { class: 'n' }, ''),
      ),
      el(
        'tr',
        {},
        el('th', { scope: 'row' }, `kv cache of ${n} tokens, f16`),
        el('td', { class: 'n' }, ''),
        el('td', { class: 'n' }, bytes(cost.kvBytes)),
        el('td', { class: 'n' }, ''),
      ),
      el(
        'tr',
        {},
        el('th', { scope: 'row' }, 'FLOPs a token there'),
        el('td', { class: 'n' }, ''),
        el('td', { class: 'n' }, si(cost.flopsPerToken)),
        el('td', { class: 'n' }, ''),
      ),
    );
    const name = base.value ? (shippedAs(base.value)?.name ?? base.value) : 'changed';
    other.textContent = name;
    paintChanges(name);
    flows.replaceChildren(flow(store.state.model.name, mine, config, own), flow(name, config, mine, theirs));
  }

  /** What is set otherwise in the two, in words; rope pairs only say how a file lays out the rows of q and k. */
  function paintChanges(/** @type {string} */ name) {
    const word = (key, value) =>
      FIELDS.find((f) => f.key === key)?.options?.find(([v]) => v === value)?.[1] ??
      (typeof value === 'boolean'
        ? value
          ? 'yes'
          : 'no'
        : typeof value === 'number'
          ? String(Number(value.toPrecision(6)))
          : value);
    const of = (c) => (key) => (FIELDS.find((f) => f.key === key)?.when?.(c) === false ? '–' : word(key, c[key]));
    const [here, there] = [of(mine), of(config)];
    const differ = FIELDS.filter(
      ({ key }) => key !== 'ropePairs' && !same(mine[key], config[key]) && here(key) !== there(key),
    );
    changes.replaceChildren(
      el('caption', {}, differ.length ? 'What changed' : 'Nothing is set otherwise.'),
      ...(differ.length
        ? [
            el(
              'thead',
              {},
              el(
                'tr',
                {},
                el('th', { scope: 'col' }, 'Setting'),
                el('th', { scope: 'col', class: 'n' }, 'loaded'),
                el('th', { scope: 'col', class: 'n' }, name),
              ),
            ),
            el(
              'tbody',
              {},
              ...differ.map(({ key, name: title }) =>
                el(
                  'tr',
                  {},
                  el('th', { scope: 'row' }, title),
                  el('td', { class: 'n' }, here(key)),
                  el('td', { class: 'n' }, there(key)),
                ),
              ),
            ),
          ]
        : []),
    );
  }

  store.watch(['model'], ({ model }) => {
    if (!model) return;
    mine = model.config;
    if (base.value) paint();
    else void begin();
  });
}

/** A model as the list of what a token passes, what differs from the other one marked. */
function flow(name, c, other, table) {
  const share = (component) =>
    percent(
      table.rows.filter((r) => r.component === component).reduce((n, r) => n + (r.tiedTo ? 0 : r.count), 0) /
        table.total,
    );
  const differs = (/** @type {string[]} */ keys) => keys.some((k) => !same(c[k], other[k]));
  const box = (cls, text, keys, note) =>
    el(
      'li',
      { class: `box ${cls}${differs(keys) ? ' differs' : ''}` },
      el('span', {}, text),
      note ? el('span', { class: 'num' }, note) : null,
    );
  const norm = (keys) =>
    box('norm', c.norm === 'rmsnorm' ? 'RMSNorm' : 'LayerNorm', ['norm', 'biasNorm', ...keys], null);
  const heads = c.nKvHeads !== c.nHeads ? `${c.nHeads} heads, ${c.nKvHeads} kv` : `${c.nHeads} heads`;
  const post = c.normPlacement === 'post';
  const rope = (/** @type {any} */ m) => (m.position === 'rope' ? m.ropeTheta : null);
  const turned = rope(c) === rope(other) ? [] : ['position', 'ropeTheta'];
  const place = c.position === 'rope' ? ', rotary' : '';
  const added = { learned: ' + learned positions', sinusoidal: ' + sinusoids', none: '', rope: '' }[c.position];
  const half = (inner) =>
    post
      ? [inner, el('li', { class: 'plus-line' }, '+ stream'), norm(['normPlacement'])]
      : [norm(['normPlacement']), inner, el('li', { class: 'plus-line' }, '+ stream')];
  const ffn = { swiglu: 'SwiGLU', relu: 'ReLU FFN', gelu_erf: 'GELU-erf FFN', gelu_tanh: 'GELU-tanh FFN' }[c.ffn];
  const cross = twoStacks(c);
  const has = (/** @type {string} */ component) => table.rows.some((r) => r.component === component);
  return el(
    'div',
    {},
    el('h3', {}, name),
    el(
      'ol',
      { class: 'flow' },
      box(
        'embed',
        `Embedding ${int(c.vocabSize)} × ${c.dModel}${added}`,
        [
          'vocabSize',
          'dModel',
          'sharedEmbedding',
          'embeddingScale',
          ...(added || other.position === 'learned' || other.position === 'sinusoidal' ? ['position'] : []),
        ],
        share('embedding'),
      ),
      el(
        'li',
        { class: 'times' },
        el(
          'span',
          { class: `num${differs(['nLayers', 'nEncoderLayers']) ? ' unlike' : ''}` },
          `${cross ? `${c.nEncoderLayers} + ${c.nLayers}` : c.nLayers} ×`,
        ),
        el(
          'ol',
          { class: 'flow' },
          ...half(
            box(
              'attn',
              `Attention, ${heads}${place}`,
              ['nHeads', 'nKvHeads', 'dHead', 'biasQkv', 'biasAttnOut', 'qkNorm', 'slidingWindow', 'causal', ...turned],
              share('attention'),
            ),
          ),
          ...(cross ? half(box('attn', 'Cross-attention in the decoder', ['kind'], share('cross_attention'))) : []),
          ...half(box('ffn', `${ffn}, ${c.dFf}`, ['ffn', 'dFf', 'biasFfn'], share('ffn'))),
        ),
      ),
      has('final_norm') ? norm(['finalNorm']) : null,
      has('head')
        ? box(
            'head',
            c.tieWordEmbeddings ? 'Head, shared with the embedding' : 'Head',
            ['tieWordEmbeddings', 'vocabSize', 'biasHead'],
            share('head'),
          )
        : null,
    ),
  );
}
