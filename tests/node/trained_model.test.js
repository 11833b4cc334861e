// trained_model.test.js - the model that training in JavaScript leaves: its files, its checkpoint, and the native trainer
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Tokenizer, countParameters, load, provenanceOf, train } from '../../web/lib/api/index.js';
import { holdOut } from '../../web/lib/train/train_options.js';
import { collect, logprobOf, row, stories, top } from './helpers.js';
import { classic, gpt2, refusedRun, small, text, tiny, trained } from './small_runs.js';
import { randomConfig } from './random_config.js';

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
  const { logits } = await model.forward(ids);
  model.dispose();
  const nats = targets.reduce((sum, id, i) => sum - logprobOf(row(logits, i), id), 0);
  return { nats: nats / ids.length, bitsPerByte: nats / Math.LN2 / held.length };
}

const sha256 = (/** @type {string | Uint8Array} */ data) => createHash('sha256').update(data).digest('hex');

test('the files of a run say what it learned from: of a text, of examples, for an adapter', async () => {
  const how = { ...small, steps: 2, seed: 5 };
  const [{ bytes: gguf }] = await trained(tiny, text, how, (run) => run.files({ dtype: 'q8_0' }));
  const { data, seed, step, call, glassformer, options } = await provenanceOf(gguf);
  const { version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));
  assert.deepEqual(
    [data, seed, step, call, glassformer, options.steps, options.schedule, options.muon],
    [sha256(text), 5, 2, 'train', version, 2, 'cosine', true],
  );
  const said = Buffer.from(gguf).toString('latin1');
  for (const part of [`sha256:${sha256(text)}`, `trained for 2 steps by glassformer ${version}, seed 5`])
    assert.ok(said.includes(part), part);
  const examples = Array.from({ length: 4 }, (_, i) => ({ ids: Uint8Array.of(1, i), targets: [i, 2] }));
  const json = JSON.stringify(examples.map(({ ids, targets }) => ({ ids: Array.from(ids), targets })));
  const [, weights] = await trained({ ...tiny, vocab_size: 9 }, { examples }, { steps: 1 }, (run) => run.files());
  assert.equal((await provenanceOf(weights.bytes)).data, sha256(json));
  assert.match(Buffer.from(weights.bytes).toString('latin1', 8, 60), /^\{"__metadata__":\{"format":"pt",/);

  const model = await load(stories);
  const [config, adapter] = await trained(model, text, { steps: 1, lora: { rank: 2 } }, (run) => run.files());
  const { base, lora } = await provenanceOf(adapter.bytes);
  const { weights: sum, dtypes } = await model.provenance();
  assert.deepEqual(
    [base, lora],
    [
      { name: model.name, weights: sum, dtypes },
      { rank: 2, alpha: 4 },
    ],
  );
  assert.equal(JSON.parse(new TextDecoder().decode(config.bytes)).base_model_name_or_path, model.name);
  model.dispose();
});

test('the files of a run name its teacher, and its weights while it has them', async () => {
  const teacher = await load(stories);
  const { weights, dtypes } = await teacher.provenance();
  const how = { batchTokens: 256, steps: 1, teacher, teacherShare: 0.25 };
  const recordOf = async (run) => provenanceOf((await run.files())[0].bytes);
  await trained(tiny, text, how, async (run) => {
    const record = await recordOf(run);
    assert.deepEqual(record.teacher, { name: teacher.name, weights, dtypes, share: 0.25 });
    assert.equal(record.options.teacherShare, undefined);
    teacher.dispose();
    const disposed = { name: record.teacher.name, weights: null, dtypes: null, share: 0.25 };
    assert.deepEqual((await recordOf(run)).teacher, disposed);
  });
  await trained(tiny, text, { ...small, steps: 1 }, async (run) => assert.ok(!('teacher' in (await recordOf(run)))));
});

describe('the trained model', () => {
  const cases = {
    llama: [tiny, 1],
    gpt2: [gpt2, 1],
    classic: [classic, 3],
    'an untied gpt2': [{ ...gpt2, tie_word_embeddings: false }, 1],
    'norms of q and k, a window': [{ ...tiny, qk_norm: true, n_heads: 4, n_kv_heads: 2, sliding_window: 20 }, 1],
    'heads without rotation': [{ ...tiny, n_heads: 4, rotary_kv_heads: 1 }, 3],
    'attention only': [{ ...tiny, d_ff: 0, ffn: 'none', norm: 'none', position: 'learned' }, 3],
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
      { numRuns: 8 },
    ));

  test('validation holds out whole stories, or the end of a single text', async () => {
    const many = Array.from({ length: 30 }, (_, i) => `Story number ${i} is about a dog.`).join('\n<|endoftext|>\n');
    for (const data of [many, text, new TextEncoder().encode(text)]) {
      const [step] = await trained(tiny, data, { ...small, steps: 1, validation: 0.1 }, (_, all) => all);
      assert.ok(step.validation.bitsPerByte > 0);
    }
    await refusedRun(tiny, 'w', { ...small, validation: 0.5 }, 'bad-option', /too short to hold out/);
    // A share that begins inside the last separator held out a part of the separator.
    const heldOf = (whole, share, mark) => {
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
    for (const [word, bytes] of [
      ['\u8001\u4f86', 100 * 6],
      ['\u982d\u00e0', 100 * 5],
      ['word', 100 * 4],
    ]) {
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
    const other = (list, merges) => ({
      model: { type: 'BPE', vocab: Object.fromEntries(list.map((t, i) => [t, i])), merges },
    });
    await refusedRun(
      tiny,
      text,
      { tokenizer: other(tokens, []) },
      'bad-tokenizer',
      /which accepts only vocabularies that it has learnt itself/,
    );
    await refusedRun(
      tiny,
      text,
      { tokenizer: other(tokens, ['<1> <2>']) },
      'bad-shape',
      /merge 0 of the tokenizer joins unknown tokens/,
    );
    await refusedRun(
      tiny,
      text,
      { tokenizer: join(top, 'tests/golden/formats/tok512.bin') },
      'bad-tokenizer',
      /the tokenizer is not byte-pair encoding with merges/,
    );
    await refusedRun(tiny, text, { tokenizer: { model: {} } }, 'bad-tokenizer', /not byte-pair encoding/);
  });
});
