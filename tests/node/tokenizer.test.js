// tokenizer.test.js - ids equal those of other programs, and decoding gives the text back
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { StepBuffer } from '../../web/lib/run/stop_texts.js';
import { openCheckpoint } from '../../web/lib/files/source.js';
import { Texts } from '../../web/lib/files/vocabulary/packed_texts.js';
import { ggufTokenizer } from '../../web/lib/files/vocabulary/gguf_vocab.js';
import { bool, f32s, i32s, text, texts, u32, writeGguf } from './checkpoint_files.js';
import { splitterOf } from '../../web/lib/text/tokenizer/pre_tokenise.js';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { json, noShared, refused, shared, stories, streamed, top } from './helpers.js';

const data = join(top, 'tests/golden/formats');

const strings = json(join(data, 'strings.json'));

const plain = { addSpecialTokens: false };

test("a GGUF vocabulary gives llama.cpp's ids with each of its split patterns", async () => {
  const { tokenizer: object } = await openCheckpoint(stories);
  const { model } = object;
  const tokens = [];
  for (const [token, id] of Object.entries(model.vocab)) tokens[id] = token;
  const meta = {
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.tokens': texts(tokens),
    'tokenizer.ggml.merges': texts(model.merges.map((m) => m.join(' '))),
    'tokenizer.ggml.token_type': i32s(tokens.map((t) => (t === '<|endoftext|>' ? 3 : 1))),
  };
  for (const [pre, ids] of Object.entries(json(join(data, 'stories-3m.ids.json')))) {
    const tokenizer = await Tokenizer.load(writeGguf({ ...meta, 'tokenizer.ggml.pre': text(pre) }, []));
    strings.forEach((s, i) => assert.deepEqual(tokenizer.encode(s, plain), ids[i], `${pre}: ${JSON.stringify(s)}`));
  }
});

// Worked out by hand from the patterns in llama.cpp's llama-vocab.cpp.
test('each name of a split pattern splits a text at its places', async () => {
  const s = "HelloWorld's 1234, (x)`y  z";
  const want = {
    'gpt-2': "HelloWorld|'s| 1234|,| (|x|)`|y| | z",
    olmo: "HelloWorld|'s| 1234|,| (|x|)`|y| | z",
    dbrx: "HelloWorld|'s| |123|4|,| (|x|)`|y| | z",
    stablelm2: "HelloWorld|'s| |1|2|3|4|,| (|x|)`|y| | z",
    starcoder: "HelloWorld|'s| |1|2|3|4|,| (|x|)`|y| | z",
    tekken: "Hello|World|'s| |1|2|3|4|,| (|x|)`|y| | z",
    llama4: "Hello|World's| |123|4|,| (|x|)`|y| | z",
    'poro-chat': "HelloWorld's| 1234|, (|x|)|`y| | z",
    default: "HelloWorld|'|s| |123|4|,| |(|x|)|`|y| | z",
  };
  for (const [pre, pieces] of Object.entries(want)) {
    const meta = new Map([
      ['tokenizer.ggml.model', 'gpt2'],
      ['tokenizer.ggml.tokens', Texts.from(['a'])],
      ['tokenizer.ggml.merges', []],
      ['tokenizer.ggml.pre', pre],
    ]);
    const warnings = [];
    const { json: object } = await ggufTokenizer('x', meta, warnings);
    const parts = [];
    const cut = ([step, ...more], text) => (step ? step(text, 0, (part) => cut(more, part)) : parts.push(text));
    cut(splitterOf(object.pre_tokenizer).steps, s);
    assert.equal(parts.join('|'), pieces, pre);
    assert.deepEqual(warnings, []);
    if (pre === 'gpt-2') {
      meta.set('tokenizer.ggml.pre', 'of another world');
      const { json: other } = await ggufTokenizer('x.gguf', meta, warnings);
      assert.deepEqual(other, object);
      assert.match(warnings[0], /^x\.gguf: tokenizer\.ggml\.pre "of another world" is not known/);
    }
  }
});

test('a vocabulary of the Unigram kind takes the best path, and one of each kind ends at control tokens', async () => {
  const tokens = ['<pad>', '</s>', '<unk>', '\u2581', 'a', 'b', 'ab', '\u2581a', 'bb', '<end_of_turn>', '<|im_end|>'];
  const meta = {
    'tokenizer.ggml.model': text('t5'),
    'tokenizer.ggml.tokens': texts(tokens),
    'tokenizer.ggml.scores': f32s([0, 0, 0, -2, -4, -4, -6, -3, -9, 0, -1]),
    'tokenizer.ggml.token_type': i32s([3, 3, 2, 1, 1, 1, 1, 1, 1, 3, 1]),
    'tokenizer.ggml.remove_extra_whitespaces': bool(true),
  };
  const tokenizer = await Tokenizer.load(writeGguf(meta, []));
  // -3 - 4 is better than -2 - 6; bb is worse than b b; the unknown x is one token
  assert.deepEqual(tokenizer.encode('ab'), [7, 5, 1]);
  assert.deepEqual(tokenizer.encode(' abb  xx ', plain), [7, 5, 5, 3, 2]);
  assert.equal(tokenizer.decode(tokenizer.encode('ab ab', plain)), 'ab ab');
  const spaces = await Tokenizer.load(
    writeGguf({ ...meta, 'tokenizer.ggml.remove_extra_whitespaces': bool(false) }, []),
  );
  assert.deepEqual(spaces.encode('a  a', plain), [7, 3, 7]);
  for (const [key, value] of [
    ['scores', f32s([0])],
    ['scores', f32s(tokens.map(() => -Infinity))],
    ['eos_token_id', u32(11)],
    ['unknown_token_id', u32(99)],
    ['token_type', i32s([1])],
  ])
    await refused(Tokenizer.load(writeGguf({ ...meta, [`tokenizer.ggml.${key}`]: value }, [])), 'bad-tokenizer');
  const list = new Map(Object.entries(meta).map(([key, { value }]) => [key, value]));
  list.set('tokenizer.ggml.tokens', Texts.from(tokens));
  list.set('tokenizer.ggml.add_eos_token', false);
  const { special, json: object } = await ggufTokenizer('x', list);
  assert.deepEqual(special, { bos: null, eos: [1, 9], addBos: false }, 'an ordinary token <|im_end|> is none');
  assert.equal(object.post_processor, null);
});

test('the shipped vocabulary encodes a text with its begin token and decodes every text to itself', async () => {
  const tokenizer = await Tokenizer.load(stories);
  assert.equal(tokenizer.vocabSize, 2048);
  for (const s of strings) {
    const ids = tokenizer.encode(s);
    assert.equal(ids[0], 0);
    assert.deepEqual(ids.slice(1), tokenizer.encode(s, plain));
    assert.equal(tokenizer.decode(ids.slice(1)), s);
    assert.equal(streamed(tokenizer, ids.slice(1)), s);
  }
  assert.deepEqual(
    tokenizer.encode('a<|endoftext|>b', plain).filter((id) => id === 0),
    [0],
    'special tokens in a text are parsed',
  );
  assert.equal(tokenizer.decode([0, ...tokenizer.encode('x', plain)], { skipSpecialTokens: true }), 'x');
  assert.equal(tokenizer.decode([]), '');
  assert.throws(() => tokenizer.decode([2048]), { code: 'bad-token' });
  assert.throws(() => tokenizer.decode([-1]), { code: 'bad-token' });
  assert.throws(() => tokenizer.encode(5), { code: 'bad-argument' });
});

test('of tokens with equal text the first is used, whatever names the duplicates get', async () => {
  const tokens = ['a', 'b', 'a', '[token 2]', 'c', '[token 5]', 'c', '[token 5]'];
  const meta = {
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': texts(tokens),
    'tokenizer.ggml.token_type': i32s(tokens.map(() => 1)),
    'tokenizer.ggml.scores': f32s(tokens.map((_, id) => -id)),
    'tokenizer.ggml.add_bos_token': bool(false),
    'tokenizer.ggml.add_space_prefix': bool(false),
    'tokenizer.ggml.bos_token_id': u32(0),
    'tokenizer.ggml.eos_token_id': u32(0),
    'tokenizer.ggml.unknown_token_id': u32(1),
  };
  const tokenizer = await Tokenizer.load(writeGguf(meta, []));
  assert.deepEqual(tokenizer.encode('acb', plain), [0, 4, 1]);
  assert.equal(tokenizer.vocabSize, tokens.length);
  assert.equal(tokenizer.decode([2, 6]).length > 0, true);
});

test('a character that is split by a boundary decodes to itself or to one replacement character', () => {
  // bytes under GPT-2's names, and a token of a whole letter followed by the first byte of four
  const printable = [...Array(94).keys()]
    .map((i) => i + 33)
    .concat(
      [...Array(12).keys()].map((i) => i + 161),
      [...Array(82).keys()].map((i) => i + 174),
    );
  const name = new Map(printable.map((b) => [b, String.fromCodePoint(b)]));
  for (let b = 0, n = 0; b < 256; b++) if (!name.has(b)) name.set(b, String.fromCodePoint(256 + n++));
  const vocab = Object.fromEntries([...name].map(([b, s]) => [s, b]));
  const both = name.get(0x61) + name.get(0xf0);
  const tokenizer = new Tokenizer({
    model: { type: 'BPE', vocab: { ...vocab, [both]: 256 }, merges: [[name.get(0x61), name.get(0xf0)]] },
    added_tokens: [],
    decoder: { type: 'ByteLevel' },
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
  });
  const after = (prior, ids) => {
    const s = tokenizer.stream(prior);
    return ids.map((id) => s.push(id)).join('') + s.end();
  };
  assert.equal(after([0x78, 0xf0, 0x9f, 0x98], [0x80, 0x79]), '😀y');
  assert.equal(after([0x78, 0xe2, 0x82], [0xac, 0x79]), '€y');
  for (const ids of [
    [0x62, 256],
    [0x62, 0xf0],
    [0x62, 256, 0x9f, 0x98, 0x80],
    [256, 0x62],
  ]) {
    const out = new StepBuffer([], tokenizer.stream([0x78]));
    const steps = [...ids.flatMap((id) => out.push({ id })), ...out.end()];
    assert.equal(out.text, tokenizer.decode(ids), ids.join());
    assert.equal(steps.map((s) => s.text).join(''), out.text);
    assert.deepEqual(out.ids, ids);
  }
});

test("llama2.c's tokenizer.bin gives the ids of run.c", async () => {
  const tokenizer = await Tokenizer.load(join(data, 'tok512.bin'));
  for (const [i, ids] of Object.entries(json(join(data, 'tok512.ids.json')))) {
    assert.deepEqual(tokenizer.encode(strings[i]), ids, JSON.stringify(strings[i]));
    assert.equal(tokenizer.decode(ids.slice(1)), strings[i]);
    assert.equal(streamed(tokenizer, ids.slice(1)), strings[i]);
  }
});

test('the same vocabulary in a GGUF gives the same ids', async () => {
  const bytes = readFileSync(join(data, 'tok512.bin'));
  const tokens = [],
    scores = [];
  for (let at = 4; at < bytes.length; at += 8 + bytes.readInt32LE(at + 4)) {
    scores.push(bytes.readFloatLE(at));
    tokens.push(bytes.toString('utf8', at + 8, at + 8 + bytes.readInt32LE(at + 4)).replaceAll(' ', '\u2581'));
  }
  tokens.splice(0, 3, '<unk>', '<s>', '</s>');
  const tokenizer = await Tokenizer.load(
    writeGguf(
      {
        'tokenizer.ggml.model': text('llama'),
        'tokenizer.ggml.tokens': texts(tokens),
        'tokenizer.ggml.scores': f32s(scores),
        'tokenizer.ggml.token_type': i32s(tokens.map((_, id) => (id === 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1))),
        'tokenizer.ggml.bos_token_id': u32(1),
      },
      [],
    ),
  );
  for (const [i, ids] of Object.entries(json(join(data, 'tok512.ids.json')))) {
    // run.c supports neither special tokens in a text nor SentencePiece's space
    if (/<\/?s>|\u2581/.test(strings[i])) continue;
    assert.deepEqual(tokenizer.encode(strings[i]), ids, JSON.stringify(strings[i]));
  }
  assert.deepEqual(
    tokenizer.encode('<s>x</s>').filter((id) => id < 3),
    [1, 1, 2],
  );
});

test('random text decodes to itself with byte-level BPE and with SentencePiece with byte fallback', async () => {
  for (const file of [stories, join(data, 'tok512.bin')]) {
    const tokenizer = await Tokenizer.load(file);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (s) => {
        const ids = tokenizer.encode(s, plain);
        assert.equal(tokenizer.decode(ids), s);
        assert.equal(streamed(tokenizer, ids), s);
      }),
      { numRuns: 300 },
    );
  }
});

test('a byte order mark is kept, also at the beginning', async () => {
  for (const file of [stories, join(data, 'tok512.bin'), join(top, 'weights/dates/tokenizer.json')]) {
    const tokenizer = await Tokenizer.load(file);
    for (const text of ['\ufeffabc', 'a\ufeffb', '\ufeff']) {
      let ids;
      try {
        ids = tokenizer.encode(text, plain);
      } catch {
        continue;
      } // dates has no bytes
      if (ids.length > 1)
        assert.equal(
          tokenizer.decode(ids).trimStart() === text || tokenizer.decode(ids) === text,
          true,
          JSON.stringify([file, tokenizer.decode(ids)]),
        );
    }
  }
});

// The rule is that of llama.cpp (llama-vocab.cpp, llm_bigram_spm): the best score first, of equals the leftmost.
test('SentencePiece merges by score, and of equal scores the leftmost pair', async () => {
  const tokens = ['<unk>', '<s>', '</s>', '\u2581', 'a', 'b', 'c', 'ab', 'bc', 'aa', 'abc', 'hid', 'h', 'i', 'd', 'cd'];
  const scores = [0, 0, 0, -9, -9, -9, -9, -2, -2, -1, -3, -1, -9, -9, -9, -1];
  const tokenizer = await Tokenizer.load(
    writeGguf(
      {
        'tokenizer.ggml.model': text('llama'),
        'tokenizer.ggml.tokens': texts(tokens),
        'tokenizer.ggml.scores': f32s(scores),
        'tokenizer.ggml.token_type': i32s(tokens.map((t, id) => (id === 0 ? 2 : id < 3 || t === 'hid' ? 3 : 1))),
        'tokenizer.ggml.add_bos_token': bool(false),
        'tokenizer.ggml.add_space_prefix': bool(false),
      },
      [],
    ),
  );
  const words = (t) => tokenizer.encode(t).map((id) => tokens[id]);
  assert.deepEqual(words('abcb'), ['abc', 'b'], 'ab and bc are equal, ab stands first, then abc');
  assert.deepEqual(words('aaa'), ['aa', 'a']);
  assert.deepEqual(words('bcab'), ['bc', 'ab']);
  assert.deepEqual(words('aabc'), ['aa', 'bc']);
  assert.deepEqual(words('bcd'), ['b', 'cd'], 'the better pair takes its letters first, wherever it stands');
  assert.equal(tokenizer.decode(tokenizer.encode('bc abc')), 'bc abc');
});

const expected = (name) => json(join(shared, 'tokenizers', `${name}.expected.json`));

test('the vocabularies of llama2.c and llama.cpp give the ids of their own tests', { skip: noShared }, async () => {
  const texts = json(join(shared, 'tokenizers/strings.json'));
  for (const [name, file] of [
    ['llama2-runc', 'tokenizer_llama2_32000.bin'],
    ['tok512-runc', 'tok512.bin'],
  ]) {
    const tokenizer = await Tokenizer.load(join(shared, 'public/llama2c', file));
    for (const [i, ids] of Object.entries(expected(name).ids)) {
      assert.deepEqual(tokenizer.encode(texts[i]), ids, `${name}: ${JSON.stringify(texts[i])}`);
      assert.equal(tokenizer.decode(ids.slice(1)), texts[i]);
    }
  }
  const folder = join(shared, 'public/gguf_vocab');
  for (const file of readdirSync(folder).filter((f) => f.endsWith('.gguf'))) {
    const tokenizer = await Tokenizer.load(join(folder, file));
    const inputs = readFileSync(join(folder, `${file}.inp`), 'utf8').split('\n__ggml_vocab_test__\n');
    const generations = readFileSync(join(folder, `${file}.out`), 'utf8').split('\n');
    assert.ok(inputs.length > 40 && generations.length >= inputs.length);
    inputs.forEach((s, i) => {
      const ids = tokenizer.encode(s, plain);
      assert.deepEqual(ids, generations[i].split(' ').filter(Boolean).map(Number), `${file}: ${JSON.stringify(s)}`);
      assert.equal(tokenizer.decode(ids), s);
    });
  }
});

test('a truncated vocabulary of llama2.c is refused at every length', async () => {
  const bin = readFileSync(join(data, 'tok512.bin'));
  /** Where a token ends: there the file is a whole, shorter vocabulary. */
  const ends = new Set();
  for (let at = 4; at < bin.length; at += 8 + bin.readInt32LE(at + 4)) ends.add(at);
  for (let n = 0; n < bin.length; n += 1 + Math.floor(n / 40))
    if (n <= 4 || !ends.has(n)) await refused(Tokenizer.load(bin.subarray(0, n)), ['bad-tokenizer', 'truncated']);
});

test('a small vocabulary is read; merges that lead to no token are left out; the begin token is put first', async () => {
  const vocab = { a: 0, b: 1, ab: 2 };
  assert.deepEqual((await Tokenizer.load({ model: { type: 'BPE', vocab, merges: ['a b'] } })).encode('abb'), [2, 1]);
  const ids = async (more) => {
    const meta = {
      'tokenizer.ggml.model': text('gpt2'),
      'tokenizer.ggml.tokens': texts(['a', 'b', 'ab']),
      'tokenizer.ggml.merges': texts(['a b']),
    };
    return (await Tokenizer.load(writeGguf({ ...meta, ...more }, []))).encode('abb');
  };
  assert.deepEqual(await ids({}), [2, 1]);
  assert.deepEqual(await ids({ 'tokenizer.ggml.merges': texts(['a b', 'b x', 'a a']) }), [2, 1]);
  const begins = { 'tokenizer.ggml.bos_token_id': u32(1), 'tokenizer.ggml.add_bos_token': bool(true) };
  assert.deepEqual(await ids(begins), [1, 2, 1]);
});
