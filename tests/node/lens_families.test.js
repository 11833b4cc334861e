// lens_families.test.js - logit lens and attribution in every kind of model with a head: the lens ends in the model's own answer,
// and an attribution adds up to the logit
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { golden, openCase, shared, untilEnd } from './helpers.js';

const cases = readdirSync(golden)
  .filter((name) => existsSync(join(golden, name, 'case.json')))
  .map((name) => openCase(name));
if (shared)
  for (const name of ['t1_postnorm', 't1_classic', 't5_gpt', 'qwen3_qknorm', 'llama_attn_mlp_bias', 't1_untied'])
    cases.push(openCase(name, join(shared, 'cases')));

for (const { name, source, about, run } of cases)
  test(`${name}: the lens ends in the model’s answer, and the parts of a logit add up to it`, async (t) => {
    const model = await untilEnd(load(source, { dtype: 'f32' })); // quantised products are no exact sums
    const { kind, nLayers, nHeads } = model.config;
    if (kind === 'encoder') return t.skip('encoder');
    const ids = about.input_ids;
    // frequencies may depend on the length: as many positions as are computed
    const last = async (n) => (await model.forward(ids.slice(0, n), { ...run, logits: 'last' })).logits.data;
    const row = await last(ids.length);
    const best = row.indexOf(Math.max(...row));
    const lens = await model.logitLens(ids, { ...run, top: 1 });
    assert.equal(lens.at(-1).at(-1)[0].id, best);
    for (const position of [0, 5, ids.length - 1]) {
      const logits = await last(position + 1);
      const fromEnd = position - ids.length;
      for (const token of [undefined, 7]) {
        const a = await model.attribution(ids, { ...run, position: token === 7 ? fromEnd : position, token });
        assert.equal(a.position, position);
        assert.equal(a.logit, logits[a.token]);
        assert.ok(Math.abs(a.sum - a.logit) < 1e-4 * Math.max(1, Math.abs(a.logit)), `${a.sum} instead of ${a.logit}`);
        assert.ok(Math.abs(a.parts.reduce((s, p) => s + p.value, 0) - a.sum) < 1e-9);
        const heads = a.parts.filter((p) => p.kind === 'head');
        assert.equal(heads.length, nLayers * nHeads * (run.source ? 2 : 1));
        assert.equal(new Set(a.parts.map((p) => p.name)).size, a.parts.length);
      }
    }
  });

test('there are cases of both kinds', () => assert.ok(cases.length > 10, `${cases.length}`));
