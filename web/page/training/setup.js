// training/setup.js - the form in which a tiny model is chosen, with its parameters counted as it changes.

import { countParameters, estimate } from 'glassformer';
import { el } from '../dom.js';
import { int, si } from '../text/format.js';

const BIASES = { bias_qkv: true, bias_attn_out: true, bias_ffn: true };
/** What the papers put together. Widths are multiples of 32, so that Q8_0 and Q4_0 hold every matrix. */
const BLOCKS = /** @type {Record<string, { name: string, of: (d: number) => Record<string, any> }>} */ ({
  modern: {
    name: 'modern: RMSNorm, SwiGLU, rotary',
    of: (d) => ({ norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', d_ff: Math.ceil(d / 12) * 32 }),
  },
  classical: {
    name: 'GPT-2: LayerNorm, GELU, learned',
    of: (d) => ({ norm: 'layernorm', norm_eps: 1e-5, ffn: 'gelu_tanh', position: 'learned', d_ff: 4 * d, ...BIASES }),
  },
  original: {
    name: '2017: post-norm, ReLU, sinusoids',
    of: (d) => ({
      norm: 'layernorm',
      norm_placement: 'post',
      ffn: 'relu',
      position: 'sinusoidal',
      d_ff: 4 * d,
      ...BIASES,
    }),
  },
});
const BYTES = 257; // each byte a token, and the separator
const BATCH = 256; // tokens of a step: small, so that a little text is not soon known by heart
const DROPOUT = 0.1;

const PRESETS = /** @type {Record<string, Record<string, string>>} */ ({
  'modern, 2 layers × 64': { block: 'modern', n_layers: '2', n_heads: '4', d_model: '64' },
  'GPT-2 style, 2 layers × 64': { block: 'classical', n_layers: '2', n_heads: '4', d_model: '64' },
  'the block of 2017, 2 layers × 64': { block: 'original', n_layers: '2', n_heads: '4', d_model: '64' },
  'one layer, one head': { block: 'modern', n_layers: '1', n_heads: '1', d_model: '32' },
});

const CHOICES = /** @type {[string, string, [string | number, string | number][]][]} */ ([
  ['block', 'block', Object.entries(BLOCKS).map(([key, { name }]) => [key, name])],
  ['n_layers', 'layers', [1, 2, 3, 4, 6].map((n) => [n, n])],
  ['n_heads', 'heads', [1, 2, 4, 8].map((n) => [n, n])],
  ['d_model', 'd_model', [32, 64, 96, 128].map((n) => [n, n])],
  [
    'vocab_size',
    'vocabulary',
    [
      [BYTES, 'bytes'],
      [384, '384'],
      [512, '512'],
      [1024, '1,024'],
    ],
  ],
  ['context_length', 'context', [32, 64, 128, 256].map((n) => [n, n])],
]);
const NUMBERS = /** @type {[string, string, number, number, number][]} */ ([
  ['steps', 'steps', 400, 1, 100_000],
  ['every', 'sample every', 40, 1, 100_000],
  ['seed', 'seed', 1, 0, 4294967295],
]);

/**
 * @typedef {{ config: Record<string, any>, options: Record<string, any>, every: number, gguf: boolean }} Setup gguf:
 *   whether that format knows such a model
 */

/**
 * @returns
 *   {{ node: HTMLElement, read: () => Setup, lock: (on: boolean) => void, onchange: (heard: () => void) => void }}
 */
export function createSetup() {
  const preset = el(
    'select',
    { id: 'train-preset' },
    ...Object.keys(PRESETS).map((name) => el('option', { value: name }, name)),
    el('option', { value: '' }, 'own choice'),
  );
  const count = el('p', { class: 'count', role: 'status' });
  const inputs = /** @type {Record<string, any>} */ ({});
  const field = (key, name, input) => {
    inputs[key] = input;
    return el('div', { class: 'field' }, el('label', { for: input.id }, name), input);
  };
  const fields = el(
    'div',
    { class: 'fields' },
    ...CHOICES.map(([key, name, options]) =>
      field(
        key,
        name,
        el('select', { id: `train-${key}` }, ...options.map(([v, text]) => el('option', { value: v }, String(text)))),
      ),
    ),
    ...NUMBERS.map(([key, name, v, min, max]) => {
      const input = field(key, name, el('input', { type: 'number', id: `train-${key}`, min, max, step: 1 }));
      inputs[key].value = v;
      return input;
    }),
  );
  const node = el(
    'fieldset',
    { class: 'setup' },
    el('legend', { class: 'hidden' }, 'The model'),
    el('div', { class: 'field' }, el('label', { for: 'train-preset' }, 'Begin with'), preset),
    fields,
    count,
  );
  inputs.vocab_size.value = '384';
  inputs.context_length.value = '64';

  const number = (/** @type {string} */ key) => {
    const [, , fallback, min, max] = /** @type {any} */ (NUMBERS.find(([name]) => name === key));
    const x = Math.trunc(Number(inputs[key].value));
    return inputs[key].value !== '' && Number.isFinite(x) ? Math.min(max, Math.max(min, x)) : fallback;
  };

  function read() {
    const d = Number(inputs.d_model.value);
    const config = {
      kind: 'decoder',
      d_model: d,
      n_layers: Number(inputs.n_layers.value),
      n_heads: Number(inputs.n_heads.value),
      context_length: Number(inputs.context_length.value),
      tie_word_embeddings: true,
      ...BLOCKS[inputs.block.value].of(d),
    };
    return {
      config,
      options: {
        vocabSize: Number(inputs.vocab_size.value),
        batchTokens: Math.max(BATCH, config.context_length),
        dropout: DROPOUT,
        steps: number('steps'),
        seed: number('seed'),
      },
      every: number('every'),
      gguf: inputs.block.value !== 'original',
    };
  }

  function tell() {
    const {
      config,
      options: { vocabSize },
    } = read();
    const whole = { ...config, vocab_size: vocabSize };
    const { flopsPerToken } = estimate(whole, { contextLength: config.context_length });
    // there and back: the gradients of inputs and of weights cost a pass each
    count.textContent = `${int(countParameters(whole).total)} parameters, about ${si(3 * flopsPerToken, 'FLOP')} to learn from one token`;
  }

  preset.addEventListener('change', () => {
    for (const [key, v] of Object.entries(PRESETS[preset.value] ?? {})) inputs[key].value = v;
    tell();
  });
  fields.addEventListener('input', () => {
    preset.value =
      Object.keys(PRESETS).find((name) => Object.entries(PRESETS[name]).every(([key, v]) => inputs[key].value === v)) ??
      '';
    tell();
  });
  preset.dispatchEvent(new Event('change'));
  return {
    node,
    read,
    /** What runs keeps its choice. */
    lock(on) {
      node.disabled = on;
    },
    onchange(heard) {
      node.addEventListener('input', heard);
    },
  };
}
