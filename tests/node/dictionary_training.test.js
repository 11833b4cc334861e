// dictionary_training.test.js - dictionary(): what it learns, its files, its features, its report
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Dictionary, create, dictionary, load, scan } from '../../web/lib/api/index.js';
import { addBaselines } from '../../web/lib/train/dictionaries/dictionary_baselines.js';
import { refused, top } from './helpers.js';
import { temporaryFolder } from '../temporary.js';

const idsOf = (/** @type {{id: number}[]} */ tokens) => tokens.map(({ id }) => id);
const model = await load(join(top, 'weights/stories-1m.gguf'), { dtype: 'f32', kvDtype: 'f32' });
const text = readFileSync(join(top, 'tests/golden/text/stories.txt'), 'utf8').split(/\n\n+/);
const at = 'blocks.2.hook_resid_post';
const options = { at, size: 96, k: 6, tokens: 500, heldOut: 150, epochs: 6, batch: 64, seed: 3, threads: 1 };
const steps = [];
const run = dictionary(model, text, options);
for await (const step of run) steps.push(step);
const trained = await run.dictionary();
after(() => model.dispose());

const sha256 = (/** @type {Uint8Array | string} */ bytes) => createHash('sha256').update(bytes).digest('hex');

/** The files of a dictionary by their names. */
const filesOf = async (made, o) => Object.fromEntries((await made.files(o)).map(({ name, bytes }) => [name, bytes]));

describe('training a dictionary', () => {
  test('captures the tokens, then explains more of them', () => {
    const phases = steps.map(({ phase }) => phase);
    assert.equal(phases.lastIndexOf('capture') + 1, phases.indexOf('train'));
    const captured = steps.filter(({ phase }) => phase === 'capture').at(-1);
    assert.equal(captured.tokens, captured.of);
    assert.ok(captured.tokens <= 500 && captured.tokens > 300);
    const last = steps.at(-1);
    assert.equal(last.tokens, last.of);
    assert.ok(last.fvu < 0.25 && last.l0 <= 6, `${last.fvu}`);
  });

  test('gives the same bits with two threads, and others with another seed', async () => {
    const twice = await dictionary(model, text, { ...options, threads: 2 }).dictionary();
    const other = await dictionary(model, text, { ...options, seed: 4 }).dictionary();
    const [a, b, c] = await Promise.all([trained, twice, other].map((made) => filesOf(made)));
    const name = 'sae_weights.safetensors';
    assert.deepEqual(a[name], b[name]);
    assert.notDeepEqual(a[name], c[name]);
  });

  // The shipped dictionary was of an older trainer: the command of its card gave other features.
  test('gives the bits that were recorded', async () => {
    const files = await filesOf(trained);
    assert.deepEqual(
      ['sae_weights.safetensors', 'token_table.safetensors'].map((name) => sha256(files[name])),
      [
        '4ade1f01a1bf1667895306792d841be90936e0249c0389300071764a30db3fba',
        'b36c56ab413164fc16791bf0e04d3df15148fdf0a92cd745030fa80ecd38be93',
      ],
      'The trainer gives other bits. Run the command in weights/dictionaries/stories.md and scripts/record_feature.js, ' +
        'renew that card and docs/dictionaries.md, then record the new sums here.',
    );
  });

  test('reports what is explained of held-out text, beside simpler descriptions', async () => {
    const report = await trained.report();
    const { loss, dictionary: own, mean, table, neurons, random } = report;
    assert.ok(report.tokens > 50 && report.l0 > 1 && report.l0 <= 6);
    assert.ok(Math.abs(mean.fvu - 1) < 1e-6 && mean.recovered === 0);
    assert.ok(table.fvu < 1 && own.fvu < table.fvu, JSON.stringify(report));
    assert.ok(neurons.fvu < table.fvu && own.fvu < neurons.fvu, JSON.stringify(report));
    assert.ok(loss < own.loss && own.loss < mean.loss && random.loss < mean.loss);
    assert.ok(Math.abs(own.recovered - (mean.loss - own.loss) / (mean.loss - loss)) < 1e-9);
  });

  test('has the strongest neurons of an MLP as a baseline: all of them together are its output', async () => {
    const ids = await model.encode(text[0]);
    const [place, hidden] = ['blocks.1.hook_mlp_out', 'blocks.1.mlp.hook_post'];
    const { captured } = await model.forward(ids, { capture: [place, hidden], logits: 'none' });
    const w = { dIn: 128, dOut: 128, size: 4, from: 1, at: place, out: null, tableIn: null, tableOut: null };
    const want = captured[place].data.subarray(128);
    const rows = ids.length - 1;
    const neurons = async (k) => {
      const all = [{ ids, want, by: {} }];
      await addBaselines(model, w, all, { rows, k });
      return all[0].by.neurons;
    };
    const off = (got) => Math.max(...got.map((x, i) => Math.abs(x - want[i])));
    assert.ok(off(await neurons(352)) < 1e-4);
    // one neuron: the largest product of the distance to its mean with the length of its output vector
    const { data: down } = await model.matrix('blocks.1.ffn.down.weight');
    const column = (i) => Array.from({ length: 128 }, (_, c) => down[c * 352 + i]);
    const post = captured[hidden].data.subarray(352);
    const average = (list, width, i) => {
      let sum = 0;
      for (let r = 0; r < rows; r++) sum += list[r * width + i] / rows;
      return sum;
    };
    const centred = Array.from({ length: 352 }, (_, i) => post[i] - average(post, 352, i));
    const sizes = centred.map((x, i) => Math.abs(x) * Math.hypot(...column(i)));
    const best = sizes.indexOf(Math.max(...sizes));
    const one = (await neurons(1)).subarray(0, 128);
    column(best).forEach((x, c) =>
      assert.ok(Math.abs(one[c] - average(want, 128, c) - centred[best] * x) < 1e-5, `${c}`),
    );
  });

  test('knows where each feature is active', async () => {
    const densities = trained.densities();
    const busiest = densities.indexOf(Math.max(...densities));
    const feature = await trained.feature(busiest, { contexts: 3, tokens: 4 });
    assert.ok(Math.abs(feature.density - densities[busiest]) < 1e-6);
    assert.equal(
      feature.histogram.counts.reduce((a, b) => a + b, 0),
      feature.count,
    );
    const values = feature.contexts.slice(0, 3).map(({ value }) => value);
    assert.deepEqual(
      values,
      [...values].sort((a, b) => b - a),
    );
    assert.equal(feature.histogram.most, values[0]);
    const { tokens, at: place, value, position } = feature.contexts[0];
    assert.equal(tokens[place].value, value);
    // the engine finds the same value in the same text
    const ids = (await model.tokenizer).encode(text[0].trim());
    const window = feature.contexts.find((context) => context.window === 0);
    if (window) {
      const found = (await trained.encode(ids))[window.position].features.find((f) => f.feature === busiest);
      assert.ok(Math.abs(found.value - window.value) < 1e-3 * window.value);
    }
    assert.ok(position >= 1);
    // the same from the values of the weights, in double precision
    const [head, gain] = [await model.matrix('head.weight'), await model.matrix('final_norm.weight')];
    const logits = Array.from({ length: head.shape[0] }, (_, id) =>
      feature.direction.reduce((sum, x, i) => sum + x * gain.data[i] * head.data[id * head.shape[1] + i], 0),
    );
    const order = logits.map((_, id) => id).sort((a, b) => logits[b] - logits[a]);
    assert.deepEqual(idsOf(feature.promoted), order.slice(0, 4));
    assert.deepEqual(idsOf(feature.suppressed), order.slice(-4).reverse());
    for (const { id, logit, text } of [...feature.promoted, ...feature.suppressed]) {
      assert.ok(Math.abs(logit - logits[id]) < 1e-5 * Math.abs(logits[order[0]]));
      assert.equal(text, (await model.tokenizer).idToText(id));
    }
    await refused(trained.feature(96), 'bad-argument', /the dictionary has 96/);
  });

  test('leaves the first position without features', async () => {
    const [first, second] = await trained.encode('Once upon a time');
    assert.equal(first.features.length, 0);
    assert.ok(second.features.length > 0);
  });
});

describe('the files of a dictionary', () => {
  const write = async (o) => {
    const folder = join(temporaryFolder(), o?.dtype ?? 'f32');
    mkdirSync(folder);
    for (const [name, bytes] of Object.entries(await filesOf(trained, o))) writeFileSync(join(folder, name), bytes);
    return `${folder}/`;
  };

  test('are read back, in f32 exactly and in int8 nearly', async () => {
    const [want, ...found] = await Promise.all([
      trained.encode('The dog was very happy.'),
      ...['f32', 'int8'].map(async (dtype) =>
        (await Dictionary.load(await write({ dtype }), { model })).encode('The dog was very happy.'),
      ),
    ]);
    assert.deepEqual(found[0], want);
    const strongest = ({ features }) => features[0]?.feature;
    const same = want.filter((position, t) => strongest(position) === strongest(found[1][t]));
    assert.ok(same.length >= want.length - 1);
  });

  test('are in the form of SAELens, with provenance', async () => {
    const cfg = JSON.parse(new TextDecoder().decode((await filesOf(trained))['cfg.json']));
    assert.equal(cfg.architecture, 'topk');
    assert.deepEqual([cfg.d_in, cfg.d_sae, cfg.k, cfg.metadata.hook_name], [128, 96, 6, at]);
    const { seed, data, model: sum } = cfg.metadata.glassformer;
    assert.deepEqual([seed, data], [3, sha256(JSON.stringify(text))]);
    assert.match(sum, /^[0-9a-f]{64}$/);
  });

  test('are refused for another model', async () => {
    const other = await load(join(top, 'weights/stories-gpt2.gguf'));
    await refused(Dictionary.load(await write(), { model: other }), 'bad-file', /another model/);
    other.dispose();
  });
});

describe('an edit of a feature', () => {
  const ids = [1, 5, 9, 200];
  const edits = [{ dictionary: trained, feature: 3, scale: 0 }];
  const of = { token: 7 };
  /** Every call that takes edits. */
  const calls = {
    forward: (one) => one.forward(ids, { edits }),
    loss: (one) => one.loss(ids, { edits }),
    complete: (one) => one.complete(ids, { edits, maxTokens: 2 }),
    session: (one) => one.session({ edits }),
    logitLens: (one) => one.logitLens(ids, { edits }),
    attribution: (one) => one.attribution(ids, { edits, token: 7 }),
    explain: (one) => one.explain(ids, { edits, at: 'blocks.3.hook_resid_post', index: 1 }),
    headScores: (one) => one.headScores({ edits }),
    sweep: (one) => one.sweep(ids, [edits], { metric: of }),
    gradients: (one) => one.gradients(ids, { edits, of, at: ['hook_embed'] }),
    scan: (one) => scan(one, [ids], { at, edits, statistic: 'mean' }).result(),
  };

  // An edit with a dictionary of another model of the same width was accepted.
  for (const [name, call] of Object.entries(calls))
    test(`of a dictionary that was made from another model is refused by ${name}`, async () => {
      const other = await create({ ...model.config }, { seed: 1 });
      const expected =
        /the dictionary of blocks.2.hook_resid_post belongs to another model: it was made from "stories-1m", whose .*[0-9a-f]{12}\.\.\., and this model is a model without a name, whose /;
      for (let i = 0; i < 2; i++) await refused(call(other), 'bad-option', expected);
      other.dispose();
    });

  test('is accepted by the same model in every type of weights, and of a dictionary that names no model', async () => {
    const files = await trained.files();
    const cfg = JSON.parse(new TextDecoder().decode(files[0].bytes));
    delete cfg.metadata.glassformer;
    const foreign = await Dictionary.load([
      new File([JSON.stringify(cfg)], 'cfg.json'),
      ...files.slice(1).map((file) => new File([file.bytes], file.name)),
    ]);
    for (const dtype of ['f32', 'f16', 'q8_0', 'q4_0']) {
      const same = await load(join(top, 'weights/stories-1m.gguf'), { dtype, worker: dtype === 'f16' });
      await same.forward(ids, { edits });
      same.dispose();
    }
    const other = await create({ ...model.config }, { seed: 1 });
    await other.forward(ids, { edits: [{ dictionary: foreign, feature: 3, scale: 0 }] });
    other.dispose();
  });
});

describe('gradients with an edit of a feature', () => {
  const ids = [1, 5, 9, 200, 7, 31];
  const embed = 'hook_embed';
  const edited = async (one, edits, of = { token: 7, as: 'probability' }) => {
    const { value, gradients } = await one.gradients(ids, { edits, of, at: [embed] });
    return { value, data: gradients[embed].data };
  };

  test('are the same of a model in 8 bits, whose passes they compute in f32, and in a worker', async () => {
    const features = (await trained.encode(ids)).at(-1).features;
    const edits = features.slice(0, 2).map(({ feature }) => ({ dictionary: trained, feature, scale: 3 }));
    const want = await edited(model, edits);
    for (const options of [{}, { worker: true }]) {
      const rounded = await load(join(top, 'weights/stories-1m.gguf'), options);
      assert.notEqual(rounded.parameters.rows[0].dtype, 'f32');
      assert.deepEqual(await edited(rounded, edits), want);
      rounded.dispose();
    }
    assert.notDeepEqual(want.data, (await edited(model, [])).data);
  });

  // A call waited between its edits and its pass, and another one took them away.
  test('do not mix with those of calls that run at the same time', async () => {
    const all = [0, 4].map((scale) => [
      { dictionary: trained, feature: 3, scale },
      { at, scale: 1 + scale },
    ]);
    const want = [];
    for (const edits of all) want.push(await edited(model, edits, { token: 7 }));
    assert.deepEqual(await Promise.all(all.map((edits) => edited(model, edits, { token: 7 }))), want);
  });
});

test('the shipped dictionary is the one of its card, made from the shipped model', async () => {
  const folder = join(top, 'weights/dictionaries/stories');
  const card = readFileSync(`${folder}.md`, 'utf8');
  for (const name of ['cfg.json', 'features.json', 'sae_weights.safetensors', 'token_table.safetensors'])
    assert.ok(card.includes(`| \`${name}\` | \`${sha256(readFileSync(join(folder, name)))}\` |`), name);
  const stories = await load(join(top, 'weights/stories.gguf'));
  const shipped = await Dictionary.load(`${folder}/`, { model: stories });
  const { weights, name, dtypes } = await stories.provenance();
  const made = shipped.provenance;
  assert.deepEqual([made.weights, made.name, made.dtypes], [weights, name, dtypes]);
  assert.ok(card.includes(`sums to \`${made.data}\``), 'the text');
  assert.ok(card.includes(`weights/stories.gguf tinystories_train.txt ${shipped.at} `), 'the command');
  assert.equal(JSON.parse(readFileSync(join(folder, 'features.json'), 'utf8')).length, shipped.size);
  stories.dispose();
});

describe('a transcoder', () => {
  test('reconstructs the output of an MLP from its input', async () => {
    const [input, out] = ['blocks.1.ln2.hook_normalized', 'blocks.1.hook_mlp_out'];
    const fvus = [];
    const transcoding = dictionary(model, text, { ...options, at: input, out });
    for await (const { phase, fvu } of transcoding) if (phase === 'train') fvus.push(fvu);
    const made = await transcoding.dictionary();
    assert.deepEqual([made.at, made.out], [input, out]);
    assert.ok(fvus.at(-1) < 0.5, `${fvus}`);
    const { loss, dictionary: own } = await made.report(); // of text that 500 tokens say little about
    assert.ok(own.fvu < 1 && Math.abs(own.loss - loss) < 1, JSON.stringify({ loss, own }));
  });
});

describe('dictionary refuses', () => {
  test('a text without tokens, unknown points and options, and stops when it is aborted', async () => {
    const first = (given, from = text) => dictionary(model, from, { ...options, ...given }).next();
    await refused(first({}, ''), 'bad-argument', /has no tokens/);
    await refused(first({ at: 'blocks.9.hook_resid_post' }), 'unknown-point');
    await refused(first({ at: undefined }), 'bad-option', /needs the option at/);
    await refused(first({ widht: 3 }), 'bad-option', /widht/);
    await refused(first({ k: 97 }), 'bad-argument', /k is 97/);
    await refused(first({ at: 'blocks.0.attn.hook_pattern' }), 'bad-option', /one row for each position/);
    const controller = new AbortController();
    const aborted = dictionary(model, text, { ...options, signal: controller.signal });
    await aborted.next();
    const reason = new Error('enough');
    controller.abort(reason);
    await assert.rejects(
      async () => {
        for await (const _ of aborted);
      },
      (error) => error === reason,
    );
    await refused(aborted.dictionary(), 'bad-state', /was ended/);
  });
});

test('a direction promotes no tokens where a model has no head, or one of labels', async () => {
  const small = { vocabSize: 64, dModel: 16, nLayers: 1, nHeads: 2, dFf: 32, contextLength: 16 };
  for (const config of [
    { ...small, kind: 'encoder' },
    { ...small, nLabels: 3 },
  ]) {
    const other = await create(config, { seed: 1 });
    assert.deepEqual(await other.directionTokens(new Float32Array(16).fill(1), 4), { promoted: [], suppressed: [] });
    other.dispose();
  }
});

test('a pass whose logits nobody reads captures the same values', async () => {
  const capture = ['hook_embed', 'blocks.1.hook_resid_post'];
  const [some, all] = [
    await model.forward('Once upon a time', { capture, logits: 'none' }),
    await model.forward('Once upon a time', { capture }),
  ];
  assert.deepEqual(some.captured, all.captured);
});
