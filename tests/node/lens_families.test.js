// lens_families.test.js - logit lens and attribution in every kind of model with a head: the lens ends in the model's own answer,
// and an attribution adds up to the logit or names the part of the model that makes it impossible
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from '../../web/lib/index.js';

const folder = fileURLToPath(new URL('../golden/cases/', import.meta.url));
const NO_SUM = /norm_placement|residual_scale|logit_softcap|d_embed/;
const cases = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'case.json')));

for (const name of cases)
  test(`${name}: the lens ends in the model’s answer, and the attribution adds up`, async (t) => {
    const model = await load(join(folder, name, '/'), { dtype: 'f32' }); // quantised products are no exact sums
    try {
      if (model.config.kind === 'encoder') return t.skip('encoder');
      const given = JSON.parse(readFileSync(join(folder, name, 'case.json'), 'utf8'));
      const ids = [given.input_ids ?? given.ids].flat(2).slice(0, 16);
      const reads = given.src_ids ? { source: given.src_ids } : {};
      const { logits } = await model.forward(ids, reads);
      const size = logits.shape[1];
      const row = logits.data.subarray((ids.length - 1) * size);
      const best = row.reduce((b, x, i) => (x > row[b] ? i : b), 0);
      const lens = await model.logitLens(ids, { ...reads, top: 1 });
      assert.equal(lens.at(-1).at(-1)[0].id, best);
      try {
        const { sum, logit } = await model.attribution(ids, { ...reads, token: best });
        assert.equal(logit, row[best]);
        assert.ok(Math.abs(sum - logit) < 1e-4 * Math.max(1, Math.abs(logit)), `${sum} instead of ${logit}`);
      } catch (error) {
        if (error.code !== 'unsupported') throw error;
        assert.match(error.message, NO_SUM);
      }
    } finally {
      model.dispose();
    }
  });

test('there are cases of both kinds', () => assert.ok(cases.length > 10, `${cases.length}`));
