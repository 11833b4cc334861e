// recipe_config.test.js - a recipe of the native trainer and train() build the same model from the same fields
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { trainerModule } from '../../web/lib/engine/binary.js';
import { packageFiles } from '../../web/lib/api/package_files.js';
import { FIELDS } from '../../web/lib/engine/config/config_fields.js';
import { differencesOf } from '../../web/lib/files/gguf/write_model.js';
import { readConfig } from '../../web/lib/files/huggingface/huggingface.js';
import { train } from '../../web/lib/api/index.js';
import { openCheckpoint } from '../../web/lib/files/source.js';
import { Trainer } from '../../web/lib/engine/trainer.js';
import { temporaryFolder } from '../temporary.js';
import { asFloats, inJavaScript } from './complete_in_js.js';
import { gpt2Recipe, top } from './helpers.js';

describe('a recipe and train() build the same model from the same fields', () => {
  const room = temporaryFolder('config');
  const stories = 'one two three\n<|endoftext|>\nfour five six\n<|endoftext|>\n'.repeat(4),
    pairs = 'one two\tun deux\nthree\ttrois\n'.repeat(4);
  const sizes = { d_model: 12, n_layers: 1, n_heads: 2, context_length: 16, vocab_size: 257 };
  const texts = (config) => (config.kind === 'encoder_decoder' ? pairs : stories);
  const cases = {
    'sizes only': {},
    'post-norm, LayerNorm': { norm: 'layernorm', norm_placement: 'post', ffn: 'relu', position: 'sinusoidal' },
    'GPT-2': {
      ...gpt2Recipe,
    },
    'encoder-decoder': { kind: 'encoder_decoder', norm_placement: 'post', shared_embedding: false },
    'grouped, wide heads': { n_kv_heads: 1, d_head: 8, qk_norm: true, rope_theta: 500.5 },
    'llama3 scaling': { rope_scaling: 'llama3', rope_factor: 8, rope_original_context: 64 },
    'a bias that RMSNorm lacks': { bias_norm: true, final_norm: false },
    'experts in every second layer': { n_experts: 4, n_experts_used: 3, d_expert: 9, expert_layers: [false, true] },
    'a shared expert': { n_experts: 4, d_shared_expert: 11 },
    'lists, sandwich norms': {
      norm_placement: 'sandwich',
      sliding_window: 4,
      window_layers: [true, false],
      rope_layers: [false, true, true],
      ffn: 'geglu_tanh',
    },
  };

  /** What a config.json of the trainer describes. */
  const described = (bytes) => asFloats(readConfig(JSON.parse(new TextDecoder().decode(bytes))));

  /** What a GGUF describes. */
  const inGguf = async (bytes) => (await openCheckpoint(new Uint8Array(bytes))).config;

  test("the trainer's own completion, of the fields in C", async () => {
    const module = await trainerModule(packageFiles);
    const config = fc.record(
      {
        norm: fc.constantFrom(...FIELDS.norm.words),
        norm_placement: fc.constantFrom('pre', 'post'),
        ffn: fc.constantFrom(...FIELDS.ffn.words),
        position: fc.constantFrom(...FIELDS.position.words),
        kind: fc.constantFrom('decoder', 'encoder_decoder'),
        n_heads: fc.constantFrom(1, 2, 3, 5),
        n_kv_heads: fc.constantFrom(1, 2),
        d_head: fc.constantFrom(2, 3, 4),
        n_encoder_layers: fc.constantFrom(0, 1, 2),
        norm_eps: fc.constantFrom(1e-5, 0.1),
        bias_norm: fc.boolean(),
        final_norm: fc.boolean(),
        tie_word_embeddings: fc.boolean(),
        shared_embedding: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    let opened = 0,
      refused = 0;
    await fc.assert(
      fc.asyncProperty(config, async (more) => {
        const fields = { ...sizes, ...more };
        const expected = inJavaScript(fields);
        const trainer = await Trainer.start(module);
        const open = () => {
          trainer.configure(fields, { batch_tokens: 32, micro_tokens: 16 });
          trainer.open(new TextEncoder().encode(texts(fields)), null);
        };
        if (typeof expected === 'string') {
          refused++;
          assert.throws(open, { code: 'bad-config', message: expected });
          return;
        }
        opened++;
        open();
        assert.deepEqual(described(trainer.file('config')), expected);
      }),
      { numRuns: 100, seed: 14 },
    );
    assert.ok(opened > 20 && refused > 20, `${opened} opened, ${refused} refused`);
  });

  const program = join(top, 'build/native/glassformer-train');
  const skip = !existsSync(program) && 'the trainer is not built: ./build.sh native';
  /** The program with a recipe of these fields. */
  function recipe(name, fields) {
    const folder = join(room, name),
      file = join(room, 'fields.recipe'),
      data = join(room, 'data.txt');
    const lines = Object.entries(fields).map(([field, value]) => `${field} = ${value}`);
    if (fields.kind === 'encoder_decoder') lines.push('task = pairs');
    lines.push('steps = 1', 'batch_tokens = 32', 'micro_tokens = 16', 'sample_every = 0');
    writeFileSync(file, lines.join('\n'));
    writeFileSync(data, texts(fields));
    const { status, stderr } = spawnSync(program, [file, '--data', data, '--out', folder], { encoding: 'utf8' });
    return { status, stderr, config: () => described(readFileSync(join(folder, 'config.json'))) };
  }
  for (const [name, more] of Object.entries(cases)) {
    test(name, { skip }, async () => {
      const { vocab_size: vocabSize, ...fields } = { ...sizes, ...more };
      const run = train(fields, texts(fields), { vocabSize, steps: 1, batchTokens: 32 });
      try {
        for await (const _ of run);
        const native = recipe(name, { ...sizes, ...more });
        assert.equal(native.status, 0, native.stderr);
        assert.deepEqual(native.config(), inJavaScript({ ...sizes, ...more }));
        // what has a name in GGUF is written as GGUF, with biases of 0 that it needs, anything else as a folder
        const [file] = (await run.files()).filter((each) => /^config\.json$|\.gguf$/.test(each.name));
        if (file.name === 'config.json') {
          assert.deepEqual(described(file.bytes), native.config());
        } else {
          const different = differencesOf(await inGguf(file.bytes), native.config());
          assert.deepEqual(
            different.filter(({ field }) => !/^(bias|tie)_/.test(field)),
            [],
          );
        }
      } finally {
        await run.dispose();
      }
    });
  }

  test('what cannot be is refused with the same sentence', { skip }, async () => {
    for (const [name, value] of Object.entries({
      n_kv_heads: 3,
      d_head: 5,
      norm_eps: 1.5,
      ffn: 'gelu',
      n_layers: 0.5,
    })) {
      const { vocab_size: vocabSize, ...fields } = { ...sizes, [name]: value };
      const sentence = inJavaScript({ ...sizes, [name]: value });
      const run = train(fields, stories, { vocabSize, steps: 1, batchTokens: 32 });
      await assert.rejects(run.files(), { code: 'bad-config', message: `config: ${sentence}` });
      await run.dispose();
      assert.equal(recipe('refused', { ...sizes, [name]: value }).stderr, `glassformer-train: ${sentence}\n`);
    }
  });
});
