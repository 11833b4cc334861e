// gguf_t5.test.js - T5 as GGUF: files with the names, keys and types of llama.cpp's converter, made from the cases whose
// numbers transformers computed, and compared with these and with the Hugging Face folder
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { convert } from '../../web/lib/apps/cli/convert.js';
import { ByteReader } from '../../web/lib/files/bytes/chunks.js';
import { readGguf } from '../../web/lib/files/gguf/gguf.js';
import { temporaryFolder } from '../temporary.js';
import { fromHalf } from './half.js';
import { toHalf } from '../../web/lib/files/gguf/encode_half.js';
import { t5Tokenizer } from '../../web/lib/files/vocabulary/sentencepiece.js';
import { Texts } from '../../web/lib/files/vocabulary/packed_texts.js';
import { ggufTokenizer } from '../../web/lib/files/vocabulary/gguf_vocab.js';
import { bool, f32, f32s, i32s, safetensors, text, texts, u32, writeGguf } from './checkpoint_files.js';
import { vocabularyMeta } from '../../web/lib/files/gguf/write_vocab.js';
import { Tokenizer, load } from '../../web/lib/api/index.js';
import { collect, distance, golden, json, openCase, readTensors, refused, sameBits, untilEnd } from './helpers.js';
import { metaOf, pieceFile, tensorsOf, vocabularyOf } from './t5_gguf.js';
import { ggufOf } from './written.js';

const CASES = ['t5', 't5_v1_1'];

describe('T5 with the layout of llama.cpp’s converter', () => {
  for (const name of CASES)
    test(`${name}: the numbers of transformers, and those of the folder bit for bit`, async () => {
      const c = openCase(name);
      const folder = await load(c.source, { dtype: 'f32' });
      const model = await load(writeGguf(metaOf(c.config), tensorsOf(name)), { dtype: 'f32' });
      assert.deepEqual(model.warnings, []);
      assert.deepEqual(model.config, folder.config);
      assert.deepEqual([model.special.bos, model.special.start], [folder.special.bos, folder.special.start]);
      const capture = ['*hook_resid_pre', '*hook_pattern'];
      const [ours, theirs] = [model, folder].map((m) => m.forward(c.about.input_ids, { ...c.run, capture }));
      const { logits, captured } = await ours;
      assert.ok(distance(logits.data, c.array('logits')) <= 2e-4);
      assert.ok(sameBits(logits.data, (await theirs).logits.data));
      for (const [point, { data }] of Object.entries((await theirs).captured))
        assert.ok(sameBits(captured[point].data, data), point);
      const greedy = { ...c.run, temperature: 0, maxTokens: 32, ignoreEos: true };
      assert.deepEqual((await collect(model.generate([], greedy))).ids, c.about.greedy.next);
      for (const m of [model, folder]) m.dispose();
    });

  for (const name of CASES)
    test(`${name} in f16: the model whose matrices were rounded to f16 before`, async () => {
      const c = openCase(name);
      const model = await load(writeGguf(metaOf(c.config), tensorsOf(name, 'F16')), { dtype: 'f32' });
      const file = readTensors(join(c.folder, 'model.safetensors'));
      for (const { shape, data } of Object.values(file))
        if (shape.length > 1) data.forEach((x, i) => (data[i] = fromHalf(toHalf(x))));
      const rounded = await load({ weights: safetensors(file), config: c.config }, { dtype: 'f32' });
      const { logits } = await model.forward(c.about.input_ids, c.run);
      assert.ok(sameBits(logits.data, (await rounded.forward(c.about.input_ids, c.run)).logits.data));
      const kept = await load(writeGguf(metaOf(c.config), tensorsOf(name, 'F16')));
      assert.equal(kept.parameters.rows.find((r) => r.name === 'decoder.0.cross_attn.q.weight')?.dtype, 'f16');
      assert.ok(distance((await kept.forward(c.about.input_ids, c.run)).logits.data, logits.data) < 0.02);
      for (const m of [model, rounded, kept]) m.dispose();
    });

  test('a text as source gives what it gives with the folder’s tokenizer', async () => {
    const c = openCase('t5');
    const model = await load(
      writeGguf({ ...metaOf(c.config), ...vocabularyOf(c.config.vocab_size) }, tensorsOf('t5')),
      { dtype: 'f32' },
    );
    const files = {
      'config.json': JSON.stringify(c.config),
      'model.safetensors': readFileSync(join(c.folder, 'model.safetensors')),
      'spiece.model': readFileSync(pieceFile),
      'tokenizer_config.json': '{"extra_ids": 5}',
    };
    const own = await load(
      Object.entries(files).map(([name, content]) => new File([content], name)),
      { dtype: 'f32' },
    );
    assert.deepEqual(model.special, { ...own.special, start: [0] });
    for (const source of ['a red ball', 'balls  a'])
      for (const start of ['', 'a red']) {
        const options = { source, temperature: 0, maxTokens: 12 };
        const [a, b] = [model, own].map((m) => collect(m.generate(start, options)));
        assert.deepEqual((await a).ids, (await b).ids);
      }
    for (const m of [model, own]) m.dispose();
  });

  test('a head that copies the embedding of the first version, and a bias of cross-attention, change nothing', async () => {
    const c = openCase('t5');
    const tensors = tensorsOf('t5');
    const embed = tensors.find((t) => t.name === 'token_embd.weight');
    const bias = {
      name: 'dec.blk.0.cross_attn_rel_b.weight',
      shape: [32, 4],
      type: 'F32',
      data: new Float32Array(128),
    };
    const model = await untilEnd(
      load(writeGguf(metaOf(c.config), [...tensors, { ...embed, name: 'output.weight' }, bias]), {
        dtype: 'f32',
      }),
    );
    const { logits } = await model.forward(c.about.input_ids, c.run);
    assert.ok(distance(logits.data, c.array('logits')) <= 2e-4);
  });

  test('without a number of decoder layers and a first token: as many as the encoder has, and that of padding', async () => {
    const c = openCase('t5_v1_1');
    const { 't5.decoder_block_count': _, 't5.decoder_start_token_id': __, ...meta } = metaOf(c.config);
    const n = c.config.num_decoder_layers;
    const same = tensorsOf('t5_v1_1').filter(({ name }) => Number(/^enc\.blk\.(\d+)/.exec(name)?.[1] ?? 0) < n);
    const model = await untilEnd(load(writeGguf({ ...meta, 't5.block_count': u32(n) }, same)));
    assert.deepEqual([model.config.nLayers, model.config.nEncoderLayers], [n, n]);
    assert.deepEqual(model.special, { bos: 0, eos: [], addBos: false, start: [0] });
  });
});

test('an encoder alone (t5encoder): the numbers of the encoder in the whole model', async () => {
  for (const name of CASES) {
    const c = openCase(name);
    const tensors = tensorsOf(name).filter((t) => /^(token_embd|enc\.)/.test(t.name));
    const model = await load(writeGguf(metaOf(c.config, 't5encoder'), tensors), { dtype: 'f32' });
    const whole = await load(c.source, { dtype: 'f32' });
    assert.equal(model.config.kind, 'encoder');
    const { captured: a } = await model.forward(c.about.src_ids, { capture: ['*'] });
    const { captured: b } = await whole.forward(c.about.input_ids, { ...c.run, capture: ['encoder*'] });
    let compared = 0;
    for (const [point, { data }] of Object.entries(b)) {
      const own = a[point] ?? a[point.replace('encoder.', 'blocks.')] ?? a[point.replace('encoder.', '')];
      assert.ok(own && sameBits(own.data, data), point);
      compared++;
    }
    assert.ok(compared > 10, `${compared} points`);
    assert.equal((await model.embed(c.about.src_ids)).data.length, c.config.d_model);
    for (const m of [model, whole]) m.dispose();
  }
});

describe('the vocabulary of a T5 file', () => {
  const plain = { addSpecialTokens: false };
  const want = json(join(golden, '../formats/sentencepiece/ids.json'));
  const strings = [...json(join(golden, '../formats/strings.json')), ...want.texts, '', ' ', '  ', 'a  red\u3000ball '];
  const tokenizerOf = (meta) => Tokenizer.load(writeGguf(meta, []));

  test('the ids of SentencePiece, and those of the folder for hard texts', async () => {
    const tokenizer = await tokenizerOf(vocabularyOf(104));
    const folder = new Tokenizer(t5Tokenizer(readFileSync(pieceFile), 'spiece.model', 5));
    for (const [i, s] of want.texts.entries()) assert.deepEqual(tokenizer.encode(s), [...want.t5[i], 1], s);
    for (const s of strings) {
      const ids = folder.encode(s);
      assert.deepEqual(tokenizer.encode(s), ids, JSON.stringify(s));
      assert.deepEqual(tokenizer.encode(s, plain), folder.encode(s, plain));
      assert.equal(tokenizer.decode(ids), folder.decode(ids));
      const stream = tokenizer.stream([]);
      assert.equal(ids.map((id) => stream.push(id)).join('') + stream.end(), tokenizer.decode(ids));
    }
    assert.equal(tokenizer.vocabSize, 104);
    // as in SentencePiece: spaces alone are nothing, and a line end is a character
    for (const s of ['', ' ', '   ']) assert.deepEqual(tokenizer.encode(s), [1]);
    assert.deepEqual(tokenizer.encode(' \n '), [3, 2, 1]);
  });

  test('tokens of added_tokens.json are found in a text, and the tokens that fill the vocabulary are not', async () => {
    const extra = ['<extra_id_1>', '<extra_id_0>'];
    const tokenizer = await tokenizerOf(vocabularyOf(104, extra));
    const folder = new Tokenizer(t5Tokenizer(readFileSync(pieceFile), 'spiece.model', 2));
    for (const s of ['a <extra_id_0> ball', '<extra_id_1>', 'red<extra_id_0><extra_id_1>'])
      assert.deepEqual(tokenizer.encode(s), folder.encode(s), s);
    const unknown = tokenizer.encode('[PAD50]', plain);
    assert.ok(!unknown.includes(50), `${unknown}`);
    assert.equal(tokenizer.decode([4, 50, 5]), `${tokenizer.decode([4])}[PAD50]${tokenizer.idToText(5)}`);
    assert.equal(tokenizer.idToText(50), '[PAD50]');
  });

  test('the low score of unused tokens is none that an unknown character counts from', async () => {
    // x alone is unknown: -12 - 10, then bcd -1, is better than xb -9, c -12, d -12; with -10010 it would not be
    const tokens = ['<pad>', '</s>', '<unk>', 'xb', 'c', 'd', 'bcd', '[PAD7]'];
    const meta = {
      'tokenizer.ggml.model': text('t5'),
      'tokenizer.ggml.tokens': texts(tokens),
      'tokenizer.ggml.scores': f32s([0, 0, 0, -9, -12, -12, -1, -10000]),
      'tokenizer.ggml.token_type': i32s([3, 3, 2, 1, 1, 1, 1, 5]),
      'tokenizer.ggml.add_space_prefix': bool(false),
    };
    assert.deepEqual((await tokenizerOf(meta)).encode('xbcd'), [2, 6, 1]);
  });
});

describe('T5 written as GGUF', () => {
  for (const name of CASES)
    test(`${name}: the names and types of llama.cpp’s converter, and the same numbers when it is read again`, async () => {
      const c = openCase(name);
      const model = await untilEnd(load(c.source, { dtype: 'f32' }));
      for (const type of ['F32', 'F16', 'Q8_0']) {
        const bytes = await ggufOf(model, { type, meta: { 't5.decoder_start_token_id': u32(0) } });
        const r = new ByteReader(
          (async function* () {
            yield bytes;
          })(),
          { name: 'x', total: bytes.length },
        );
        const { meta, entries } = await readGguf(r, 0);
        const shapes = (list) => list.map((e) => `${e.name} ${e.shape}`).sort();
        assert.deepEqual(shapes(entries), shapes(tensorsOf(name)));
        for (const e of entries)
          if (/norm|rel_b/.test(e.name)) assert.equal(e.dtype, 'f32', e.name);
          else if (type === 'F16') assert.equal(e.dtype, 'f16', e.name);
        for (const [key, { value }] of Object.entries(metaOf(c.config)))
          if (key.startsWith('t5.') && !/(key|value)_length|layer_norm_epsilon/.test(key))
            assert.equal(meta.get(key), typeof value === 'number' ? Math.fround(value) : value, key);
        const again = await load(bytes, { dtype: 'f32' });
        assert.deepEqual(again.special.start, [0]);
        const [a, b] = [await model.forward(c.about.input_ids, c.run), await again.forward(c.about.input_ids, c.run)];
        const off = distance(a.logits.data, b.logits.data);
        if (type === 'F32') assert.equal(off, 0);
        const most = a.logits.data.reduce((m, x) => Math.max(m, Math.abs(x)), 0);
        assert.ok(off < most / 10, `${type}: ${off} of ${most}`);
        again.dispose();
      }
    });

  test('a distance that llama.cpp has not, and sequences with another start, are refused', async () => {
    const c = openCase('t5');
    for (const [field, value] of [
      ['relative_attention_max_distance', 64],
      ['feed_forward_proj', 'silu'],
      ['scale_decoder_outputs', false],
    ]) {
      const config = { ...c.config, [field]: value };
      const model = await load({ weights: join(c.folder, 'model.safetensors'), config }, { dtype: 'f32' });
      await refused(ggufOf(model), 'unsupported', /nearest, t5, has (relative_max_distance|ffn|logit_scale)/);
      model.dispose();
    }
    for (const name of ['marian', 'bart']) {
      const model = await load(openCase(name).source, { dtype: 'f32' });
      await refused(ggufOf(model), 'unsupported', /nearest, t5, /);
      model.dispose();
    }
  });

  /** 256 bytes of a table in which no text is found, and texts. */
  const table = new Uint8Array(300).map((_, i) => (i < 4 ? Number(i === 1) : (i * 7) % 256));
  const spiece = () => readFileSync(pieceFile);
  /** A tokenizer.json as T5's checkpoints have it. */
  const published = () => {
    const unigram = json(join(golden, '../formats/unigram.json'));
    const [metaspace] = [unigram.pre_tokenizer];
    return {
      ...unigram,
      normalizer: { type: 'Precompiled', precompiled_charsmap: Buffer.from(table).toString('base64') },
      pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, metaspace] },
    };
  };
  const strings = [
    ...json(join(golden, '../formats/strings.json')),
    'a red ball',
    '',
    ' ',
    'a  red',
    'ball <extra_id_1>s',
  ];
  for (const [name, open] of [
    ['a spiece.model', () => t5Tokenizer(spiece(), 'x', 3)],
    ['a tokenizer.json of a published checkpoint', published],
  ])
    test(`the vocabulary of ${name}: the same ids when it is read again`, async () => {
      const before = open();
      const meta = vocabularyMeta(before, { bos: null, eos: [1] }, 40);
      const after = await Tokenizer.load(writeGguf(meta, []));
      const first = new Tokenizer(before);
      // a real table makes every white space a space, and so does WhitespaceSplit, which leaves marks at the end alone
      for (const s of strings.map((each) => each.replace(/\p{White_Space}|\u2581/gu, ' ')))
        assert.deepEqual(after.encode(s), first.encode(s), JSON.stringify(s));
      assert.equal(after.vocabSize, 40);
      assert.equal(meta['tokenizer.ggml.model'].value, 't5');
      assert.deepEqual(
        [meta['tokenizer.ggml.add_eos_token'].value, meta['tokenizer.ggml.eos_token_id'].value],
        [true, 1],
      );
      assert.equal(meta['tokenizer.ggml.unknown_token_id'].value, 2);
      assert.equal(meta['tokenizer.ggml.token_type'].value[2], 2);
      assert.ok(!('tokenizer.ggml.bos_token_id' in meta));
      const charsmap = meta['tokenizer.ggml.precompiled_charsmap']?.value;
      if (name.includes('published')) assert.deepEqual(charsmap, [...table]);
      // a file made of what was read from a GGUF has the same keys
      const values = Object.entries(meta).map(([key, { of, value }]) => [key, of === 8 ? Texts.from(value) : value]);
      const read = await ggufTokenizer('x', new Map(values));
      assert.deepEqual(vocabularyMeta(read.json, { bos: null, eos: [1] }, 40), meta);
    });

  test('a vocabulary that a GGUF cannot have is refused', () => {
    const write = (changed) => () => vocabularyMeta({ ...published(), ...changed }, { bos: null, eos: [1] }, 40);
    const { model } = published();
    const unsupported = (message) => ({ code: 'unsupported', message });
    assert.throws(write({ model: { ...model, unk_id: null } }), unsupported(/its unk_id is null, expected the token/));
    const normalizer = { type: 'Precompiled', precompiled_charsmap: '?' };
    assert.throws(write({ normalizer }), unsupported(/its table of characters is "\?", expected base64/));
  });

  test('convert writes a folder as GGUF, with its vocabulary', async () => {
    const c = openCase('t5');
    const folder = temporaryFolder('t5');
    cpSync(join(c.folder, 'config.json'), join(folder, 'config.json'));
    cpSync(join(c.folder, 'model.safetensors'), join(folder, 'model.safetensors'));
    cpSync(pieceFile, join(folder, 'spiece.model'));
    writeFileSync(join(folder, 'tokenizer_config.json'), '{"extra_ids": 5}');
    const out = join(folder, 'out.gguf');
    await convert(`${folder}/`, out, { type: 'F32', vocabulary: true, options: {} });
    const [a, b] = [await load(`${folder}/`), await load(out)];
    assert.deepEqual(b.warnings, []);
    assert.deepEqual(b.special, { ...a.special, start: [0] });
    const options = { source: 'a red ball <extra_id_0>', temperature: 0, maxTokens: 10 };
    assert.deepEqual((await collect(b.generate('', options))).ids, (await collect(a.generate('', options))).ids);
    assert.deepEqual(await b.encode(options.source), await a.encode(options.source));
    for (const m of [a, b]) m.dispose();
  });
});

describe('refusals', () => {
  const c = openCase('t5');
  /** @param {(tensors: any[]) => any[]} change @param {Record<string, any>} [more] */
  const changed = (change, more = {}) => load(writeGguf({ ...metaOf(c.config), ...more }, change(tensorsOf('t5'))));
  const without = (name) => (list) => list.filter((t) => t.name !== name);
  const reshaped = (name, shape) => (list) =>
    list.map((t) => (t.name === name ? { ...t, shape, data: new Float32Array(shape[0] * (shape[1] ?? 1)) } : t));
  const bias = { shape: [32, 4], type: 'F32', data: new Float32Array(128) };
  for (const [what, change, more, code, words] of [
    ['no bias of distances', without('enc.blk.0.attn_rel_b.weight'), {}, 'missing-tensor', /enc\.blk\.0\.attn_rel_b/],
    ['no last norm', without('dec.output_norm.weight'), {}, 'missing-tensor', /dec\.output_norm/],
    ['no cross-attention', without('dec.blk.1.cross_attn_v.weight'), {}, 'missing-tensor', /dec\.blk\.1\.cross_attn_v/],
    [
      'a turned bias',
      reshaped('dec.blk.0.attn_rel_b.weight', [4, 32]),
      {},
      'bad-shape',
      /\[4, 32\], expected \[32, 4\]/,
    ],
    ['a narrow matrix', reshaped('enc.blk.2.attn_o.weight', [24, 31]), {}, 'bad-shape', /enc\.blk\.2\.attn_o/],
    [
      'a bias in every layer (UMT5)',
      (list) => [...list, { ...bias, name: 'enc.blk.1.attn_rel_b.weight' }],
      {},
      'unknown-tensor',
      /enc\.blk\.1\.attn_rel_b/,
    ],
    ['two buckets', (x) => x, { 't5.attention.relative_buckets_count': u32(2) }, 'bad-config', /below 4/],
    [
      'a first token beyond the table',
      (x) => x,
      { 't5.decoder_start_token_id': u32(104) },
      'unsupported',
      /start.* 104/,
    ],
    ['more decoder layers', (x) => x, { 't5.decoder_block_count': u32(3) }, 'missing-tensor', /dec\.blk\.2/],
    ['a bucket count as text', (x) => x, { 't5.attention.relative_buckets_count': text('x') }, 'bad-config', /buckets/],
  ])
    test(what, () => refused(changed(change, more), code, words));

  test('without a number of buckets', () => {
    const { 't5.attention.relative_buckets_count': _, ...meta } = metaOf(c.config);
    return refused(load(writeGguf(meta, tensorsOf('t5'))), 'bad-config', /relative_buckets_count is missing/);
  });
});
