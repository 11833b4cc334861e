// architectures_page.test.js - what the page says about a model is true of each concept of the configuration: lesson, walk,
// chapters, counts, comparison, switches, steps of a score
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIELDS as CONFIG_FIELDS } from '../../web/lib/config/config_fields.js';
import { camel, camelConfig, completeConfig } from '../../web/lib/config/config.js';
import { countParameters } from '../../web/lib/index.js';
import { IDEAS } from '../../web/page/text/break.js';
import { CHAPTERS } from '../../web/page/text/chapters.js';
import { CONTROLS, OPTIONS } from '../../web/page/text/compare.js';
import { stagesOf } from '../../web/page/text/inside.js';
import { LESSON } from '../../web/page/text/lesson.js';
import { stopsOf } from '../../web/page/text/walk.js';
import { byBlock, byComponent } from '../../web/page/views/count/parameter_groups.js';
import { chosen, differences, listOf, listed, withField } from '../../web/page/views/experiment/build_fields.js';
import { flowOf } from '../../web/page/views/experiment/flow.js';
import { ideasOf } from '../../web/page/views/experiment/ideas.js';
import { CONCEPTS, TINY } from './concepts.js';

const complete = (changes) => camelConfig(completeConfig({ ...TINY, ...changes }));
const PLAIN = complete({});

/** Facts of a pass, as the lesson gets them. @param {any} config @param {number} layer @returns {any} */
const factsOf = (config, layer) => ({
  config,
  token: { id: 5, text: ' fox' },
  position: 9,
  layer,
  head: 0,
  keys: 10,
  embedding: [-1, 1],
  norms: { pre: 1, normalized: 5, mid: config.parallelResidual ? null : 2, post: 3, last: 4 },
  attended: [{ id: 1, text: ' a', weight: 0.5 }],
  active: [3, 40],
  best: { id: 1, text: ' a', logit: 2, p: 0.4 },
  sampler: { temperature: 0.8, seed: 1 },
  drawn: null,
});
const lessonOf = (config, layer = 0) =>
  Object.fromEntries(
    LESSON.filter(({ when }) => when?.(config) ?? true).map(({ id, say }) => [id, say(factsOf(config, layer))]),
  );
/** @param {any} config @param {number} [layer] */
function walkOf(config, layer = 0) {
  const table = countParameters(config);
  const s = {
    run: { model: { config, parameters: table, kvDtype: 'f32' } },
    text: { tokens: [{ id: 1, text: 'a', given: true }], sourceTokens: [], cursor: 0 },
    attention: { head: { layer, head: 0 } },
    sampler: { temperature: 1 },
  };
  return Object.fromEntries(stopsOf(s).map(({ title, text }) => [title, text(s, config)]));
}
const chaptersOf = (config) =>
  Object.fromEntries(
    CHAPTERS.map(({ id, paragraphs, question }) => [id, [...paragraphs(config), question(config)].join(' ')]),
  );
const ideasIn = (config) =>
  Object.fromEntries(ideasOf(config).map((idea) => [idea, Object.values(IDEAS[idea](config)).join(': ')]));
/** Texts of a flow, from top to bottom. @param {any[]} items @returns {string[]} */
const linesOf = (items) => items.flatMap((item) => [item.text, ...(item.items ? linesOf(item.items) : [])]);
const flowIn = (config) => linesOf(flowOf(config, PLAIN, countParameters(config)));

test('no text about any concept has a gap, and every count has its formula', () => {
  for (const [name, [changes]] of Object.entries(CONCEPTS)) {
    const config = complete(changes);
    const { rows } = countParameters(config);
    const groups = [...byComponent(rows, config), ...byBlock(rows, config)];
    const texts = [
      ...[0, 1].flatMap((layer) => [
        ...Object.values(lessonOf(config, layer)),
        ...Object.values(walkOf(config, layer)),
      ]),
      ...Object.values(chaptersOf(config)),
      ...Object.values(ideasIn(config)),
      ...flowIn(config),
      ...stagesOf(config).flatMap((stage) => [stage.name, stage.title]),
      ...groups.flatMap((group) => [group.name, group.formula, group.numbers]),
      ...differences(PLAIN, config).flatMap((row) => [row.name, row.here, row.there]),
    ];
    for (const text of texts) assert.doesNotMatch(String(text), /undefined|NaN|null|\[object/, `${name}: ${text}`);
    for (const group of groups) assert.doesNotMatch(group.formula, /tensors/, `${name}: ${group.name}`);
  }
});

test('lesson, walk and chapters follow the norms and the residual stream', () => {
  const sandwich = complete({ norm_placement: 'sandwich' });
  assert.match(lessonOf(sandwich).norm, /^Before the heads read/);
  assert.match(lessonOf(sandwich).out, /RMSNorm rescales its output, and the result is added/);
  assert.match(lessonOf(sandwich).ffn, /which pass RMSNorm and are added to the stream/);
  assert.match(walkOf(sandwich)['One scale'], /and so is what each part of a block computes/);
  const output = complete({ norm_placement: 'output' });
  assert.equal(lessonOf(output).norm, undefined);
  assert.match(lessonOf(output).out, /RMSNorm rescales its output/);
  assert.match(walkOf(output)['One scale'], /before it is added/);
  assert.match(chaptersOf(output).stream, /RMSNorm divides the output of attention or FFN/);
  const parallel = complete({ parallel_residual: true, shared_norm: true });
  assert.match(lessonOf(parallel).norm, /^Before the heads and the feed-forward network read/);
  assert.match(
    lessonOf(parallel).out,
    /added to the residual stream together with that of the feed-forward network\.$/,
  );
  assert.match(lessonOf(parallel).ffn, /reads the stream that the heads read.*from 1\.00 to 3\.00/);
  assert.match(walkOf(parallel)['The stream'], /read the same stream and add to it at once/);
  assert.match(chaptersOf(parallel).ffn, /^Beside attention, and from the same stream/);
  assert.match(chaptersOf(complete({ use_norm: false })).stream, /norms inside the blocks are switched off/);
});

test('lesson, walk and chapters follow positions, windows, scores and the width of the embedding', () => {
  const alibi = complete({ position: 'alibi' });
  assert.match(lessonOf(alibi).attention, /farther away a key is, the more is subtracted/);
  assert.doesNotMatch(lessonOf(alibi).qkv, /rotated/);
  assert.match(walkOf(alibi)['Query, key, value'], /distance of the key is subtracted/);
  assert.match(chaptersOf(alibi).embedding, /distance of the key is subtracted/);
  const some = complete({ rope_layers: [true, false], rotary_dim: 4 });
  assert.match(lessonOf(some).qkv, /The first 4 numbers of query and key are rotated/);
  assert.doesNotMatch(lessonOf(some, 1).qkv, /rotated/);
  assert.match(walkOf(some, 1)['Query, key, value'], /Other layers rotate/);
  assert.match(chaptersOf(complete({ rope_layers: [false] })).embedding, /except the mask/);
  const windows = complete({ sliding_window: 4, window_layers: [true, false], score_softcap: 50, logit_softcap: 30 });
  assert.match(lessonOf(windows).attention, /with 4 keys, the last up to this token\. A soft cap .* −50 and 50\./);
  assert.match(lessonOf(windows, 1).attention, /with 10 keys, those up to this token/);
  assert.match(lessonOf(windows).head, /between −30 and 30/);
  assert.match(walkOf(windows).Mask, /more than 3 tokens back/);
  assert.match(walkOf(windows, 1).Mask, /Other layers also leave out/);
  assert.match(chaptersOf(windows).attention, /In some layers a sliding window leaves only the last 4 tokens/);
  assert.match(walkOf(complete({ score_scale: 0.0625 })).Scores, /the next stage multiplies by 0\.0625/);
  assert.match(walkOf(complete({ score_scale: 1 })).Scores, /takes the products as they are/);
  const narrow = complete({ d_embed: 12 });
  assert.match(lessonOf(narrow).embedding, /: 12 numbers, from which a matrix makes 32/);
  assert.match(chaptersOf(narrow).embedding, /64 rows of 12 numbers/);
});

test('experts are told from the layers that have none', () => {
  const some = complete({ n_experts: 4, n_experts_used: 2, d_expert: 24, expert_layers: [true, false] });
  assert.match(lessonOf(some).ffn, /become 24 in each of the 2 experts that a router chooses out of 4/);
  assert.match(lessonOf(some, 1).ffn, /32 numbers become 40, of which/);
  assert.match(
    walkOf(some)['The wide layer'],
    /40 in some layers and 24 in each of the 2 experts .* out of 4 in the others/,
  );
  const { rows } = countParameters(some);
  assert.deepEqual(
    byComponent(rows, some)
      .filter(({ name }) => /SwiGLU/.test(name))
      .map(({ name, count }) => [name, count]),
    [
      ['SwiGLU experts, 2 blocks', 2 * (4 * 32 + 4 * 3 * 32 * 24)],
      ['SwiGLU FFN, 1 block', 3 * 32 * 40],
    ],
  );
});

test('the head for masked words has a row of its own for what stands before its matrix', () => {
  const given = { ...TINY, kind: 'encoder', mlm_head: true, norm: 'layernorm', bias_head: true };
  const { rows } = countParameters(given);
  const groups = byComponent(rows, camelConfig(completeConfig(given)));
  assert.deepEqual(
    groups.slice(-2).map(({ name, count, numbers }) => [name, count, numbers]),
    [
      ['Transform before the head', 32 * 32 + 3 * 32, '32² + 2 · 32 + 32 biases'],
      ['Head', TINY.vocab_size, `${TINY.vocab_size} biases`],
    ],
  );
});

test('only ideas that a model has can be left out, in the words of that model', () => {
  assert.match(ideasIn(PLAIN).scaleScores, /^without ÷ √d: scores are √d times too large/);
  assert.match(
    ideasIn(complete({ score_scale: 0.0625 })).scaleScores,
    /^without × 0\.0625: scores are 16 times too large/,
  );
  assert.equal(ideasIn(complete({ score_scale: 1 })).scaleScores, undefined);
  assert.equal(ideasIn(complete({ scale_scores: false })).scaleScores, undefined);
  assert.equal(ideasIn(complete({ rope_layers: [false] })).usePosition, undefined);
  assert.equal(ideasIn(complete({ causal: false })).causal, undefined);
  assert.match(ideasIn(complete({ sliding_window: 4 })).usePosition, /mask and the sliding window tell/);
  assert.match(ideasIn(complete({ norm_placement: 'output' })).useNorm, /output of a sublayer is not rescaled/);
  assert.match(ideasIn(complete({ parallel_residual: true })).useResidual, /its attention and its FFN/);
});

test('the steps of a score are those of the model', () => {
  const names = (changes) => stagesOf(complete(changes)).map(({ name }) => name);
  assert.deepEqual(names({}), ['scores', '÷ √d', 'masked', 'softmax']);
  assert.deepEqual(names({ score_scale: 0.0625, score_softcap: 50 }), [
    'scores',
    '× 0.0625',
    'capped, masked',
    'softmax',
  ]);
  assert.deepEqual(names({ position: 'alibi', scale_scores: false }), ['scores', '× 1', 'ALiBi, masked', 'softmax']);
});

test('a model as a list of what a token passes has its norms, sums and parallel parts in place', () => {
  const block = (changes) => flowIn(complete(changes)).slice(2, -2);
  const attention = 'Attention, 4 heads, rotary';
  const ffn = 'SwiGLU, 40';
  assert.deepEqual(block({}), ['RMSNorm', attention, '+ stream', 'RMSNorm', ffn, '+ stream']);
  assert.deepEqual(block({ norm_placement: 'sandwich' }), [
    ...['RMSNorm', attention, 'RMSNorm', '+ stream'],
    ...['RMSNorm', ffn, 'RMSNorm', '+ stream'],
  ]);
  assert.deepEqual(block({ norm_placement: 'output' }), [attention, 'RMSNorm', '+ stream', ffn, 'RMSNorm', '+ stream']);
  assert.deepEqual(block({ parallel_residual: true, shared_norm: true }), [
    ...['RMSNorm', attention, 'beside it, from the same stream', ffn, '+ both + stream'],
  ]);
  assert.deepEqual(flowIn(complete({ position: 'alibi', d_embed: 12, embed_norm: true })).slice(0, 2), [
    'Embedding 64 × 12 → 32',
    'RMSNorm',
  ]);
});

test('every field but the switches can be compared, and what was chosen makes the same model again', () => {
  const switches = ['causal', 'scaleScores', 'usePosition', 'useResidual', 'useNorm', 'useFinalNorm'];
  assert.deepEqual(
    Object.keys(CONTROLS).sort(),
    Object.keys(CONFIG_FIELDS)
      .map(camel)
      .filter((key) => !switches.includes(key))
      .sort(),
  );
  for (const [key, field] of Object.entries(CONFIG_FIELDS))
    if (field.type === 'word') assert.deepEqual(Object.keys(OPTIONS[camel(key)]).sort(), [...field.words].sort(), key);
  for (const [name, [changes]] of Object.entries(CONCEPTS)) {
    const config = complete(changes);
    assert.deepEqual(camelConfig(completeConfig(chosen(config))), config, name);
  }
  const rows = differences(
    PLAIN,
    complete({ sliding_window: 4, window_layers: [true, false], norm_placement: 'sandwich' }),
  );
  assert.deepEqual(
    rows.map(({ name, here, there }) => [name, here, there]),
    [
      ['window, 0: all', '0', '4'],
      ['layers with it', '–', '1 0'],
      ['norm is', 'before (pre)', 'before and on outputs'],
    ],
  );
  assert.deepEqual(listOf('flags', '1 0, 1'), [true, false, true]);
  assert.equal(listed([true, false]), '1 0');
  const parallel = complete({ parallel_residual: true, shared_norm: true });
  const given = withField(chosen(parallel), parallel, 'parallelResidual', false);
  assert.equal('sharedNorm' in given, false, 'what needs it is no longer set');
});
