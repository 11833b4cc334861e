// checkpoints.test.js - the tutorials' own state_dicts, with the tensor names that the printed classes and the usual
// ways to save produce
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { distance, openCase, readTensors, refused } from './helpers.js';
import { safetensors } from './checkpoint_files.js';

const TOLERANCE = 2e-4; // of logits, as in the cases

/** Load a case with its tensors renamed and hold the logits against the recorded ones. */
async function check(name, rename, change = {}, drop = []) {
  const c = openCase(name);
  const tensors = rename(readTensors(join(c.folder, 'model.safetensors')));
  const config = { ...c.config, ...change };
  for (const key of drop) delete config[key];
  const model = await load({ weights: safetensors(tensors), config }, { dtype: 'f32' });
  const { logits } = await model.forward(c.about.input_ids, c.run);
  const off = distance(logits.data, c.array('logits'));
  assert.ok(off <= TOLERANCE, `${name}: logits are ${off} off`);
  assert.equal(model.parameters.total, c.about.param_counts.total);
  const { warnings } = model;
  model.dispose();
  return warnings;
}

const renamed = (change) => (tensors) =>
  Object.fromEntries(Object.entries(tensors).map(([name, t]) => [change(name), t]));
const replaced = (...pairs) => renamed((name) => pairs.reduce((n, [from, to]) => n.replace(from, to), name));
const asPrinted = (tensors) => tensors;

describe('tutorial 3', () => {
  test('loads with the tensor names of its printed Block', () => check('t3_literal', asPrinted));
  test('loads with the tensor names that earlier versions read', () =>
    check('t3_literal', replaced(['ln_', 'ln'], ['lnf', 'ln_f'])));
  test("loads with the constructor's parameters in config.json, or without those that the tensors show", () =>
    check('t3_literal', asPrinted, { max_seq_len: 256, mlp_ratio: 4 }, [
      'context',
      'mlp_mult',
      'fused_qkv',
      'tie_embeddings',
      'activation',
      'ln_bias',
    ]));
  test('loads with other usual names of the attention class, which the tutorial does not print', async () => {
    for (const pattern of ['W_$', 'W_lower', '$_proj']) {
      const spelt = (l) =>
        `attn.${pattern === 'W_lower' ? `W_${l}` : pattern.replace('$', pattern === 'W_$' ? l.toUpperCase() : l)}.`;
      await check(
        't3_literal',
        renamed((n) => n.replace(/attn\.([qkv])\./, (_, l) => spelt(l)).replace('attn.proj.', spelt('o'))),
      );
    }
  });
});

describe('tutorial 5', () => {
  test('loads with the tensor names of its printed classes', () => check('t5_literal_untied', asPrinted));
  test('with the names read before', () =>
    check('t5_literal_untied', replaced(['norm_f', 'ln_f'], ['norm', 'ln'], ['W_QKV', 'qkv'], ['W_O', 'proj'])));
  test('loads with max_seq_len and tie_weights in config.json', () =>
    check('t5_literal_untied', asPrinted, { max_seq_len: 64, tie_weights: false }, [
      'context',
      'tie_embeddings',
      'mlp_mult',
      'fused_qkv',
    ]));
});

describe('a tied pair', () => {
  const both = (head, embed) => (tensors) => ({ ...tensors, [head]: tensors[embed] });
  const headOnly = (head, embed) => replaced([embed, head]);
  for (const [tutorial, name, head, embed] of [
    [1, 't1_3layer_odd', 'lm_head.weight', 'token_emb.weight'],
    [3, 't3_literal', 'lm_head.weight', 'tok_emb.weight'],
    [4, 'gpt2_n_inner', 'lm_head.weight', 'wte.weight'],
  ]) {
    test(`of tutorial ${tutorial} loads when it was saved twice, as state_dict() lists it`, () =>
      check(name, both(head, embed)));
    test(`of tutorial ${tutorial} loads when save_model stored it once, under the name that sorts first`, () =>
      check(name, headOnly(head, embed)));
  }
  test("is not read from the output layer's name alone in an untied model", async () => {
    const { folder, config } = openCase('t5_literal_untied');
    const { 'tok_emb.weight': _, ...rest } = readTensors(join(folder, 'model.safetensors'));
    await refused(load({ weights: safetensors(rest), config }), 'missing-tensor', /tok_emb\.weight/);
  });
});

describe('tutorials 1, 2 and 4', () => {
  test("tutorial 1 loads with its constructor's parameters in config.json", async () => {
    const { config } = openCase('t1_3layer_odd');
    assert.deepEqual(
      await check('t1_3layer_odd', asPrinted, { max_len: config.max_seq_len, tie_weights: config.tie_embeddings }, [
        'max_seq_len',
        'tie_embeddings',
      ]),
      [],
    );
  });
  test('tutorial 1 loads with the rotary table that every block registers again', () =>
    check('t1_3layer_odd', (tensors) => {
      const table = { shape: [64, 4], data: new Float32Array(64 * 4) };
      return {
        ...tensors,
        'rope.cos_cache': table,
        'blocks.0.attn.rope.cos_cache': table,
        'blocks.2.attn.rope.sin': table,
        'blocks.1.attn.rope.freqs_cis': table,
      };
    }));
  test('tutorial 2 loads with the names of a walk over its modules, including the sinusoidal table', () =>
    check('t2_encdec_padmask', (tensors) => {
      const table = { shape: [50, 64], data: new Float32Array(50 * 64) };
      return { ...renamed((n) => n.replace('decoder.layers.', 'decoder.'))(tensors), 'pos_encoding.pe': table };
    }));
  // The names were those of no known family, and with model_type one size after the other was missing.
  test("tutorial 2's file alone says what it is, and the keys that it asks for load it", async () => {
    const { config, folder } = openCase('t2_encdec_padmask');
    const file = safetensors(readTensors(join(folder, 'model.safetensors')));
    const error = await load(file).catch((e) => e);
    assert.equal(error.code, 'bad-config');
    assert.match(error.message, /names such as .* are those of bare-bones-ml-transformer, whose sizes/);
    const sizes = ['vocab_size', 'hidden_size', 'num_layers', 'num_heads', 'ff_size'];
    assert.deepEqual(
      error.keys.map(({ key }) => key),
      ['model_type', ...sizes],
    );
    const model = await load(file, { config: Object.fromEntries(error.keys.map(({ key }) => [key, config[key]])) });
    assert.deepEqual([model.config.kind, model.config.nLayers], ['encoder_decoder', config.num_layers]);
    model.dispose();
  });
  test('tutorial 4 (GPT-2) loads with and without its prefix', async () => {
    await check('gpt2_n_inner', asPrinted);
    await check(
      'gpt2_n_inner',
      renamed((n) => `transformer.${n.replace('transformer.', '')}`),
    );
    await check('gpt2_n_inner', (tensors) => ({
      ...renamed((n) => `transformer.${n}`)(
        Object.fromEntries(Object.entries(tensors).filter(([n]) => n !== 'wte.weight')),
      ),
      'lm_head.weight': tensors['wte.weight'],
    }));
  });
});

test('two spellings of one key with different values are refused', async () => {
  const { folder, config } = openCase('t3_literal');
  const weights = join(folder, 'model.safetensors');
  await refused(
    load({ weights, config: { ...config, max_seq_len: 128 } }),
    'bad-config',
    /context is 256 and max_seq_len is 128/,
  );
  (await load({ weights, config: { ...config, max_seq_len: 256 } })).dispose();
});

test('a tensor name that no class of the tutorials has is refused, and named', async () => {
  const { folder, config } = openCase('t3_literal');
  const tensors = replaced(['ln_1', 'prenorm'])(readTensors(join(folder, 'model.safetensors')));
  await refused(load({ weights: safetensors(tensors), config }), 'unknown-tensor', /blocks\.0\.prenorm/);
});
