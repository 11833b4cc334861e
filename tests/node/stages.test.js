// stages.test.js - the stages of the anatomy: every weight and every measured operation belongs to exactly one of them.
//
// For the model `dates`, the encoder's blocks were once counted in "1 more block" of the decoder: the stages added up
// to 275,201 parameters instead of 233,601.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { camelConfig, completeConfig } from '../../web/lib/engine/config/config.js';
import { PRESETS, countParameters, create, load } from '../../web/lib/api/index.js';
import { OPERATION_NAMES as NAMES } from '../../web/page/text/count_text.js';
import { CONCEPTS, TINY } from './concepts.js';
import { randomVariant } from './random_config.js';
import { OPERATIONS, costOf, stagesOf } from '../../web/page/views/inside/anatomy/stages.js';

const weights = fileURLToPath(new URL('../../weights/', import.meta.url));
const sum = (list) => list.reduce((a, b) => a + b, 0);

/** Whatever layer is open, all stages together are the model. */
function addsUp(name, config, { rows, total }) {
  for (let layer = 0; layer < config.nLayers; layer++) {
    const stages = stagesOf(config, rows, layer, 7, 5);
    assert.equal(
      sum(stages.map((s) => s.params)),
      total,
      `${name}, layer ${layer}: ${stages.map((s) => `${s.id} ${s.params}`).join(', ')}`,
    );
  }
}

test('the parameters of the stages add up to those of every shipped model, and their points exist', async () => {
  for (const file of ['stories-1m.gguf', 'stories.gguf', 'stories-gpt2.gguf', 'dates/']) {
    const model = await load(weights + file);
    addsUp(file, model.config, model.parameters);
    const points = new Set(await model.points());
    const named = stagesOf(model.config, model.parameters.rows, 1, 7, 5).flatMap((s) =>
      s.points.map(([point]) => point),
    );
    assert.deepEqual(
      named.filter((point) => !points.has(point)),
      [],
      file,
    );
    model.dispose();
  }
});

test('the parameters of the stages add up for every preset and for an encoder-decoder with every option', () => {
  const all = {
    kind: 'encoder_decoder',
    vocab_size: 96,
    d_model: 32,
    n_layers: 3,
    n_encoder_layers: 2,
    n_heads: 4,
    n_kv_heads: 2,
    position: 'learned',
    shared_embedding: false,
    final_norm: true,
    qk_norm: true,
    bias_qkv: true,
    bias_attn_out: true,
    bias_ffn: true,
    bias_head: true,
    norm: 'layernorm',
  };
  const encoder = { kind: 'encoder', vocab_size: 96, d_model: 32, n_layers: 2, n_heads: 4, position: 'learned' };
  for (const [name, config] of Object.entries({ ...PRESETS, all, encoder }))
    addsUp(name, camelConfig(completeConfig(config)), countParameters(config));
});

/** Stages of one layer by their ids. @returns {Record<string, any>} */
const byId = (config, rows, layer, n = 7) =>
  Object.fromEntries(stagesOf(config, rows, layer, n, 0).map((stage) => [stage.id, stage]));

for (const [name, [changes, has, says]] of Object.entries(CONCEPTS))
  test(`stages of a model with ${name}: parameters, operations, points and words`, async () => {
    const model = await create({ ...TINY, ...changes }, { seed: 1 });
    try {
      const { config, parameters } = model;
      addsUp(name, config, parameters);
      const points = new Set(await model.points());
      const rows = await model.trace([3], config.kind === 'encoder_decoder' ? { source: [1] } : {});
      for (let layer = 0; layer < config.nLayers; layer++) {
        const stages = stagesOf(config, parameters.rows, layer, 1, 0);
        assert.equal(
          sum(stages.map(({ id }) => costOf(config, rows, id, layer).flops)),
          sum(rows.map((row) => row.flops)),
          `layer ${layer}`,
        );
        for (const [point] of stages.flatMap((stage) => stage.points)) assert.ok(points.has(point), point);
      }
      for (const [place, there] of Object.entries(has)) {
        const [id, layer = 0] = place.split('@');
        assert.equal(id in byId(config, parameters.rows, Number(layer)), there, place);
      }
      for (const [place, patterns] of Object.entries(says)) {
        const [id, layer = 0] = place.split('@');
        const { title, formula, words } = byId(config, parameters.rows, Number(layer))[id];
        for (const pattern of patterns) assert.match(`${title}\n${formula}\n${words}`, pattern, place);
      }
    } finally {
      model.dispose();
    }
  });

test('of any decoder every weight is in one stage, and no word is missing', () => {
  fc.assert(
    fc.property(randomVariant, (given) => {
      const config = camelConfig(completeConfig(given));
      const table = countParameters(given);
      addsUp('random', config, table);
      for (let layer = 0; layer < config.nLayers; layer++)
        for (const { title, formula, words } of stagesOf(config, table.rows, layer, 7, 0))
          assert.doesNotMatch(`${title} ${formula} ${words}`, /undefined|NaN|null|\[object/);
    }),
    { numRuns: 200 },
  );
});

test('one more block of dates has the parameters of one decoder block', async () => {
  const model = await load(`${weights}dates/`);
  const { dModel: d, dFf: f } = model.config;
  const attention = 4 * (d * d + d);
  const more = stagesOf(model.config, model.parameters.rows, 0, 7, 5).find((s) => s.id === 'more');
  assert.equal(more.params, 2 * attention + 2 * d * f + f + d + 3 * 2 * d); // two attentions, the FFN, three norms
  assert.equal(more.params, 58_496);
  model.dispose();
});

test('what the encoder takes is what the trace counts of it, not 0', async () => {
  const model = await load(`${weights}dates/`);
  const rows = await model.trace([1, 2, 3], { source: [5, 6, 7, 8, 9, 10] });
  const counted = sum(rows.filter((row) => row.stack === 'encoder').map((row) => row.flops));
  assert.ok(counted > 0);
  assert.equal(costOf(model.config, rows, 'encoder', 0).flops, counted);
  model.dispose();
});

test('every operation that the engine measures has a name and exactly one stage', async () => {
  const list = /#define GF_OPS\(X\)[^]*?(?=enum gf_op)/.exec(
    readFileSync(new URL('../../src/glassformer.h', import.meta.url), 'utf8'),
  )[0];
  const ops = [...list.matchAll(/X\(GF_OP_\w+, "([\w.]+)"\)/g)].map(([, name]) => name).sort();
  assert.ok(ops.length > 15);
  assert.deepEqual(Object.values(OPERATIONS).flat().sort(), ops);
  assert.deepEqual(Object.keys(NAMES).sort(), ops);
  for (const kind of ['decoder', 'encoder_decoder', 'encoder']) {
    const model = await create({ kind, vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 4, final_norm: true });
    const rows = await model.trace([1, 2, 3, 4], kind === 'encoder_decoder' ? { source: [5, 6, 7] } : {});
    const stages = stagesOf(model.config, model.parameters.rows, 1, 4, 3);
    const ms = sum(stages.map((s) => costOf(model.config, rows, s.id, 1).ms));
    const whole = sum(rows.map((r) => r.ms));
    assert.ok(whole > 0 && Math.abs(ms - whole) < 1e-9 * whole, `${kind}: ${ms} of ${whole} ms`);
    model.dispose();
  }
});
