// training.test.js - training in WebAssembly, compared with the native trainer, with the engine that runs models, and
// with itself. tests/native/train_test.c compares losses with PyTorch, natively and as WebAssembly.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { Tokenizer, countParameters, depth, load, train } from '../../web/lib/index.js';
import { holdOut } from '../../web/lib/train/training_run.js';
import { depthInDouble } from './gradients.js';
import { collect, gpt2Recipe, stories, top } from './helpers.js';
import { randomConfig } from './random_config.js';

const text = readFileSync(join(top, 'tests/golden/text/stories.txt'), 'utf8');
const tiny = { d_model: 32, n_layers: 2, n_heads: 2, d_ff: 64, context_length: 64, norm_eps: 1e-5 };
const small = { vocabSize: 300, batchTokens: 256 };
const gpt2 = {
  ...tiny,
  ...gpt2Recipe,
};
const classic = {
  ...tiny,
  norm: 'layernorm',
  norm_placement: 'post',
  ffn: 'relu',
  position: 'sinusoidal',
  tie_word_embeddings: false,
};

const program = join(top, 'build/native/glassformer-train');
const workFolder = mkdtempSync(join(tmpdir(), 'glassformer-training-'));
after(() => rmSync(workFolder, { recursive: true, force: true }));

/** All steps of a run, or those up to `until`. */
async function steps(run, until = Infinity) {
  const all = [];
  for await (const step of run) {
    all.push(step);
    if (step.step === until) break;
  }
  return all;
}

/** A run to its end, what `use` makes of it, and no run any more. */
async function trained(config, data, options, use) {
  const run = train(config, data, options);
  try {
    return await use(run, await steps(run));
  } finally {
    await run.dispose();
  }
}

async function greedy(model, prompt = 'Once upon') {
  try {
    return (await collect(model.generate(prompt, { maxTokens: 20, temperature: 0, ignoreEos: true }))).ids;
  } finally {
    model.dispose();
  }
}

/** Nats that a run's model takes for a text, token by token through its cache. */
async function natsOf(run, held) {
  const ids = [0, ...run.tokenizer.encode(held, { addSpecialTokens: false })],
    targets = [...ids.slice(1), 0];
  const model = await run.model();
  const {
    logits: {
      data,
      shape: [rows, v],
    },
  } = await model.forward(ids);
  model.dispose();
  let nats = 0;
  for (let i = 0; i < rows; i++) {
    const row = data.subarray(i * v, (i + 1) * v),
      most = Math.max(...row);
    nats += most + Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0)) - row[targets[i]];
  }
  return { nats: nats / rows, bitsPerByte: nats / Math.LN2 / held.length };
}

const refused = (config, data, options, code, sentence) =>
  assert.rejects(train(config, data, options).next(), (/** @type {any} */ error) => {
    assert.deepEqual([error.name, error.code], ['GlassformerError', code], error.message);
    assert.match(error.message, sentence);
    return true;
  });

describe('learning', () => {
  test('the loss of random weights is ln(vocabulary)', async () => {
    for (const config of [tiny, gpt2, { ...tiny, tie_word_embeddings: false }]) {
      const [first] = await trained(config, text, { ...small, steps: 1 }, (_, all) => all);
      assert.ok(Math.abs(first.loss - Math.log(300)) < 0.02 * Math.log(300), `loss ${first.loss}`);
      assert.deepEqual([first.step, first.steps, first.validation], [1, 1, null]);
    }
  });

  test('a preset is accepted by its name', async () => {
    await trained('tutorial-5', text, { ...small, steps: 1 }, (run) => {
      assert.deepEqual([run.config.dModel, run.config.vocabSize, run.config.contextLength], [128, 300, 64]);
    });
  });

  test('two sequences are memorised', async () => {
    const two = 'Tom had a red ball and a blue kite.\n<|endoftext|>\nThe cat sat on the warm mat all day.';
    const all = await trained(
      tiny,
      two,
      { vocabSize: 270, batchTokens: 128, steps: 150, lr: 0.01, weightDecay: 0 },
      (_, list) => list,
    );
    assert.equal(all.length, 150);
    assert.ok(all[149].loss < 0.05, `loss ${all[149].loss}`);
    assert.ok(
      all.every(
        (s, i) => s.step === i + 1 && s.tokensPerSecond > 0 && s.norm > 0 && s.tokens > (all[i - 1]?.tokens ?? 0),
      ),
    );
  });

  test('a step has as many whole sequences as fit into batchTokens', async () => {
    const { context_length: context } = tiny,
      losses = (/** @type {number} */ batchTokens) =>
        trained(tiny, text, { vocabSize: 257, batchTokens, steps: 2 }, (_, list) =>
          list.map(({ loss, tokens }) => [loss, tokens]),
        );
    for (const sequences of [1, 3, 7])
      assert.deepEqual(await losses((sequences + 1) * context - 1), await losses(sequences * context), `${sequences}`);
  });

  test('pairs train an encoder and a decoder', async () => {
    const pairs = Array.from({ length: 40 }, (_, i) => `${i} and one\t${i + 1}`).join('\n');
    const config = { ...classic, kind: 'encoder_decoder', bias_head: true };
    await trained(
      config,
      pairs,
      { ...small, vocabSize: 257, steps: 60, lr: 0.01, validation: 0.1 },
      async (run, all) => {
        assert.ok(all[59].loss < all[0].loss / 3, `${all[0].loss} -> ${all[59].loss}`);
        assert.ok(all[59].validation.nats > 0);
        const model = await run.model();
        assert.equal(
          (await collect(model.generate([0], { source: '3 and one', maxTokens: 4, temperature: 0 }))).ids.length > 0,
          true,
        );
        model.dispose();
      },
    );
  });

  // The native program adds in another order; within 40 steps the difference stays small (train.test.js).
  test(
    'the losses equal those of the native program',
    { skip: !existsSync(program) && 'the trainer is not built: ./build.sh native' },
    async () => {
      const settings = [
        'd_model=32',
        'n_layers=2',
        'n_heads=2',
        'n_kv_heads=2',
        'd_head=16',
        'd_ff=64',
        'context_length=64',
        'vocab_size=300',
        'norm_eps=1e-5',
        'batch_tokens=256',
        'micro_tokens=128',
        'steps=40',
        'dropout=0.1',
        'weight_decay=0.1',
        'average=0',
        'seed=5',
        'sample_every=0',
        'validate_every=0',
        'groups=',
      ];
      const defaults = ['lr=0.003', 'muon=1', 'muon_lr=0.02', 'warmup=0.02', 'final_rate=0.02', 'clip=1', 'beta2=0.95'];
      execFileSync(program, [
        join(top, 'weights/stories-1m.recipe'),
        '--data',
        'synthetic',
        '--out',
        workFolder,
        ...settings,
        ...defaults,
      ]);
      const want = readFileSync(join(workFolder, 'loss.csv'), 'utf8')
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.split(',').map(Number));
      const synthetic = new Blob([readFileSync(join(workFolder, 'synthetic.txt'))]);
      await trained(tiny, synthetic, { ...small, steps: 40, dropout: 0.1, seed: 5 }, async (run, all) => {
        assert.equal(want.length, 40);
        all.forEach((s, i) => {
          assert.equal(s.tokens, want[i][1]);
          assert.ok(
            Math.abs(s.loss - want[i][2]) < 1e-3 * want[i][2],
            `step ${s.step}: ${s.loss}, native ${want[i][2]}`,
          );
        });
        const native = await Tokenizer.load(join(workFolder, 'tokenizer.json'));
        assert.deepEqual(
          run.tokenizer.encode('Ben found an old key. "Look!" he said.'),
          native.encode('Ben found an old key. "Look!" he said.'),
        );
      });
    },
  );
});

describe('the trained model', () => {
  const cases = {
    llama: [tiny, 1],
    gpt2: [gpt2, 1],
    classic: [classic, 3],
    'an untied gpt2': [{ ...gpt2, tie_word_embeddings: false }, 3],
    "one of the engine's own": [{ ...tiny, qk_norm: true, n_heads: 4, n_kv_heads: 2, sliding_window: 20 }, 3],
  };
  for (const [name, [config, count]] of Object.entries(cases)) {
    test(`${name}: has the same logits as files and as a model`, () =>
      trained(config, text, { ...small, steps: 30 }, async (run) => {
        const files = await run.files();
        assert.equal(files.length, count);
        const source = count === 1 ? files[0].bytes : Object.assign(files.map((f) => new File([f.bytes], f.name)));
        const want = await greedy(await run.model());
        assert.equal(want.length, 20);
        assert.deepEqual(await greedy(await load(source)), want);
        for (const dtype of ['f16', 'q8_0', 'q4_0']) {
          const [one] = await run.files({ dtype });
          const model = await run.model({ dtype });
          if (count === 1) assert.deepEqual(await greedy(await load(one.bytes)), await greedy(model));
          else model.dispose();
        }
        assert.equal(run.parameters.total, countParameters({ ...config, vocab_size: 300 }).total);
        assert.equal(run.config.vocabSize, 300);
        const ids = run.tokenizer.encode('Once upon a time', { addSpecialTokens: false });
        assert.equal(run.tokenizer.decode(ids), 'Once upon a time');
      }));
  }

  // Training runs a whole sequence in one pass; a model runs token by token with its cache.
  test('the validation loss equals the loss of the finished model on the text', async () => {
    const held = 'Once upon a time there was a small dog.';
    await trained(tiny, text, { ...small, steps: 40, validation: held, validateEvery: 15 }, async (run, all) => {
      assert.deepEqual(
        all.filter((s) => s.validation).map((s) => s.step),
        [15, 30, 40],
      );
      const { validation } = all[39],
        want = await natsOf(run, held);
      assert.ok(Math.abs(validation.nats - want.nats) < 1e-5 * want.nats, `${validation.nats}, ${want.nats}`);
      assert.ok(Math.abs(validation.bitsPerByte - want.bitsPerByte) < 1e-5 * want.bitsPerByte);
    });
  });

  test('the validation loss equals that of the finished model for any decoder', () =>
    fc.assert(
      fc.asyncProperty(
        randomConfig.filter((c) => c.kind === 'decoder'),
        async (config) => {
          const held = 'Tom sat down.',
            options = { vocabSize: 257, batchTokens: 64, steps: 3, lr: 0.01, validation: held };
          await trained({ ...config, context_length: 20 }, text, options, async (run, all) => {
            const { validation } = all[2],
              want = await natsOf(run, held);
            assert.ok(Math.abs(validation.nats - want.nats) < 1e-4 * want.nats, `${validation.nats}, ${want.nats}`);
          });
        },
      ),
      { numRuns: 20 },
    ));

  test('validation holds out whole stories, or the end of a single text', async () => {
    const many = Array.from({ length: 30 }, (_, i) => `Story number ${i} is about a dog.`).join('\n<|endoftext|>\n');
    for (const data of [many, text, new TextEncoder().encode(text)]) {
      const [step] = await trained(tiny, data, { ...small, steps: 1, validation: 0.1 }, (_, all) => all);
      assert.ok(step.validation.bitsPerByte > 0);
    }
    await refused(tiny, 'w', { ...small, validation: 0.5 }, 'bad-option', /too short to hold out/);
    // A share that begins inside the last separator held out a part of the separator.
    const heldOf = (/** @type {string} */ whole, /** @type {number} */ share, /** @type {string} */ mark) => {
      const { text: first, held } = holdOut(new TextEncoder().encode(whole), share, mark);
      assert.equal(new TextDecoder().decode(first) + new TextDecoder().decode(held), whole);
      return new TextDecoder().decode(held);
    };
    const seven = Array.from({ length: 7 }, (_, i) => `Story ${i} is about a dog.\n<|endoftext|>\n`),
      lines = Array.from({ length: 100 }, (_, i) => `${i} apples\t${i}\n`);
    for (const share of [0.01, 0.03, 0.06, 0.1])
      assert.equal(heldOf(seven.join(''), share, '<|endoftext|>').trim(), seven[6].trim());
    assert.equal(heldOf(lines.join(''), 0.001, '\n'), lines[99]);
    // Text without spaces was called too short, and a byte 0xa0 inside a character was taken for a space. Neither part
    // may have half a character.
    for (const [word, bytes] of /** @type {[string, number][]} */ ([
      ['\u8001\u4f86', 100 * 6],
      ['\u982d\u00e0', 100 * 5],
      ['word', 100 * 4],
    ])) {
      for (const share of [0.5, 0.499, 0.498, 0.497]) {
        const { text: first, held } = holdOut(new TextEncoder().encode(word.repeat(100)), share, '<|endoftext|>');
        const decoder = new TextDecoder('utf-8', { fatal: true });
        assert.equal(decoder.decode(first) + decoder.decode(held), word.repeat(100));
        assert.ok(Math.abs(held.length - share * bytes) <= 3, `${held.length} of ${bytes}`);
      }
    }
  });

  // The trainer took curly quotes, ideographic stops and vowel signs for letters, so it split text otherwise than the
  // tokenizer.
  test('text of any language is split in training as the tokenizer splits it', async () => {
    const held =
      '\u201cHello,\u201d she said. It\u2019s late \u2014 don\u2019t go\u2026 caf\u00e9\u00a0\u00bd \u0968\u0966 \u092e\u0948\u0902 \u0939\u093f\u0928\u094d\u0926\u0940 \u0932\u093f\u0916\u0924\u093e \u0939\u0942\u0901\u0964 \u4f60\u597d\uff0c\u4e16\u754c\u3002\u3000\u3000\u4eca\u5929 \u2003 \ud83d\ude00\ud83d\ude00! \ud83d\udc4b\ud83c\udffd x\u0301 \u2167 \ufeffz';
    await trained(
      { ...tiny, context_length: 256 },
      `${held}\n<|endoftext|>\n`.repeat(20),
      { vocabSize: 400, batchTokens: 512, steps: 30, validation: held },
      async (run, all) => {
        assert.ok(run.tokenizer.vocabSize > 300, `${run.tokenizer.vocabSize}`);
        const { validation } = all[29],
          want = await natsOf(run, held),
          bytes = new TextEncoder().encode(held).length;
        assert.ok(Math.abs(validation.nats - want.nats) < 1e-5 * want.nats, `${validation.nats}, ${want.nats}`);
        assert.ok(
          Math.abs(validation.bitsPerByte * bytes - want.bitsPerByte * held.length) < 1e-4 * bytes * want.bitsPerByte,
        );
      },
    );
  });

  test('the vocabulary of an earlier run or model can be reused', async () => {
    await trained(tiny, text, { ...small, steps: 1, tokenizer: stories }, async (run) => {
      const want = await Tokenizer.load(stories);
      assert.equal(run.config.vocabSize, 2048);
      assert.deepEqual(run.tokenizer.encode('One day, Lily met a dragon!'), want.encode('One day, Lily met a dragon!'));
      const again = train(tiny, text, { ...small, steps: 1, tokenizer: run.tokenizer });
      await again.next();
      assert.deepEqual(
        again.tokenizer.encode('One day, Lily met a dragon!'),
        want.encode('One day, Lily met a dragon!'),
      );
      await again.dispose();
    });
    const tokens = ['<|endoftext|>', ...Array.from({ length: 256 }, (_, i) => `<${i}>`)];
    const other = (/** @type {string[]} */ list, /** @type {string[]} */ merges) => ({
      model: { type: 'BPE', vocab: Object.fromEntries(list.map((t, i) => [t, i])), merges },
    });
    await refused(
      tiny,
      text,
      { tokenizer: other(tokens, []) },
      'bad-tokenizer',
      /which accepts only vocabularies that it has learnt itself/,
    );
    await refused(
      tiny,
      text,
      { tokenizer: other(tokens, ['<1> <2>']) },
      'bad-shape',
      /merge 0 of the tokenizer joins unknown tokens/,
    );
    await refused(
      tiny,
      text,
      { tokenizer: join(top, 'tests/golden/formats/tok512.bin') },
      'bad-tokenizer',
      /that it has learnt itself/,
    );
    await refused(tiny, text, { tokenizer: { model: {} } }, 'bad-tokenizer', /not byte-pair encoding/);
  });
});

describe('stopping', () => {
  test('and continuing gives the same bytes as an uninterrupted run', async () => {
    for (const config of [tiny, classic]) {
      const options = { ...small, steps: 40, dropout: 0.1, validation: 0.1, seed: 3 };
      const whole = train(config, text, options),
        all = await steps(whole);
      const [files, state] = [await whole.files(), await whole.checkpoint()];
      await whole.dispose();

      const first = train(config, text, options),
        before = await steps(first, 12);
      assert.deepEqual(
        before.map((s) => s.step),
        Array.from({ length: 12 }, (_, i) => i + 1),
      );
      const checkpoint = await first.checkpoint();
      await first.dispose();
      const second = train(config, text, { ...options, checkpoint }),
        rest = await steps(second);
      assert.deepEqual(await second.files(), files);
      assert.deepEqual(await second.checkpoint(), state);
      const losses = (list) => list.map((s) => [s.step, s.loss, s.validation]);
      assert.ok(rest.length > 0 && rest.length < 40);
      assert.deepEqual(losses(rest), losses(all).slice(40 - rest.length));
      assert.deepEqual(await second.next(), { done: true, value: undefined });
      await second.dispose();
    }
  });

  // Steps computed in the same call as a failed one were lost.
  test('a loss that becomes NaN fails its step, after all earlier steps were delivered', async () => {
    const quick = { ...tiny, d_model: 16, n_layers: 1, context_length: 8 };
    for (const seed of [1, 2, 3, 4]) {
      const run = train(quick, text, {
        vocabSize: 257,
        batchTokens: 8,
        steps: 1000,
        lr: 1,
        weightDecay: 10,
        clip: 0,
        warmup: 0,
        seed,
      });
      /** @type {any[]} */
      const [numbers, failures] = [[], []];
      try {
        for await (const { step } of run) numbers.push(step);
      } catch (error) {
        failures.push(error);
      }
      await run.dispose();
      assert.deepEqual(
        numbers,
        numbers.map((_, i) => i + 1),
      );
      assert.deepEqual(
        failures.map(({ code, message }) => [code, message]),
        [['not-finite', `step ${numbers.length + 1}: the loss is no longer a number`]],
      );
    }
  });

  test('a new loop after break continues with the next step', async () => {
    const run = train(tiny, text, { ...small, steps: 30 });
    const numbers = [];
    while (numbers.length < 30) {
      for await (const s of run) {
        numbers.push(s.step);
        if (s.step % 7 === 0) break;
      }
      assert.equal((await run.files()).length, 1);
    }
    assert.deepEqual(
      numbers,
      Array.from({ length: 30 }, (_, i) => i + 1),
    );
    await run.dispose();
  });

  test('no step runs between pause and resume', async () => {
    const run = train(tiny, text, { ...small, steps: 1000 });
    await run.next();
    run.pause();
    let came = 0;
    const waiting = run.next().then(() => {
      came++;
    });
    const [state] = [await run.checkpoint(), await new Promise((resolve) => setTimeout(resolve, 100))];
    assert.equal(came, 0);
    assert.deepEqual(await run.checkpoint(), state);
    run.resume();
    await waiting;
    assert.equal(came, 1);
    run.pause();
    const held = run.next().then(() => {
      came++;
    });
    const moment = () => new Promise((resolve) => setTimeout(resolve, 100));
    await moment();
    run.resume();
    run.pause(); // before the reader has noticed the resume
    await moment();
    assert.equal(came, 1);
    run.resume();
    await held;
    await run.dispose();
  });

  test('a signal ends the run with its reason, before and between steps', async () => {
    const reason = new Error('enough');
    await assert.rejects(train(tiny, text, { signal: AbortSignal.abort(reason) }).next(), reason);
    const controller = new AbortController(),
      run = train(tiny, text, { ...small, steps: 1e6, signal: controller.signal });
    await assert.rejects(async () => {
      for await (const s of run) if (s.step === 5) controller.abort(reason);
    }, reason);
    await assert.rejects(run.files(), reason);
  });

  test('dispose fails pending and later calls', async () => {
    // Steps that had arrived together with the last one read were delivered after dispose.
    const quick = train({ ...tiny, d_model: 16, n_layers: 1, context_length: 8 }, text, {
      vocabSize: 257,
      batchTokens: 8,
      steps: 1e6,
    });
    for (let i = 0; i < 3; i++) await quick.next();
    await quick.dispose();
    await assert.rejects(quick.next(), { code: 'bad-state' });
    const run = train(tiny, text, { ...small, steps: 1e6 });
    await run.next();
    run.pause();
    const waiting = assert.rejects(run.next(), { code: 'bad-state', message: 'the run was disposed' });
    await new Promise((resolve) => setTimeout(resolve, 10));
    await run.dispose();
    await waiting;
    await assert.rejects(run.model(), { code: 'bad-state' });
    await run.dispose();
    const unread = train(tiny, text, small); // no step has been read yet
    assert.throws(() => unread.config, { code: 'bad-state', message: /known after its first step/ });
    await unread.dispose();
    await assert.rejects(unread.next(), { code: 'bad-state' });
  });
});

describe('refusals', () => {
  test('of data', async () => {
    await refused(tiny, '', {}, 'bad-argument', /no text to learn from/);
    await refused(tiny, ' \n<|endoftext|>\n ', {}, 'bad-argument', /no text to learn from/);
    await refused(tiny, 7, {}, 'bad-argument', /data is 7, expected a text/);
    await refused({ ...classic, kind: 'encoder_decoder' }, text, {}, 'bad-argument', /pair 1 has no tab/);
    await refused(
      { ...classic, kind: 'encoder_decoder' },
      'a\tb\n\tb\n',
      {},
      'bad-argument',
      /pair 2 has no source before its tab/,
    );
    await refused(
      { ...classic, kind: 'encoder_decoder' },
      'a\tb\na\t\n',
      {},
      'bad-argument',
      /pair 2 has no target behind its tab/,
    );
    await refused(tiny, text, { validation: '' }, 'bad-argument', /no text/);
    await refused(tiny, text, { validation: 1.5 }, 'bad-option', /a share between 0 and 1/);
  });

  test('of configurations', async () => {
    await refused({ ...tiny, d_model: 33 }, text, {}, 'bad-config', /d_model 33 is not divisible by n_heads 2/);
    await refused({ ...tiny, d_modle: 32 }, text, {}, 'bad-config', /there is no field "d_modle"/);
    await refused({ ...tiny, kind: 'encoder' }, text, {}, 'unsupported', /no next token/);
    await refused({ n_layers: 2 }, text, {}, 'bad-config', /d_model is missing/);
    await refused(null, text, {}, 'bad-argument', /expected a configuration/);
  });

  test('of options', async () => {
    await refused(tiny, text, { vocabSize: 100 }, 'bad-option', /vocabSize is 100, expected a whole number from 257/);
    await refused(
      tiny,
      text,
      { batchTokens: 32 },
      'bad-option',
      /batchTokens is 32, less than one sequence of the context, 64/,
    );
    await refused(tiny, text, { step: 3 }, 'bad-option', /train has no option "step"/);
    await refused(tiny, text, { dropout: 1 }, 'bad-option', /dropout is 1/);
    await refused(tiny, text, { muon: 'yes' }, 'bad-option', /muon is "yes"/);
    const run = train(tiny, text, { ...small, steps: 3 });
    await run.next();
    await assert.rejects(run.files({ dtype: 'q4_1' }), { code: 'bad-option' });
    assert.equal((await run.next()).value.step, 2); // and the run is unchanged
    await run.dispose();
  });

  test('of checkpoints that do not fit', async () => {
    const run = train(tiny, text, { ...small, steps: 5 });
    await steps(run);
    const checkpoint = await run.checkpoint();
    await run.dispose();
    await refused({ ...tiny, d_ff: 96 }, text, { ...small, checkpoint }, 'bad-config', /another configuration/);
    await refused(tiny, text, { ...small, checkpoint, seed: 2 }, 'bad-config', /another seed/);
    await refused(tiny, 'short', { ...small, checkpoint }, 'bad-config', /other data/);
    await refused(tiny, `${text} `, { ...small, checkpoint }, 'bad-config', /other data/);
    await refused(
      tiny,
      text,
      { ...small, checkpoint: checkpoint.slice(0, 1000) },
      'bad-file',
      /not written by this package/,
    );
    await refused(tiny, text, { ...small, checkpoint: new Uint8Array(3) }, 'bad-file', /not written by this package/);
    await refused(tiny, text, { ...small, checkpoint: 'x' }, 'bad-option', /expected bytes from run.checkpoint/);
    const broken = checkpoint.slice();
    broken[broken.length - 7] = 0; // within the vocabulary
    await refused(tiny, text, { ...small, checkpoint: broken }, 'bad-file', /not written by this package/);
    const cut = new Uint8Array([...checkpoint.slice(0, 5000), ...checkpoint.slice(9000)]);
    await refused(tiny, text, { ...small, checkpoint: cut }, 'truncated', /has \d+ bytes, expected \d+/);
  });

  test('of runs whose loss becomes NaN: the error has the code not-finite', async () => {
    const run = train(tiny, text, { ...small, steps: 100, lr: 1, muon: false, clip: 0, warmup: 0, weightDecay: 10 });
    const wild = train({ ...tiny, embedding_scale: 1e6, norm_eps: 0 }, text, {
      ...small,
      steps: 100,
      lr: 1,
      muon: false,
      clip: 0,
    });
    for (const r of [run, wild]) {
      await steps(r).catch((error) => assert.equal(error.code, 'not-finite'));
      await r.dispose();
    }
  });
});

describe('depth', () => {
  const deep = {
    d_model: 32,
    n_layers: 24,
    n_heads: 2,
    d_ff: 64,
    context_length: 16,
    norm: 'layernorm',
    ffn: 'gelu_erf',
    position: 'learned',
  };

  test('with 24 layers, norms and residuals keep signal and gradient as published', async () => {
    const [pre, post, carried, bare] = await Promise.all(
      [{}, { norm_placement: 'post' }, { use_norm: false }, { useNorm: false, useResidual: false }].map((change) =>
        depth({ ...deep, ...change }, { tokens: 64 }),
      ),
    );
    assert.ok([pre, post, carried, bare].every((list) => list.length === 24));
    assert.ok(pre[23].stream > 2 * pre[0].stream); // pre-norm: the stream grows
    assert.ok(pre[0].weights > 0.1 * pre[23].weights); // pre-norm: every layer receives gradient
    for (const { stream } of post) assert.ok(Math.abs(stream - 1) < 0.01); // post-norm: the stream stays at 1
    // residuals alone preserve both
    assert.ok(carried[0].weights > 1e-9 && carried[23].stream > 0.5 * carried[0].stream);
    // without norms and residuals both vanish
    assert.ok(bare[23].stream < 1e-6 * bare[0].stream && bare[0].weights < 1e-6 * carried[0].weights);
  });

  test('gradients and residual norms equal those computed in double precision', async () => {
    for (const change of [
      {},
      { norm_placement: 'post' },
      { norm_placement: 'post', use_residual: false },
      { use_norm: false },
    ]) {
      const config = { ...deep, n_heads: 4, ffn: 'gelu_tanh', norm_eps: 1e-5, ...change };
      const got = await depth(config, { seed: 9, tokens: 48 }),
        want = depthInDouble({ ...config, vocab_size: 256 }, 9, 48);
      for (const [l, { weights, stream }] of want.entries()) {
        assert.ok(
          Math.abs(got[l].weights - weights) < 1e-4 * weights,
          `${JSON.stringify(change)} layer ${l}: gradient ${got[l].weights}, in double ${weights}`,
        );
        assert.ok(
          Math.abs(got[l].stream - stream) < 1e-5 * stream,
          `${JSON.stringify(change)} layer ${l}: stream ${got[l].stream}, in double ${stream}`,
        );
      }
    }
  });

  test('the same seed gives the same measurement', async () => {
    assert.deepEqual(await depth(deep), await depth({ ...deep }, { seed: 1, tokens: 256 }));
    assert.notDeepEqual(await depth(deep), await depth(deep, { seed: 2 }));
  });

  test('refusals', async () => {
    await assert.rejects(depth({ ...deep, kind: 'encoder' }), { code: 'unsupported' });
    await assert.rejects(depth(deep, { tokens: 1 }), { code: 'bad-option' });
    await assert.rejects(depth(deep, { layers: 1 }), { code: 'bad-option' });
    const reason = new Error('enough');
    await assert.rejects(depth(deep, { signal: AbortSignal.abort(reason) }), reason);
  });
});
