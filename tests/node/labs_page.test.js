// labs_page.test.js - what the view Labs shows of a lab before it runs: its recorded figures, with layers and heads counted
// from 1
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LABS } from '../../web/lib/apps/labs/labs.js';
import { figureFromOne, fromOne } from '../../web/page/views/labs/from_one.js';

const file = (/** @type {string} */ lab) =>
  new URL(`../../web/page/views/labs/recorded/${lab}_figures.json`, import.meta.url);

test('layers and heads of a lab are counted from 1', () => {
  assert.equal(fromOne('head 1.0: 0.97, head 0.3: 0.55'), 'head 1 of layer 2: 0.97, head 4 of layer 1: 0.55');
  assert.equal(fromOne('more at the end from the input of layer 5 on'), 'more at the end from the input of layer 6 on');
  assert.equal(fromOne('loss 2.54, 12 layers'), 'loss 2.54, 12 layers');
  /** @type {any} */
  const matrix = {
    ...{ id: 'heads', kind: 'matrix', title: 'Cross-attention of head 1.1', unit: '', values: [], range: [0, 1] },
    rows: { name: 'head', labels: ['0.0', '1.3'] },
    columns: { name: 'layer', labels: ['0', '1'] },
  };
  const shown = figureFromOne(matrix);
  assert.deepEqual(
    [shown.title, shown.rows.labels, shown.columns.labels],
    ['Cross-attention of head 2 of layer 2', ['L1 H1', 'L2 H4'], ['1', '2']],
  );
  matrix.rows = { name: 'year', labels: ['1818'] };
  assert.deepEqual(figureFromOne(matrix).rows.labels, ['1818']);
});

for (const lab of LABS)
  test(`${lab}: its recorded figures have the shapes of figures`, { skip: !existsSync(file(lab)) }, () => {
    /** @type {import('../../web/lib/apps/labs/labs.js').Figure[]} */
    const figures = JSON.parse(readFileSync(file(lab), 'utf8'));
    assert.ok(figures.length);
    for (const figure of figures) {
      if (figure.kind === 'curves')
        for (const { x, y } of figure.curves) assert.ok(x.length && x.length === y.length, figure.id);
      else if (figure.kind === 'matrix') {
        assert.equal(figure.values.length, figure.rows.labels.length, figure.id);
        for (const row of figure.values) assert.equal(row.length, figure.columns.labels.length, figure.id);
      } else assert.ok(figure.texts.length, figure.id);
    }
  });
