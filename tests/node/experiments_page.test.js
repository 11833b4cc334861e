// experiments_page.test.js - calculations behind the page's experiments and small parts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { marks } from '../../web/page/parts/axis_marks.js';
import { target } from '../../web/draw/roving.js';
import { mostAffected, rowsOf } from '../../web/page/views/experiment/ablation.js';
import { ideasOf } from '../../web/page/views/experiment/ideas.js';

test('arrow keys lead to the neighbours in a list, a grid, and a grid with rows of unequal length', () => {
  assert.deepEqual(
    ['ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowUp', 'Home', 'End', 'Tab'].map((key) => target(key, 4, 9, 3)),
    [5, 3, 7, 1, 0, 8, undefined],
  );
  assert.deepEqual(
    ['ArrowDown', 'ArrowUp'].map((key) => target(key, 1, 3, 1)),
    [2, 0],
  );
  const rows = [3, 2, 3]; // 0 1 2 | 3 4 | 5 6 7
  for (const [key, from, to] of [
    ['ArrowDown', 2, 4],
    ['ArrowDown', 4, 6],
    ['ArrowUp', 7, 4],
    ['ArrowUp', 3, 0],
    ['ArrowUp', 1, -1],
    ['ArrowDown', 6, -1],
  ])
    assert.equal(target(key, from, 8, rows), to, `${key} from ${from}`);
});

test('marks of a logarithmic axis: 1, 2 and 5 of few decades, powers of ten of more, some of many', () => {
  const texts = (axis) => marks(axis).map(({ text }) => text);
  assert.deepEqual(texts([0.3, 9]), ['0.5', '1', '2', '5']);
  assert.deepEqual(texts([1e-3, 0.04]), ['0.001', '0.002', '0.005', '0.01', '0.02']);
  assert.deepEqual(texts([1e-6, 3]), ['10⁻⁶', '10⁻⁵', '10⁻⁴', '10⁻³', '10⁻²', '10⁻¹', '1']);
  assert.ok(marks([1e-40, 10]).length <= 10);
  for (const { at } of marks([1e-40, 10])) assert.ok(at >= 1e-40 && at <= 10);
});

test('the grid of parts has a row for each attention, with its FFN, and counts from 1 in words', () => {
  const config = { kind: 'encoder_decoder', nLayers: 1, nEncoderLayers: 1, nHeads: 2, dFf: 8 };
  assert.deepEqual(
    rowsOf(config).map(({ label, parts }) => [label, ...parts.map(({ name }) => name)]),
    [
      ['E1', 'encoder layer 1, head 1', 'encoder layer 1, head 2', 'encoder layer 1, FFN'],
      ['L1', 'layer 1, head 1', 'layer 1, head 2', 'layer 1, FFN'],
      ['↔', 'layer 1, head 1, across', 'layer 1, head 2, across'],
    ],
  );
  assert.deepEqual(
    rowsOf(config).flatMap(({ parts }) => parts.map(({ edit }) => edit.at)),
    [
      ...['encoder.0.attn.hook_z', 'encoder.0.attn.hook_z', 'encoder.0.hook_mlp_out'],
      ...['decoder.0.attn.hook_z', 'decoder.0.attn.hook_z', 'decoder.0.hook_mlp_out'],
      ...['decoder.0.cross_attn.hook_z', 'decoder.0.cross_attn.hook_z'],
    ],
  );
});

test('the most affected tokens are those that lost most, three at most', () => {
  assert.deepEqual(mostAffected([1, 1, 1, 1, 1], [1.05, 3, 0, 2, 1.5]), [
    { at: 2, bits: 2 },
    { at: 4, bits: 1 },
    { at: 5, bits: 0.5 },
  ]);
  assert.deepEqual(mostAffected([1, 1], [1.05, 0]), []);
});

test('only ideas that a model has can be left out', () => {
  const all = ['causal', 'scaleScores', 'usePosition', 'useResidual', 'useNorm', 'useFinalNorm'];
  assert.deepEqual(ideasOf({ position: 'rope', finalNorm: true }), all);
  assert.deepEqual(ideasOf({ position: 'none', finalNorm: false }), [
    'causal',
    'scaleScores',
    'useResidual',
    'useNorm',
  ]);
});
