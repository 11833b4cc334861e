// dictionaries.test.js - sparse dictionaries of others, and edits of features: compared with SAELens and with a model in
// double precision (tests/golden/dictionaries/make_dictionaries.py)
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Dictionary, create, dictionary, load } from '../../web/lib/api/index.js';
import { readDictionary } from '../../web/lib/train/dictionaries/read_dictionary.js';
import { reconstruct } from '../../web/lib/train/dictionaries/dictionary_report.js';
import { SparseDictionary } from '../../web/lib/train/dictionaries/sparse_dictionary.js';
import { randomOf } from '../../web/lib/train/masked_tokens.js';
import { toSafetensors } from '../../web/lib/files/bytes/tensor_files.js';
import { refused, serve, top } from './helpers.js';

const folder = join(top, 'tests/golden/dictionaries');
const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));
const names = Object.keys(expected.dictionaries);
const exact = { dtype: 'f32', kvDtype: 'f32' };
const model = await load(`${folder}/model/`, exact);
/** The same model in a worker. */
const remote = await load(`${folder}/model/`, { ...exact, worker: true });
after(() => {
  model.dispose();
  remote.dispose();
});

/** The largest difference of two lists. */
const farthest = (a, b) => {
  assert.equal(a.length, b.length);
  return a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
};

/** What a position activates as a list of all features. */
const dense = ({ features }, size) => {
  const z = new Array(size).fill(0);
  for (const { feature, value } of features) z[feature] = value;
  return z;
};

/** The files of a gated dictionary whose rows have 64 values. */
function wideGated() {
  const random = randomOf(9);
  const tensor = (...shape) => ({
    shape,
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => random() - 0.5),
  });
  const [d, size] = [64, 48];
  const vectors = Object.fromEntries(['b_gate', 'b_mag', 'r_mag'].map((name) => [name, tensor(size)]));
  const tensors = { W_enc: tensor(d, size), W_dec: tensor(size, d), b_dec: tensor(d), ...vectors };
  const metadata = { sae_lens_version: '6.54.12', hook_name: 'blocks.0.hook_resid_post' };
  const cfg = { architecture: 'gated', d_in: d, d_sae: size, apply_b_dec_to_input: false, metadata };
  return [new File([JSON.stringify(cfg)], 'cfg.json'), new File([toSafetensors(tensors)], 'sae_weights.safetensors')];
}

/** A dictionary that was written in int8 and read again. */
const reloaded = async (written, of) =>
  Dictionary.load(
    (await written.files({ dtype: 'int8' })).map(({ name, bytes }) => new File([bytes], name)),
    { model: of },
  );

describe('a dictionary of SAELens', () => {
  for (const name of names) {
    test(`encodes as there: ${name}`, async () => {
      const dictionary = await Dictionary.load(`${folder}/${name}/`, { model });
      const { acts } = expected.dictionaries[name];
      const found = await dictionary.encode(expected.ids);
      assert.equal(dictionary.size, 24);
      found.forEach((position, t) => {
        assert.ok(farthest(dense(position, 24), acts[t]) < 2e-4, `position ${t}`);
        const values = position.features.map(({ value }) => value);
        assert.deepEqual(
          values,
          [...values].sort((a, b) => b - a),
        );
      });
    });

    test(`decodes as there: ${name}`, async () => {
      const weights = await readDictionary(`${folder}/${name}/`, {});
      const { acts, recon } = expected.dictionaries[name];
      const start = acts.map((_, t) => 24 * t);
      const entries = {
        start: [...start, 24 * acts.length],
        index: acts.flatMap((row) => row.map((_, i) => i)),
        value: acts.flat(),
      };
      const { captured } = await model.forward(expected.ids, { capture: [weights.at] });
      const got = reconstruct(weights, entries, expected.ids, captured[weights.at].data);
      assert.ok(farthest(Array.from(got), recon) < 2e-4);
    });
  }

  for (const name of names) {
    test(`is written again, for the same features: ${name}`, async () => {
      const read = await Dictionary.load(`${folder}/${name}/`, { model });
      const whole = await read.encode(expected.ids);
      const written = await Promise.all(['f32', 'int8'].map((dtype) => read.files({ dtype })));
      const [same, small] = await Promise.all(
        written.map((files) =>
          Dictionary.load(
            files.map(({ name, bytes }) => new File([bytes], name)),
            { model },
          ),
        ),
      );
      const values = (list) => list.flatMap((position) => dense(position, 24));
      assert.ok(farthest(values(await same.encode(expected.ids)), values(whole)) < 1e-5);
      const rounded = (await small.encode(expected.ids)).flatMap(({ features }) =>
        features.map(({ feature }) => feature),
      );
      const exact = whole.flatMap(({ features }) => features.map(({ feature }) => feature));
      assert.ok(rounded.filter((feature) => exact.includes(feature)).length > 0.8 * exact.length);
      assert.deepEqual([same.at, same.out, same.architecture], [read.at, read.out, read.architecture]);
    });
  }

  test('is read from a server, and from the files of a folder', async () => {
    const { url, close } = await serve((request, response) => {
      const path = join(folder, 'topk', request.url.slice(1));
      response.writeHead(existsSync(path) ? 200 : 404);
      response.end(existsSync(path) ? readFileSync(path) : '');
    });
    const files = ['cfg.json', 'sae_weights.safetensors'].map(
      (name) => new File([readFileSync(join(folder, 'topk', name))], name),
    );
    for (const source of [url, files]) assert.equal((await Dictionary.load(source)).k, 4);
    close();
  });

  // Its rows in int8 were read as columns.
  test('with as many features as values is read by rows where it is stored in int8', async () => {
    const text = readFileSync(join(top, 'tests/golden/text/stories.txt'), 'utf8').split(/\n\n+/);
    const stories = await load(join(top, 'weights/stories-1m.gguf'), exact);
    const at = { at: 'blocks.2.ln2.hook_normalized', out: 'blocks.2.hook_mlp_out' };
    const options = { ...at, size: 128, k: 6, tokens: 400, epochs: 2, batch: 64, tokenTable: false, threads: 1 };
    const square = await dictionary(stories, text, options).dictionary();
    const ids = (await stories.encode(text[1])).slice(0, 20);
    const [strongest, again] = await Promise.all(
      [square, await reloaded(square, stories)].map(async (one) =>
        (await one.encode(ids)).map(({ features: [f] }) => f),
      ),
    );
    strongest.forEach((first, t) => assert.ok(Math.abs((first?.value ?? 0) - (again[t]?.value ?? 0)) < 0.02));
    stories.dispose();
  });

  test('in q8_0 is kept in 8 bits, and encodes as the engine does with rows in f32', async () => {
    const files = wideGated();
    const wide = await create({ vocab_size: 30, d_model: 64, n_layers: 1, n_heads: 2 }, { ...exact, seed: 4 });
    const [ids, dtype] = [[1, 7, 3, 29, 12, 5, 5, 2], 'q8_0'];
    const packed = await Dictionary.load(files, { model: wide, dtype });
    const plain = new SparseDictionary({ ...(await readDictionary(files, {})), dtype }, wide);
    const found = await packed.encode(ids);
    assert.ok(found.flatMap(({ features }) => features).length > 20);
    assert.deepEqual(found, await plain.encode(plain, ids));
    const { direction } = await packed.feature(3);
    const { direction: whole } = await plain.feature(3);
    const most = whole.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    assert.ok(farthest(Array.from(direction), Array.from(whole)) <= (0.501 * most) / 127);
    assert.ok(plain.weights.wDec instanceof Float32Array);
    plain.pack();
    assert.deepEqual([plain.weights.wDec.q.length, plain.weights.wEnc.q.length], [48 * 64, 48 * 64]);
    wide.dispose();
  });

  test('of another model is refused', async () => {
    const other = await create({ vocab_size: 23, d_model: 8, n_layers: 1, n_heads: 2 }, { seed: 1 });
    await refused(Dictionary.load(`${folder}/topk/`, { model: other }), 'bad-file', /rows at .* have 16 values.* 8/);
    other.dispose();
    const shallow = await create({
      vocab_size: 23,
      d_model: 16,
      n_layers: 1,
      n_heads: 2,
      use_norm: false,
      final_norm: false,
    });
    await refused(Dictionary.load(`${folder}/transcoder/`, { model: shallow }), 'bad-file', /no point/);
    shallow.dispose();
  });

  test('without a model does nothing that needs one', async () => {
    const dictionary = await Dictionary.load(`${folder}/topk/`);
    await refused(dictionary.encode([1, 2]), 'bad-state', /has no model/);
    await refused(Dictionary.load(`${folder}/model/`), 'not-found', /neither cfg.json nor params/);
  });
});

describe('an edit of a feature', () => {
  for (const [i, { dictionary: name, edits, greedy, logits }] of expected.edits.entries()) {
    test(`changes the logits as in double precision: ${name}, ${JSON.stringify(edits)}`, async () => {
      const dictionary = await Dictionary.load(`${folder}/${name}/`);
      const own = edits.map((edit) => ({ dictionary, ...edit }));
      const { logits: got } = await model.forward(expected.ids, { edits: own });
      assert.ok(farthest(Array.from(got.data), logits) < 2e-3, `case ${i}`);
      const { logits: plain } = await model.forward(expected.ids);
      assert.ok(farthest(Array.from(plain.data), logits) > 0.05);
    });

    test(`changes a generation as there: ${name}, ${JSON.stringify(edits)}`, async () => {
      const dictionary = await Dictionary.load(`${folder}/${name}/`);
      const own = edits.map((edit) => ({ dictionary, ...edit }));
      const options = { edits: own, maxTokens: 12, temperature: 0, ignoreEos: true };
      for (const one of [model, remote]) assert.deepEqual((await one.complete(expected.ids, options)).ids, greedy);
    });
  }

  for (const [call, read] of Object.entries({
    logitLens: (edits) => model.logitLens(expected.ids, { edits, top: 3 }),
    attribution: (edits) => model.attribution(expected.ids, { edits, token: 5 }),
    explain: (edits) => model.explain(expected.ids, { edits, at: 'blocks.1.hook_resid_post', index: 3 }),
    headScores: (edits) => model.headScores({ edits }),
  }))
    test(`reaches ${call}: one that adds is the same edit as its direction`, async () => {
      const dictionary = await Dictionary.load(`${folder}/topk/`, { model });
      const { direction } = await dictionary.feature(5);
      const numbers = (value) =>
        JSON.stringify(value)
          .match(/-?\d+\.?\d*(?:e-?\d+)?/g)
          .map(Number);
      const [got, want, plain] = await Promise.all(
        [[{ dictionary, feature: 5, add: 3 }], [{ at: dictionary.at, add: direction.map((x) => 3 * x) }], []].map(read),
      );
      assert.ok(farthest(numbers(got), numbers(want)) < 1e-4);
      assert.notDeepEqual(numbers(got), numbers(plain));
    });

  /** The slope of a metric along a direction at the embedding: by gradients, and by central differences of passes. */
  async function slopes(edits, of) {
    const n = expected.ids.length;
    const along = Float32Array.from({ length: n * 16 }, (_, i) => Math.cos(0.7 * i));
    const moved = (by) => [{ at: 'hook_embed', add: { shape: [n, 16], data: along.map((x) => x * by) } }, ...edits];
    const step = 5e-4;
    const { values } = await model.sweep(expected.ids, [moved(step), moved(-step)], { metric: of });
    const { value, gradients } = await model.gradients(expected.ids, { of, at: ['hook_embed'], edits });
    const { values: plain } = await model.sweep(expected.ids, [edits], { metric: of });
    assert.ok(Math.abs(value - plain.data[0]) < 1e-4 * (1 + Math.abs(value)));
    return [
      gradients.hook_embed.data.reduce((sum, x, i) => sum + x * along[i], 0),
      (values.data[0] - values.data[1]) / (2 * step),
    ];
  }

  for (const name of names.filter((each) => !each.includes('transcoder')))
    test(`has the gradient of its own derivative: ${name}`, async () => {
      const dictionary = await Dictionary.load(`${folder}/${name}/`, { model });
      const strongest = (await dictionary.encode(expected.ids)).map(({ features }) => features[0]?.feature ?? 0);
      const [feature, other] = [strongest.at(-1), strongest[2]];
      for (const edits of [
        [
          { dictionary, feature, scale: -2 },
          { dictionary, feature: other, scale: 4, add: 0.5 },
        ],
        [{ dictionary, feature: other, add: 2 }],
        [{ dictionary, feature, scale: 3, position: 'last' }],
      ])
        for (const of of ['loss', { token: 5, as: 'logprob' }]) {
          const [got, want] = await slopes(edits, of);
          assert.ok(Math.abs(got - want) < 0.01 * (0.1 + Math.abs(want)), `${got}, differences say ${want}`);
        }
    });

  test('is refused where it does not fit', async () => {
    const [dictionary, transcoder] = await Promise.all(
      ['topk', 'transcoder'].map((name) => Dictionary.load(`${folder}/${name}/`)),
    );
    const edited = (edit) => model.forward([1, 2, 3], { edits: [edit] });
    await refused(edited({ dictionary, feature: 24, scale: 0 }), 'bad-option', /feature is 24/);
    await refused(edited({ dictionary, feature: 1 }), 'bad-option', /changes nothing/);
    await refused(edited({ dictionary, feature: 1, scale: 0, head: 1 }), 'bad-option', /no field "head"/);
    await refused(edited({ dictionary: {}, feature: 1, scale: 0 }), 'bad-option', /expected a Dictionary/);
    await refused(edited({ dictionary: transcoder, feature: 1, scale: 0 }), 'unsupported', /a transcoder reads/);
    await refused(edited({ dictionary, feature: 1, scale: 0, position: 9 }), 'bad-option', /position is 9/);
    await refused(
      edited({ at: 'blocks.0.mlp.hook_post', dictionary, feature: 1, scale: 0 }),
      'bad-argument',
      /features of 16 values/,
    );
    dictionary.dispose();
    await refused(edited({ dictionary, feature: 1, scale: 0 }), 'bad-state', /was disposed/);
  });

  test('stays in sessions and their forks after the dictionary was disposed', async () => {
    const dictionary = await Dictionary.load(`${folder}/topk/`);
    const edits = [{ dictionary, feature: 5, scale: 0 }];
    const session = await model.session({ edits });
    const { logits } = await model.forward([3, 1, 20], { edits });
    dictionary.dispose();
    const rows = await session.eval([3, 1, 20]);
    assert.deepEqual(Array.from(rows), Array.from(logits.data.slice(-23)));
    session.dispose();
  });
});
