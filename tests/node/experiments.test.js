// experiments.test.js - the calculations behind patching, steering, predicting and the textbook, on a shipped model
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from '../../web/lib/api/index.js';
import { setSpecialTokens } from '../../web/page/state/facts/special_tokens.js';
import { firstDifference, patchCells } from '../../web/page/views/experiment/patching.js';
import { direction } from '../../web/page/views/experiment/steering.js';
import { attendedMost, pointsOf, valuesOf } from '../../web/page/views/learn/token_facts.js';
import { rightAnswer } from '../../web/page/views/learn/questions.js';
import { counted, guessable, knownFrom, probabilities } from '../../web/page/views/learn/prediction.js';
import { untilEnd } from './helpers.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const model = await untilEnd(load(`${top}weights/stories-1m.gguf`, { dtype: 'f32' }));

const argmax = (row) => row.reduce((best, x, i) => (x > row[best] ? i : best), 0);
const forward = (ids, options) => model.forward(ids, options);

/** Cells of a patching by `layer,position`. */
async function patched(first, second, place) {
  const [clean, corrupted] = [await model.encode(first), await model.encode(second)];
  const tops = await Promise.all(
    [clean, corrupted].map(async (ids) => {
      const { logits } = await forward(ids, {});
      return argmax(logits.data.subarray((ids.length - 1) * logits.shape[1]));
    }),
  );
  const setup = { clean, corrupted, place, answers: { clean: tops[0], corrupted: tops[1] } };
  const cells = new Map();
  for await (const { layer, position, restored } of patchCells(forward, model.config, setup))
    cells.set(`${layer},${position}`, restored);
  return { cells, clean, corrupted };
}

test('patching the only token that differs restores the answer in full before the first layer', async () => {
  const { cells, clean, corrupted } = await patched(
    'Once upon a time, there was a child named Lily. One day,',
    'Once upon a time, there was a child named Tim. One day,',
    'resid',
  );
  const at = firstDifference(clean, corrupted);
  assert.ok(at > 0 && at < clean.length - 1);
  assert.deepEqual(clean.slice(at + 1), corrupted.slice(at + 1));
  // the streams of all other positions are equal before layer 0, so the pass is the clean one
  assert.ok(Math.abs(cells.get(`0,${at}`) - 1) < 1e-4, `${cells.get(`0,${at}`)}`);
  assert.ok(Math.abs(cells.get(`0,${at + 1}`)) < 1e-4);
  assert.equal(cells.size, model.config.nLayers * (clean.length - at));
});

test('attention outputs of all layers at the last position carry what the first layer’s stream carries', async () => {
  const { cells, clean } = await patched(
    'Once upon a time, there was a girl named Lily. One day,',
    'Once upon a time, there was a boy named Tim. One day,',
    'attn',
  );
  const last = clean.length - 1;
  const best = Math.max(...Array.from({ length: model.config.nLayers }, (_, layer) => cells.get(`${layer},${last}`)));
  assert.ok(best > 0.5, `the best layer restores ${best}`);
  for (const [key, value] of cells) if (!key.endsWith(`,${last}`)) assert.ok(Math.abs(value) < best, key);
});

test('a steering direction is the difference of the means without the first position', async () => {
  const tensor = (rows) => ({ data: Float32Array.from(rows.flat()), shape: [rows.length, rows[0].length] });
  const to = tensor([[100, 100], [1, 2], [3, 4]]); // prettier-ignore
  const from = tensor([[-7, 9], [1, 1]]); // prettier-ignore
  const { add, norms } = direction([to, from, to], 2);
  assert.deepEqual([...add], [2, 4]); // 2 * ((2, 3) - (1, 1))
  assert.deepEqual(norms, [Math.hypot(1, 2), Math.hypot(2, 3)]);
  assert.deepEqual([...direction([to, to, to], 3).add], [0, 0]);
});

test('a direction of strength 0 leaves the text as it is, and a strong one changes it', async () => {
  const at = 'blocks.1.hook_resid_post';
  const read = async (text) => (await forward(await model.encode(text), { capture: [at] })).captured[at];
  const streams = await Promise.all(['She was sad and cried', 'She was happy and laughed', 'One day'].map(read));
  const write = async (strength) => {
    let text = '';
    const edits = [{ at, add: direction(streams, strength).add }];
    for await (const step of model.generate('One day', { temperature: 0, maxTokens: 12, edits })) text += step.text;
    return text;
  };
  let plain = '';
  for await (const step of model.generate('One day', { temperature: 0, maxTokens: 12 })) plain += step.text;
  assert.equal(await write(0), plain);
  assert.notEqual(await write(4), plain);
});

test('only whole words after a beginning can be guessed', () => {
  const pieces = ['One', ' day', ' a', ' cat', ' saw', ' a', ' but', 'ter', 'fly', ' there', '.', ' It', '’s', ' up'];
  const found = guessable(pieces.map((text, id) => ({ id, text })));
  assert.deepEqual(
    found.map((i) => pieces[i]),
    [' a', ' there'],
  );
});

test('a guess is worth its surprise to the model', () => {
  const logits = Float32Array.from([0, Math.log(3), -Infinity, 0]);
  const { best, of } = probabilities(logits, [0, 1, 2]);
  assert.equal(best.id, 1);
  [0.2, 0.6, 0].forEach((p, i) => assert.ok(Math.abs(of[i] - p) < 1e-7, `${of[i]}`));
  const start = { rounds: 0, you: 0, model: 0, yourBits: 0, modelBits: 0 };
  const round = { guess: { id: 0, p: 0.25 }, best: { id: 1, p: 0.5 }, truth: { id: 1 } };
  assert.deepEqual(counted(start, round), { rounds: 1, you: 0, model: 1, yourBits: 2, modelBits: 1 });
  assert.equal(knownFrom([5, 7, 7, 7], 7), 2);
  assert.equal(knownFrom([7, 7], 7), 1);
  assert.equal(knownFrom([7, 5], 7), 3);
});

test('the token with the largest weight is answered by its word, the start of a text by its mark', async () => {
  setSpecialTokens(model.special);
  const tokens = [{ id: model.special.bos, text: '', given: true }, { id: 300, text: ' fox' }, { id: 301, text: '.' }]; // prettier-ignore
  const answer = async (/** @type {number} */ most) => {
    const patterns = { row: () => Float32Array.from(tokens, (_, key) => (key === most ? 0.5 : 0.25)) };
    const page = {
      engine: { model },
      text: { cursor: 2, tokens },
      attention: { patterns, head: { layer: 0, head: 0 } },
    };
    return rightAnswer('softmax', /** @type {any} */ ({ page }));
  };
  for (const [most, right] of ['start', 'Fox', '.'].entries()) {
    const { matches } = await answer(most);
    assert.deepEqual([right, '', 'cat'].map(matches), [true, false, false], right);
  }
});

test('the textbook’s numbers are those of the pass', async () => {
  const ids = await model.encode('Once upon a time, a little fox');
  const points = pointsOf(model.config, 1);
  const { captured } = await forward(ids, { capture: Object.values(points) });
  const position = ids.length - 1;
  const facts = valuesOf(captured, points, position);
  const row = await model.weight('embed.weight', ids[position]);
  assert.deepEqual(facts.embedding, [Math.min(...row), Math.max(...row)]);
  const stream = captured[points.post].data.slice(-model.config.dModel);
  assert.ok(Math.abs(facts.norms.post - Math.hypot(...stream)) < 1e-6);
  assert.equal(facts.active[1], model.config.dFf);
  const units = captured[points.active].data.slice(-model.config.dFf);
  assert.equal(facts.active[0], units.filter((x) => x > 0).length);
  const keys = ['a', 'b', 'c'].map((text, id) => ({ id, text }));
  assert.deepEqual(
    attendedMost(Float32Array.from([0.25, 0.5, 0.25]), keys, 2).map(({ text, weight }) => [text, weight]),
    [['b', 0.5], ['a', 0.25]], // prettier-ignore
  );
});
