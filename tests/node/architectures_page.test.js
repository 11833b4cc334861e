// architectures_page.test.js - what the page says about a model is true of each concept of the configuration: textbook,
// counts, comparison, switches, steps of a score
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIELDS as CONFIG_FIELDS } from '../../web/lib/engine/config/config_fields.js';
import { camel, camelConfig, completeConfig } from '../../web/lib/engine/config/config.js';
import { countParameters, create } from '../../web/lib/api/index.js';
import { passFor } from '../../web/page/text/anatomy_text.js';
import { IDEAS } from '../../web/page/text/break_text.js';
import { CONTROLS, FURTHER, OPTIONS } from '../../web/page/text/compare_text.js';
import { HEADS, formsOf } from '../../web/page/text/inside_text.js';
import { TRACE, memoryReason } from '../../web/page/text/count_text.js';
import { shapeSaid } from '../../web/page/text/frame_text.js';
import { hasNumbers, tokenSentences } from '../../web/page/text/chosen_token_text.js';
import { STAGES, stageSaid } from '../../web/page/text/stages_text.js';
import { TEXTBOOK, pagesOf } from '../../web/page/text/textbook_pages.js';
import { endedSaid, pausedSaid } from '../../web/page/text/write_text.js';
import { cached } from '../../web/page/views/count/memory_map.js';
import { byBlock, byComponent } from '../../web/page/views/count/parameter_groups.js';
import { bytesRead } from '../../web/page/views/count/token_cost.js';
import { chosen, differences, listOf, listed, withField } from '../../web/page/views/experiment/build_fields.js';
import { flowOf } from '../../web/page/views/experiment/flow_steps.js';
import { ideasOf } from '../../web/page/views/experiment/ideas.js';
import { CONCEPTS, TINY } from './concepts.js';

const complete = (changes) => camelConfig(completeConfig({ ...TINY, ...changes }));
const PLAIN = complete({});

/** Facts of a pass, as the textbook gets them. @param {any} config @param {number} layer @returns {any} */
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
/** What the pages say of one token. @param {any} config @param {number} [layer] */
const hereOf = (config, layer = 0) =>
  Object.fromEntries(
    TEXTBOOK.filter(({ id }) => hasNumbers(id)).map(({ id }) => [id, tokenSentences(id, factsOf(config, layer))]),
  );
/** What the stages of a block say. @param {any} config @param {number} [layer] */
const stagesIn = (config, layer = 0) =>
  Object.fromEntries(Object.keys(STAGES).map((id) => [id, stageSaid(id, config, layer).words]));
/** What the pages say, and ask. @param {any} config @param {number} [layer] @param {string} [source] */
function pagesIn(config, layer = 0, source = '') {
  const table = countParameters(config);
  const s = {
    engine: { model: { config, parameters: table, kvDtype: 'f32' } },
    text: {
      tokens: [{ id: 1, text: 'a', given: true }],
      sourceTokens: [...source].map((text) => ({ text })),
      cursor: 0,
    },
    attention: { head: { layer, head: 0 } },
    sampler: { temperature: 1 },
  };
  return Object.fromEntries(
    pagesOf(s).map(({ id, paragraphs, question }) => [id, [...paragraphs(config, s), question(config)].join(' ')]),
  );
}
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
      ...[0, 1].flatMap((layer) => [hereOf, pagesIn, stagesIn].flatMap((of) => Object.values(of(config, layer)))),
      ...Object.values(ideasIn(config)),
      ...flowIn(config),
      ...formsOf(config).flatMap((form) => [form.name, form.title]),
      ...groups.flatMap((group) => [group.name, group.formula, group.numbers]),
      ...differences(PLAIN, config).flatMap((row) => [row.name, row.here, row.there]),
    ];
    for (const text of texts) assert.doesNotMatch(String(text), /undefined|NaN|null|\[object/, `${name}: ${text}`);
    for (const group of groups) assert.doesNotMatch(group.formula, /tensors/, `${name}: ${group.name}`);
  }
});

// The page offers to train such a model: it had 1 layers and 1 heads.
test('one layer, head or token is not said in the plural', () => {
  const one = complete({ kind: 'encoder_decoder', n_encoder_layers: 1, n_layers: 1, n_heads: 1, n_kv_heads: 1 });
  const token = { id: 1, text: 'a' };
  const texts = [
    ...Object.values(pagesIn(one, 0, 'b')),
    ...Object.keys(STAGES).flatMap((id) => Object.values(stageSaid(id, one, 0))),
    shapeSaid(/** @type {any} */ ({ config: one, parameters: countParameters(one) })),
    HEADS.about(1, 1),
    ...[endedSaid('eos')(1, 0), pausedSaid(1, 0), TRACE.about(1), passFor('2 ms', 1)],
    cached(/** @type {any} */ ({ tokens: [token], sourceTokens: [token], kind: 'decoder' }), 8, 8).words,
  ];
  for (const text of texts) assert.doesNotMatch(text, /\b1 (?:heads|layers|tokens|blocks)\b/);
  assert.match(
    shapeSaid(/** @type {any} */ ({ config: PLAIN, parameters: countParameters(PLAIN) })),
    /3 layers · 4 heads/,
  );
});

test('the textbook follows the norms and the residual stream', () => {
  const sandwich = complete({ norm_placement: 'sandwich' });
  assert.match(hereOf(sandwich).norm, /from 1\.00 to 5\.00/);
  assert.match(pagesIn(sandwich).norm, /and so is what each part of a block computes/);
  const output = complete({ norm_placement: 'output' });
  assert.equal(hereOf(output).norm, '');
  assert.match(pagesIn(output).norm, /before it is added/);
  assert.match(pagesIn(output).norm, /RMSNorm divides the output of attention or FFN/);
  assert.doesNotMatch(Object.values(pagesIn(output)).join(), /Before the heads read/);
  const parallel = complete({ parallel_residual: true, shared_norm: true });
  assert.match(hereOf(parallel).ffn, /from 1\.00 to 3\.00/);
  assert.match(pagesIn(parallel).stream, /read the same stream and add to it at once/);
  assert.match(pagesIn(parallel).ffn, /^Beside attention, and from the same stream/);
  for (const alone of [{ use_norm: false }, { ffn: 'none', d_ff: 0, norm: 'none' }]) {
    const pages = pagesIn(complete(alone));
    assert.deepEqual(['norm' in pages, 'ffn' in pages], [false, !('ffn' in alone)]);
    if (!('ffn' in pages)) assert.doesNotMatch(Object.values(pages).join(), /Both halves/);
  }
});

test('the textbook follows positions, windows, scores and the width of the embedding', () => {
  const alibi = complete({ position: 'alibi' });
  assert.doesNotMatch(hereOf(alibi).qkv, /rotated/);
  assert.match(pagesIn(alibi).position, /in proportion to the key’s distance/);
  const some = complete({ rope_layers: [true, false], rotary_dim: 4 });
  assert.match(hereOf(some).qkv, /rotated/);
  assert.doesNotMatch(hereOf(some, 1).qkv, /rotated/);
  assert.match(pagesIn(some, 1).position, /Other layers rotate/);
  assert.match(pagesIn(complete({ rope_layers: [false] })).position, /Only the mask tells/);
  const unmasked = complete({ kind: 'encoder', position: 'none' });
  assert.match(pagesIn(unmasked).position, /where in the text a token stands\. A word/);
  const windows = complete({ sliding_window: 4, window_layers: [true, false], score_softcap: 50, logit_softcap: 30 });
  assert.match(pagesIn(windows).mask, /more than 3 positions back/);
  assert.match(pagesIn(windows, 1).mask, /In some layers a sliding window leaves only the last 4 tokens/);
  assert.match(pagesIn(complete({ score_scale: 0.0625 })).scores, /the next stage multiplies by 0\.0625/);
  assert.match(pagesIn(complete({ score_scale: 1 })).scores, /takes the products as they are/);
  const narrow = complete({ d_embed: 12 });
  assert.match(pagesIn(narrow).embedding, /64 rows of 12 numbers/);
});

test('the textbook tells of the block of 2017, of learned positions and of what was switched off', () => {
  const dates = complete({
    ...{ kind: 'encoder_decoder', n_encoder_layers: 2, norm: 'layernorm', norm_placement: 'post', final_norm: false },
    ...{ position: 'sinusoidal', tie_word_embeddings: false },
  });
  const pages = pagesIn(dates, 0, 'Friday');
  assert.match(pages.token, /6 pieces, here single letters, from a fixed list of 64/);
  assert.match(pages.position, /sines and cosines/);
  assert.match(pages.norm, /^After each sum/);
  assert.match(pages.cross, /the whole source, 6 tokens,/);
  assert.match(pages.logits, /a table of their own/);
  assert.doesNotMatch(Object.values(pages).join(), /left as it is|nothing overwrites|rotated by angles/);
  assert.match(pagesIn(complete({ position: 'learned' })).position, /a row for each position, which is added/);
  assert.match(pagesIn(PLAIN).position, /rotated by angles/);
  const bare = pagesIn(complete({ use_norm: false, use_residual: false, use_position: false, scale_scores: false }));
  assert.equal('norm' in bare, false);
  assert.match(bare.position, /Only the mask tells this model where/);
  assert.match(bare.scores, /divide by √8; this one was told not to/);
  assert.match(bare.stream, /Here that is switched off/);
});

test('experts are told from the layers that have none', () => {
  const some = complete({ n_experts: 4, n_experts_used: 2, d_expert: 24, expert_layers: [true, false] });
  assert.match(stagesIn(some).ffn, /small FFNs.*The 2 most probable .* 32 numbers become 24 in each/);
  assert.match(stagesIn(some, 1).ffn, /32 numbers become 40/);
  assert.match(pagesIn(some).ffn, /40 in some layers and 24 in each of the 2 experts .* out of 4 in the others/);
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

// An encoder's pass was said to read 0 bytes of its blocks.
test('a pass of an encoder reads its blocks, the encoder beside a decoder is read before the text', () => {
  const readOf = (/** @type {any} */ changes) => {
    const parameters = countParameters({ ...TINY, ...changes });
    const rows = parameters.rows.map((row) => ({ ...row, memoryBytes: row.bytes }));
    const blocks = rows.filter((row) => row.stack === 'encoder');
    assert.ok(blocks.length);
    return bytesRead(blocks, { config: complete(changes), parameters: { ...parameters, rows } }, 0);
  };
  assert.ok(readOf({ kind: 'encoder' }) > 0);
  assert.equal(readOf({ kind: 'encoder_decoder' }), 0);
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
  assert.equal(ideasIn(complete({ norm: 'none' })).useNorm, undefined);
});

test('the steps of a score are those of the model', () => {
  const names = (changes) => formsOf(complete(changes)).map(({ name }) => name);
  assert.deepEqual(names({}), ['scores', '÷ √d', 'masked', 'softmax']);
  assert.deepEqual(names({ score_scale: 0.0625, score_softcap: 50 }), [
    'scores',
    '× 0.0625',
    'capped, masked',
    'softmax',
  ]);
  assert.deepEqual(names({ position: 'alibi' }), ['scores', '÷ √d', 'ALiBi, masked', 'softmax']);
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
  assert.deepEqual(flowIn(complete({ position: 'none', ffn: 'none', d_ff: 0, norm: 'none' })), [
    ...['Embedding 64 × 32', '3 ×', 'Attention, 4 heads', '+ stream', 'Head, shared with the embedding'],
  ]);
  assert.ok(
    block({ sliding_window: 5, window_layers: [true, false] }).includes(
      'Attention, 4 heads, rotary, window 5 in some layers',
    ),
  );
  const experts = { n_experts: 6, n_experts_used: 2, d_expert: 24, expert_layers: [true, false] };
  assert.ok(block(experts).includes('SwiGLU, 2 of 6 experts, 24'));
  assert.deepEqual(flowIn(complete({ position: 'alibi', d_embed: 12, embed_norm: true })).slice(0, 2), [
    'Embedding 64 × 12 → 32',
    'RMSNorm',
  ]);
});

test('every field but the switches can be compared, and what was chosen makes the same model again', () => {
  const switches = ['causal', 'scaleScores', 'usePosition', 'useResidual', 'useNorm', 'useFinalNorm'];
  assert.deepEqual(
    Object.keys({ ...CONTROLS, ...FURTHER }).sort(),
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
      ['norm placement', 'before (pre)', 'before and on outputs'],
      ['layers with a window', '–', '1 0'],
    ],
  );
  assert.deepEqual(listOf('flags', '1 0, 1'), [true, false, true]);
  assert.equal(listed([true, false]), '1 0');
  const parallel = complete({ parallel_residual: true, shared_norm: true });
  const given = withField(chosen(parallel), parallel, 'parallelResidual', false);
  assert.equal('sharedNorm' in given, false, 'what needs it is no longer set');
});

// a file of 247 MB took 292 MB, and nothing said why
test('Count says of each tensor that takes more memory than in a file by how much and why', async () => {
  const sizes = { d_model: 256, n_layers: 1, n_heads: 4, d_ff: 512, vocab_size: 272, context_length: 32 };
  const expected = {
    f32: '',
    f16: '',
    q8_0: ': 9.0 bits per weight, 8.5 as q8_0 in a file, because each scale has 32 bits there',
    q4_0: ': 5.0 bits per weight, 4.5 as q4_0 in a file, because each scale has 32 bits there',
    q5_0: ': 9.0 bits per weight, 5.5 as q5_0 in a file, because each integer has 8 bits there, and each scale 32',
    q4_k: ': 6.0 bits per weight, 4.5 as q4_k in a file, because each 32 columns have a scale and a minimum of 32 bits there',
    q6_k: ': 8.6 bits per weight, 6.6 as q6_k in a file, because each integer has 8 bits there',
  };
  for (const [dtype, reason] of Object.entries(expected)) {
    const model = await create(sizes, { dtype });
    for (const row of model.parameters.rows)
      assert.equal(memoryReason(row), row.shape.length === 2 && row.count ? reason : '', `${dtype}: ${row.name}`);
    model.dispose();
  }
  const padded = await create({ ...sizes, vocab_size: 257 }, { dtype: 'f32' });
  assert.match(
    memoryReason(padded.parameters.rows[0]),
    /^: 33\.8 bits per weight, 32\.0 as f32.* padded to a multiple/,
  );
  padded.dispose();
});
