// panel_texts.test.js - what panels say of a model and its text, from the state alone: the textbook's numbers and answers,
// the list beside a head, two models compared, deep models
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeConfig, countParameters, load } from '../../web/lib/api/index.js';
import { percent, quoted } from '../../web/page/text/format.js';
import { tokenSentences } from '../../web/page/text/chosen_token_text.js';
import { writesWords } from '../../web/page/state/facts/shipped_models.js';
import { pagesOf } from '../../web/page/text/textbook_pages.js';
import { normFindings } from '../../web/page/text/depth_text.js';
import { differences } from '../../web/page/views/experiment/build_fields.js';
import { measureAll } from '../../web/page/views/experiment/depth_measurement.js';
import { flowOf } from '../../web/page/views/experiment/flow_steps.js';
import { largest, sourceOf } from '../../web/page/views/inside/attention_source.js';
import { rightAnswer } from '../../web/page/views/learn/questions.js';
import { readFacts } from '../../web/page/views/learn/token_facts.js';
import { ids, weights, withStories } from './page_text.js';

const { state, store, calls } = await withStories();
await calls.setPrompt('Once upon a time, a little fox found a');
await calls.wantRows();
const { api } = state.engine.model;
const { head, layer } = state.attention.head;
const [tokens, at] = [ids(state), state.text.cursor];
const { logits, captured } = await api.forward(tokens, { capture: ['*resid*', '*normalized', '*pattern'] });
const rowOf = ({ data, shape }) => data.subarray(at * shape[1], (at + 1) * shape[1]);
/** Weights of the chosen head and token. @param {{ layer: number, head: number }} of @param {number} query */
const weightsOf = (of, query) =>
  captured[`blocks.${of.layer}.attn.hook_pattern`].data.subarray(
    (of.head * tokens.length + query) * tokens.length,
    (of.head * tokens.length + query + 1) * tokens.length,
  );
const most = (row) => row.reduce((best, x, i) => (x > row[best] ? i : best), 0);

test('the numbers of the textbook are those of the pass, and the start of a text is named so', async () => {
  const facts = await readFacts({ page: state, set: store.set, calls });
  const told = tokenSentences('norm', facts)
    .match(/from ([\d.]+) to ([\d.]+)\./)
    .slice(1);
  const block = `blocks.${layer}`;
  for (const [i, point] of [`${block}.hook_resid_pre`, `${block}.ln1.hook_normalized`].entries()) {
    const want = Math.hypot(...rowOf(captured[point]));
    assert.ok(Math.abs(told[i] - want) < 0.01 * want, `${told}: expected ${want}`);
  }
  const best = most(rowOf(logits));
  const word = (await api.decode([tokens[at], best])).slice((await api.decode([tokens[at]])).length);
  assert.ok(tokenSentences('logits', facts).includes(`belongs to “${word}`), tokenSentences('logits', facts));
  const largestWeight = most(weightsOf({ layer, head }, at));
  const said = tokenSentences('softmax', facts);
  assert.ok(
    said.includes(
      `${percent(weightsOf({ layer, head }, at)[largestWeight])} ${quoted(state.text.tokens[largestWeight])}`,
    ),
    said,
  );
  assert.doesNotMatch(said, /\[end\]/);
});

test('the right answer to each question of the textbook is accepted, another one is not', async () => {
  const { dModel, dHead, nHeads, nKvHeads, vocabSize, nLayers } = api.config;
  const { rows, total } = countParameters(api.config);
  const ffn = rows.filter((r) => r.component === 'ffn').reduce((n, r) => n + r.count, 0);
  const key = most(weightsOf({ layer, head }, at));
  const before = await api.decode(tokens.slice(0, key));
  const answers = {
    token: String((await api.encode('Strawberries grow slowly', { addSpecialTokens: false })).length),
    embedding: (vocabSize * dModel).toLocaleString('en'),
    position: 'Yes',
    qkv: String(nHeads),
    heads: String(dHead),
    scores: Math.sqrt(dHead).toFixed(2),
    mask: '10',
    softmax: key ? (await api.decode(tokens.slice(0, key + 1))).slice(before.length) : 'start',
    mix: 'value',
    stream: String(2 * nLayers),
    norm: '0.85',
    ffn: `${((100 * ffn) / total).toFixed(1)} %`,
    logits: '10',
    sampling: '100',
    cache: '1',
    parameters: String(2 * dModel * dHead * (nHeads + nKvHeads)),
    cost: '2',
    training: Math.log(vocabSize).toFixed(2),
    induction: 'b',
    edits: '1',
  };
  assert.deepEqual(
    pagesOf(state).map(({ id }) => id),
    Object.keys(answers),
  );
  for (const [id, right] of Object.entries(answers)) {
    const { matches } = await rightAnswer(id, { page: state, idsOf: calls.idsOf });
    assert.deepEqual([right, 'zebra', ''].map(matches), [true, false, false], `${id}: ${right}`);
  }
});

test('the list beside a head has the largest weights of the selected token', () => {
  state.attention.head = { layer: 2, head: 3 };
  const want = [...weightsOf(state.attention.head, at - 1)].sort((a, b) => b - a).slice(0, 6);
  const list = largest(sourceOf(state, null), at - 1, 6);
  assert.deepEqual(
    list.map(({ value }) => percent(value)),
    want.map(percent),
  );
});

test('what changed between two shipped models is told in words, and nothing that is the same in both', async () => {
  const [one, two] = [await load(`${weights}stories.gguf`), await load(`${weights}stories-gpt2.gguf`)];
  const told = new Map(differences(one.config, two.config).map(({ name, here, there }) => [name, [here, there]]));
  const fields = { d_model: 'dModel', layers: 'nLayers', heads: 'nHeads', d_ff: 'dFf' };
  for (const [name, key] of Object.entries(fields))
    assert.deepEqual(told.get(name), [String(one.config[key]), String(two.config[key])], name);
  assert.deepEqual(told.get('positions'), ['rotary', 'learned']);
  assert.equal(one.config.vocabSize, two.config.vocabSize);
  for (const name of ['vocabulary', 'head tied', 'final norm']) assert.ok(!told.has(name), name);
  const differing = flowOf(two.config, one.config, two.parameters).filter(({ differs }) => differs);
  assert.deepEqual(
    differing.map(({ of = 'times' }) => of),
    ['embed', 'times', 'norm'],
  );
  assert.deepEqual(differences(one.config, { ...one.config }), []);
  // a preset leaves open what the loaded model says: both have a final norm and no biases
  const names = differences(one.config, completeConfig('llama-7b')).map(({ name }) => name);
  assert.ok(names.includes('d_model') && names.includes('head tied'));
  assert.doesNotMatch(names.join(), /biases|norm|FFN|positions|theta/);
  one.dispose();
  two.dispose();
});

test('the gradient of the last layer of deep models is that of Xiong et al., and its factor is told', async () => {
  const [of16, of64] = await Promise.all(
    [16, 64].map((layers) => measureAll({ layers, dModel: 64 }, new AbortController().signal, () => {})),
  );
  // four times the layers: half the gradient in the last one under pre-norm, the same under post-norm
  const ratio = (way) => of16[way].at(-1).weights / of64[way].at(-1).weights;
  assert.ok(ratio('pre') > 1.6 && ratio('pre') < 2.5, `pre-norm: ${ratio('pre')}`);
  assert.ok(ratio('post') > 0.9 && ratio('post') < 1.1, `post-norm: ${ratio('post')}`);
  for (const found of [of16, of64]) {
    const { factor, than } = normFindings(found);
    const [pre, post, carried, bare] = Object.values(found).map(([layer]) => layer.weights);
    assert.ok(Math.abs(parseFloat(factor) / (pre / post) - 1) < 0.1, `${factor}, of ${pre} and ${post}`);
    assert.match(than, /^less than under pre-norm/);
    assert.ok(bare < 1e-6 * carried, `residuals ${carried}, neither ${bare}`);
    assert.ok(
      found.post.every(({ stream }) => Math.abs(stream - 1) < 0.005),
      'post-norm keeps the stream at 1',
    );
  }
});

test('the tour follows a model of words: shipped stories and models of others, no dates, numbers or random weights', () => {
  const { address } = state.engine.model;
  for (const [model, words] of [
    [{ address }, true],
    [{ address: 'https://models.example/far.gguf' }, true],
    [{ address: 'mine.safetensors', wordless: true }, false],
    [{ address: 'weights/dates/' }, false],
    [{ address: 'weights/addition/' }, false],
    [{ address: '', made: { config: {}, seed: 1 } }, false],
  ])
    assert.equal(writesWords(model), words, JSON.stringify(model));
});
