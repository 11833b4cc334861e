// elements.test.js - glassformer/elements where there is no document, its plain data, its shared models, its colours
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bytes, figures, si } from '../../web/draw/written.js';
import { candidatesOf, componentsOf, storeOf, tokensOf } from '../../web/lib/apps/elements/plain_data.js';
import { nextAfter, readPattern, readTokens } from '../../web/lib/apps/elements/read_model.js';
import { releaseModel, requestModel } from '../../web/lib/apps/elements/shared_models.js';
import { create, load } from '../../web/lib/api/index.js';
import { untilEnd } from './helpers.js';

const model = fileURLToPath(new URL('../../weights/stories-1m.gguf', import.meta.url));

test('importing the elements in Node defines nothing and does not fail', async () => {
  const { TAGS } = await import('../../web/lib/apps/elements/elements.js');
  assert.equal(TAGS.length, 5);
  assert.equal(globalThis.customElements, undefined);
});

test('a pattern as nested lists, as a tensor and from a model gives the same rows', async () => {
  const own = await untilEnd(load(model));
  const { ids, tokens } = await readTokens(own, 'Once upon a time');
  const { pattern } = await readPattern(own, ids);
  const { captured } = await own.forward(ids, { capture: ['blocks.1.attn.hook_pattern'] });
  const tensor = captured['blocks.1.attn.hook_pattern'];
  const [heads, n] = tensor.shape;
  const lists = Array.from({ length: heads }, (_, h) =>
    Array.from({ length: n }, (_, q) => Array.from(tensor.data.subarray((h * n + q) * n, (h * n + q) * n + n))),
  );
  for (const given of [tensor, lists, [lists]]) {
    const store = storeOf(given, tokens.length, tokens.length);
    assert.equal(store.causal, true);
    assert.deepEqual(store.row(0, 2, 3), pattern.row(1, 2, 3));
  }
});

// Keys after the query were left out, and the sentence about an encoder was one of JavaScript's.
test('a decoder without the causal mask has whole rows, an encoder without a head no next token', async () => {
  const config = { vocab_size: 9, d_model: 8, n_layers: 1, n_heads: 2 };
  const open = await create({ ...config, causal: false });
  const { pattern } = await readPattern(open, [1, 2, 3]);
  assert.equal(pattern.row(0, 0, 0).length, 3);
  const encoder = await create({ ...config, kind: 'encoder' });
  const { logits } = await readPattern(encoder, [1, 2, 3]);
  await assert.rejects(nextAfter(encoder, logits, 0), /encoder without a head/);
});

test('data of another form is refused with a sentence that says what was found', () => {
  for (const [work, sentence] of /** @type {[() => unknown, RegExp][]} */ ([
    [() => tokensOf(7), /^tokens is a list of texts, or of \{ text, id \}; found 7$/],
    [() => tokensOf(['a', { id: 1 }]), /^tokens\[1\] is a text, or \{ text, id \}; found \{"id":1\}$/],
    [() => storeOf([1], 1, 1), /^pattern has the form .*; found \[1\]$/],
    [() => storeOf([[1], [1]], 1, 1), /^each head of pattern has 1 rows; found 2$/],
    [() => storeOf([[2]], 1, 1), /numbers from 0 to 1; found 2$/],
    [() => storeOf([[[1]], null], 1, 1), /^each head of pattern has 1 rows; found undefined$/],
    [() => componentsOf([]), /^parameters are rows .*; found \[\]$/],
    [() => candidatesOf([{ text: 'a', probability: 3 }]), /^candidates\[0\].probability is .*; found 3$/],
  ]))
    assert.throws(work, { name: 'TypeError', message: sentence });
});

// 999,600 was 1000 k, 9.996 was 10.00
test('a number that is rounded up has three figures too', () => {
  assert.deepEqual(
    [999.4, 999.6, 999_600, -999_600, 1e6].map((x) => si(x)),
    ['999', '1.00 k', '1.00 M', '-1.00 M', '1.00 M'],
  );
  assert.deepEqual([9.994, 9.996, -99.96, 0.99996, 0, NaN].map(figures), ['9.99', '10.0', '-100', '1.00', '0', 'NaN']);
  assert.equal(bytes(999_960), '1.00 MB');
});

test('elements with the same address share one model, which is disposed when the last has released it', async () => {
  const first = requestModel(model),
    second = requestModel(model);
  assert.equal(first, second);
  const shared = await first;
  releaseModel(model, first);
  await shared.encode('still there');
  releaseModel(model, second);
  await assert.rejects(shared.encode('gone'), { code: 'bad-state' });
  const later = requestModel(model);
  assert.notEqual(later, first);
  releaseModel(model, later);
});

test('the colours of the elements are those of the page', () => {
  const read = (/** @type {string} */ path) => readFileSync(new URL(`../../web/${path}`, import.meta.url), 'utf8');
  const colors = [...read('lib/apps/elements/element_styles.js').matchAll(/^ {2}(\w+): \['(#\w+)', '(#\w+)'\]/gm)];
  assert.equal(colors.length, 12);
  for (const [, name, light, dark] of colors)
    assert.ok(read('page/style/base.css').includes(`--${name}: light-dark(${light}, ${dark});`), name);
});
