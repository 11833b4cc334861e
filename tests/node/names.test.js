// names.test.js - each option and method works under its name, and under its older, deprecated names
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { SentencePieces } from '../../web/lib/files/vocabulary/sentencepiece_vocab.js';
import { Texts, TokenTexts } from '../../web/lib/files/vocabulary/packed_texts.js';
import { Tokenizer, create, estimate, load, train } from '../../web/lib/api/index.js';
import { tokenizerOf } from '../../web/lib/text/model_tokenizer.js';
import { collect, golden, json, openCase, refused, stories, top, untilEnd } from './helpers.js';

const tiny = { vocab_size: 40, d_model: 32, n_layers: 1, n_heads: 2, context_length: 16 };
const gguf = join(golden, 'gguf_llama_q8_0/model.gguf');
const kvBytes = async (options) => {
  const model = await create(tiny, { seed: 1, ...options }),
    session = await model.session();
  await session.eval([1]);
  const { bytes } = session;
  model.dispose();
  return bytes;
};

describe('options of load and create', () => {
  test('dtype is the type of the matrices in memory', async () => {
    for (const dtype of ['f32', 'f16', 'q8_0', 'q4_0']) {
      const loaded = await load(gguf, { dtype }),
        created = await create(tiny, { dtype });
      for (const model of [loaded, created]) {
        assert.ok(model.parameters.rows.filter((r) => r.shape.length === 2 && r.count).every((r) => r.dtype === dtype));
        model.dispose();
      }
    }
    const kept = await untilEnd(load(gguf, { dtype: 'keep' }));
    assert.ok(kept.parameters.rows.some((r) => r.dtype === 'q8_0'));
  });
  test('kvDtype is the type of the key/value cache', async () => {
    const [f32, f16, q8] = await Promise.all(['f32', 'f16', 'q8_0'].map((kvDtype) => kvBytes({ kvDtype })));
    assert.ok(f32 > f16 && f16 > q8, JSON.stringify([f32, f16, q8]));
    const cost = (kvDtype) => estimate(tiny, { contextLength: 16, kvDtype }).kvBytes;
    assert.ok(cost('q8_0') < cost('f16'));
    // the cost of a cache was computed that no model has
    assert.throws(() => cost('q4_0'), {
      code: 'bad-argument',
      message: /kvDtype is "q4_0", expected one of f32,f16,q8_0/,
    });
  });
  test('without kvDtype the cache is f16 for quantised weights and f32 for others', async () => {
    const kvDtype = async (options) => {
      const model = await load(gguf, options);
      model.dispose();
      return model.kvDtype;
    };
    assert.equal(await kvDtype({ dtype: 'keep' }), 'f16');
    assert.equal(await kvDtype({ dtype: 'q4_0', worker: true }), 'f16');
    assert.equal(await kvDtype({ dtype: 'f16' }), 'f32');
    assert.equal(await kvDtype({ dtype: 'f32' }), 'f32');
    assert.equal(await kvDtype({ dtype: 'keep', kvDtype: 'q8_0' }), 'q8_0');
  });
  test('other types and the names that dtype and kvDtype had before are refused', async () => {
    for (const [name, value] of [
      ['dtype', 'q9'],
      ['kvDtype', 'int3'],
      ['kvDtype', 'q4_0'],
      ['dtype', 5],
      ['kvDtype', 'q8'],
      ['quantize', 'f32'],
      ['kvCache', 'f32'],
    ])
      await refused(load(gguf, { [name]: value }), 'bad-option', new RegExp(name));
  });
  test("a contextLength above the model's own adds a warning, and is refused with learned positions", async () => {
    for (const worker of [false, true]) {
      const longer = await load(gguf, { contextLength: 4096, worker }),
        same = await load(gguf, { worker });
      assert.match(longer.warnings.join('\n'), /contextLength is 4096, the model was made for \d+ positions/);
      assert.equal(longer.contextLength, 4096);
      assert.deepEqual(same.warnings, []);
      const [a, b] = await Promise.all(
        [longer, same].map((model) => collect(model.generate([5], { maxTokens: 8, temperature: 0, ignoreEos: true }))),
      );
      assert.deepEqual(a.ids, b.ids);
      longer.dispose();
      same.dispose();
      const { source, config } = openCase('gpt2_n_inner');
      await refused(
        load(source, { contextLength: config.n_positions + 1, worker }),
        'bad-argument',
        /contextLength is \d+, but this model has learned positions for \d+/,
      );
    }
    const fresh = await untilEnd(create(tiny, { contextLength: 32 }));
    assert.match(fresh.warnings[0], /32.*16 positions/);
  });
});

test('stop takes a single string or a list', async () => {
  const model = await untilEnd(load(stories));
  const write = (stop) => collect(model.generate('Once upon a time', { maxTokens: 60, temperature: 0, stop }));
  const [one, list, none] = [await write('.'), await write(['.']), await write([])];
  assert.equal(one.summary.stopReason, 'stop');
  assert.deepEqual([one.text, one.ids], [list.text, list.ids]);
  assert.ok(!one.text.includes('.') && none.text.includes('.'));
  for (const stop of ['', [''], [1], 5, {}])
    await refused(write(stop), 'bad-option', /stop is .*, expected a text or a list of texts/);
});

describe('properties of a model', () => {
  test("tokenizer gives the same ids and texts as the model's calls, synchronously", async () => {
    for (const [source, texts] of [
      [stories, ['Once upon a time', ' a\n\nb', 'héllo 👋 𝄞', '']],
      [join(top, 'weights/dates/'), ['3 May 1999', '12/4/07']],
      [join(top, 'weights/stories-gpt2.gguf'), ['The dog’s “bone”.']],
    ]) {
      for (const worker of [false, true]) {
        const model = await load(source, { worker }),
          tokenizer = await model.tokenizer;
        assert.ok(tokenizer instanceof Tokenizer);
        assert.equal(await model.tokenizer, tokenizer, 'built once');
        for (const text of texts) {
          const ids = tokenizer.encode(text);
          assert.deepEqual(ids, await model.encode(text));
          assert.equal(tokenizer.decode(ids), await model.decode(ids));
        }
        model.dispose();
        assert.deepEqual(
          tokenizer.encode(texts[0]),
          (await Tokenizer.load(source.endsWith('/') ? `${source}tokenizer.json` : source)).encode(texts[0]),
          'after the model is gone',
        );
        assert.equal(model.tokenizer && (await model.tokenizer), tokenizer);
      }
    }
  });
  test('tokenizer and chatTemplate are null where the model has none', async () => {
    for (const worker of [false, true]) {
      const model = await create(tiny, { worker });
      assert.deepEqual([model.tokenizer, model.chatTemplate], [null, null]);
      model.dispose();
    }
    const gone = await load(stories);
    gone.dispose();
    await refused(gone.tokenizer, 'bad-state');
  });
  test('chatTemplate is the template of the file, unchanged', async () => {
    const { readFileSync } = await import('node:fs'),
      template = '{{ messages[0].content }}';
    const files = ['config.json', 'model.safetensors'].map(
      (name) => new File([readFileSync(join(golden, 'llama_1tok', name))], name),
    );
    files.push(new File([template], 'chat_template.jinja'));
    assert.equal((await untilEnd(load(files))).chatTemplate, template);
    // As in transformers, that file counts where tokenizer_config.json has another template.
    files.push(new File(['{"chat_template":"other"}'], 'tokenizer_config.json'));
    assert.equal((await untilEnd(load(files))).chatTemplate, template);
  });
});

test('a tokenizer can be written as JSON and read again, for every kind of vocabulary', async () => {
  const strings = json(join(golden, '../formats/strings.json'));
  for (const [file, texts] of [
    [stories, strings],
    [join(top, 'weights/dates/tokenizer.json'), ['7 July 2001']],
    [join(golden, '../formats/tok512.bin'), strings],
  ]) {
    const tokenizer = await Tokenizer.load(file),
      again = tokenizerOf(tokenizer.toText());
    for (const text of texts) assert.deepEqual(again.encode(text), tokenizer.encode(text));
    assert.deepEqual([again.vocabSize, [...again.special]], [tokenizer.vocabSize, [...tokenizer.special]]);
  }
  // tokenizer.bin has infinite scores for tokens that its training never met
  const pieces = new SentencePieces(
    new TokenTexts(Texts.from(['a', 'b', 'ab', 'ba'])),
    [1, 1, 1, 1],
    [0, -Infinity, Infinity, -3],
    0,
  );
  const back = SentencePieces.fromJSON(JSON.parse(JSON.stringify(pieces)));
  const [first, second] = [pieces, back].map((model) => new Tokenizer({ model }));
  for (const text of ['ab', 'ba', 'bb', 'aba', 'babab']) assert.deepEqual(second.encode(text), first.encode(text));
  assert.deepEqual(first.encode('aba'), [2, 0]);
});

describe('dispose', () => {
  test('of a session does the same as close', async () => {
    const model = await untilEnd(create(tiny)),
      session = await model.session(),
      other = await model.session();
    await session.eval([1, 2]);
    await session.dispose();
    await session.dispose();
    await session.close();
    await refused(session.eval([3]), 'bad-state', /closed/);
    other[Symbol.dispose]();
    await refused(other.eval([3]), 'bad-state', /closed/);
    const third = await model.session();
    await third[Symbol.asyncDispose]();
    await refused(third.eval([3]), 'bad-state');
  });
  test('of a tokenizer frees its vocabulary', async () => {
    const tokenizer = await Tokenizer.load(stories);
    assert.ok(tokenizer.encode('a').length);
    tokenizer.dispose();
    tokenizer[Symbol.dispose]();
    for (const call of [
      () => tokenizer.encode('a'),
      () => tokenizer.decode([1]),
      () => tokenizer.toText(),
      () => tokenizer.idToText(1),
      () => tokenizer.stream([1]),
    ]) {
      await refused((async () => call())(), 'bad-state', /the tokenizer was disposed/);
    }
  });
  test('of a training run works under each of its names', async () => {
    for (const end of ['dispose', Symbol.dispose, Symbol.asyncDispose]) {
      const run = train({ d_model: 16, n_layers: 1, n_heads: 1 }, 'a b c d '.repeat(50), { steps: 5 });
      await run.next();
      await run[end]();
      await refused(run.next(), 'bad-state');
    }
  });
});

test('train accepts the tokenizer of a model', async () => {
  const first = train({ d_model: 16, n_layers: 1, n_heads: 1 }, 'the cat sat on the mat '.repeat(40), {
    steps: 1,
    vocabSize: 270,
  });
  const model = await first.model();
  const second = train({ d_model: 16, n_layers: 1, n_heads: 1 }, 'the cat sat '.repeat(40), {
    steps: 1,
    tokenizer: await model.tokenizer,
  });
  await second.next();
  assert.deepEqual(second.tokenizer.encode('the cat'), first.tokenizer.encode('the cat'));
  assert.equal(second.config.vocabSize, first.config.vocabSize);
  await Promise.all([first.dispose(), second.dispose()]);
  model.dispose();
});
