// formats_sources.test.js - where model files come from: paths, addresses, blobs, folders, shards and the hub
import assert from 'node:assert/strict';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { readHfConfig } from '../../web/lib/files/huggingface/huggingface.js';
import { roster } from '../../web/lib/engine/config/weight_roster.js';
import { openCheckpoint } from '../../web/lib/files/source.js';
import { temporaryFolder } from '../temporary.js';
import { safetensors, specialToken, withHeader } from './checkpoint_files.js';
import { load } from '../../web/lib/api/index.js';
import { serve as listen, stories } from './helpers.js';
import { drain, ggufFile, hf, hfFile, hfTensors, rejects } from './small_files.js';
import { product } from './random_values.js';

const folder = temporaryFolder('formats');
const served = {};

const serve = (path, body, headers = {}) => {
  served[path] = (res) => {
    res.writeHead(200, { 'content-length': body.length, ...headers });
    res.end(body);
  };
};

const server = await listen((req, res) => {
  const answer = served[decodeURIComponent(req.url.split('?')[0])];
  if (answer) answer(res, req);
  else {
    res.writeHead(404, { 'content-type': 'text/html' });
    res.end('<!doctype html>nothing here');
  }
});
const base = server.url.slice(0, -1);
after(() => server.close());

test('a path that the system does not let read is a wrong file, not a failed request', async () => {
  const loop = join(folder, 'loop.gguf');
  symlinkSync('loop.gguf', loop);
  await rejects(loop, 'bad-file', /loop\.gguf: the file cannot be read: ELOOP/);
  rmSync(loop); // another test opens the folder
});

test('paths, addresses, blobs, buffers and folders give the same model', async () => {
  const gguf = ggufFile();
  const path = join(folder, 'model.gguf');
  writeFileSync(path, gguf);
  serve('/m.gguf', gguf);
  const want = await drain(gguf);
  for (const source of [
    path,
    pathToFileURL(path),
    String(pathToFileURL(path)),
    `${base}/m.gguf`,
    new URL(`${base}/m.gguf?x=1`),
    new Blob([gguf]),
    new File([gguf], 'a.gguf'),
    gguf.slice().buffer,
    { weights: path },
    `${folder}/`,
    folder,
    [new File([gguf], 'only.gguf')],
  ]) {
    assert.deepEqual((await drain(source)).data, want.data, String(source));
  }
  const files = {
    'config.json': JSON.stringify({ ...hf, eos_token_id: 2 }),
    'model.safetensors': hfFile(),
    'generation_config.json': '{"eos_token_id":[2,3]}',
    'tokenizer_config.json': '{"chat_template":"{{ messages }}"}',
    'tokenizer.json': JSON.stringify({ model: { type: 'BPE', vocab: { a: 0, b: 1 }, merges: [] } }),
  };
  for (const [name, body] of Object.entries(files)) serve(`/hf/${name}`, Buffer.from(body));
  const { data } = await drain({ weights: hfFile(), config: hf });
  for (const source of [
    `${base}/hf/`,
    `${base}/hf/model.safetensors`,
    `${base}/hf/model.safetensors?key=a/b`, // the files beside it were looked for in a/
    Object.entries(files).map(([name, body]) => new File([body], name)),
  ]) {
    const got = await drain(source);
    assert.deepEqual(got.data, data);
    assert.equal(got.tokenizer.model.vocab.b, 1);
    if (!String(source).includes('/hf/model.safetensors'))
      assert.deepEqual([got.special.eos, got.chatTemplate], [[2, 3], '{{ messages }}']);
  }
  await rejects(
    { weights: gguf, tokenizer: { model: { vocab: { a: 0, z: 4 } } } },
    'bad-tokenizer',
    /id 4, the model has only 4/,
  );
});

// A template was given <s> and </s> although the tokenizer has <|im_start|> and <|im_end|>.
test("begin and end tokens come from the tokenizer's files, and from config.json where those name none", async () => {
  const added = ['<s>', '</s>', '<|im_start|>', '<|im_end|>'].map((content, id) => specialToken(id, content));
  const tokenizer = {
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: { type: 'BPE', vocab: { '<s>': 0, '</s>': 1, '<|im_start|>': 2, '<|im_end|>': 3, a: 4, b: 5 }, merges: [] },
  };
  // its message has the values it was given
  const chat_template = "{{ raise_exception('[' + bos_token + '][' + eos_token + ']') }}";
  const files = {
    'config.json': JSON.stringify({ ...hf, bos_token_id: 0, eos_token_id: 1 }),
    'model.safetensors': hfFile(),
    'tokenizer.json': JSON.stringify(tokenizer),
  };
  const given = async (about, template) => {
    const model = await load(
      Object.entries({ ...files, 'tokenizer_config.json': JSON.stringify({ chat_template, ...about }) }).map(
        ([name, body]) => new File([body], name),
      ),
    );
    const { message } = await model
      .chat([{ role: 'user', content: 'b' }], { template })
      .next()
      .catch((error) => error);
    model.dispose();
    return message.replace(/^[^[]*/, '');
  };
  assert.equal(await given({}), '[<s>][</s>]');
  assert.equal(
    await given({ bos_token: '<|im_start|>', eos_token: { content: '<|im_end|>', lstrip: false } }),
    '[<|im_start|>][<|im_end|>]',
  );
  assert.equal(await given({ bos_token: null, eos_token: 5, add_bos_token: false }), '[][</s>]');
  assert.equal(
    await given({ bos_token: '<|im_start|>', eos_token: '<|im_end|>' }, { bos_token: 'mine' }),
    '[mine][<|im_end|>]',
  );
});

test("hf:owner/name requests the hub's addresses", async () => {
  serve('/own/small/resolve/main/config.json', Buffer.from(JSON.stringify(hf)));
  serve('/own/small/resolve/main/model.safetensors', Buffer.from(hfFile()));
  serve('/own/small/resolve/v1/q/m.gguf', Buffer.from(ggufFile()));
  const hub = { hfEndpoint: base };
  assert.equal((await drain('hf:own/small', hub).catch((e) => e)).format, 'safetensors');
  assert.equal((await drain('hf:own/small@v1/q/m.gguf', hub)).format, 'gguf');
  await rejects('hf:own/small@v2', 'not-found', /resolve\/v2/, hub);
  for (const pr of ['refs%2Fpr%2F1', 'refs%2fpr%2f1'])
    await rejects(`hf:own/small@${pr}`, 'not-found', /resolve\/refs%2Fpr%2F1\//, hub);
  await rejects('hf:own/small@100%', 'not-found', /resolve\/100%25\//, hub);
  await rejects('hf:nobody', 'bad-argument', /hf:owner\/name/, hub);
  const asked = [];
  await openCheckpoint('hf:a/b@refs%2Fpr%2F1', {
    fetch: async (url) => {
      asked.push(String(url));
      return new Response('', { status: 404 });
    },
  }).catch(() => {});
  assert.ok(asked[0].startsWith('https://huggingface.co/a/b/resolve/refs%2Fpr%2F1/'), asked[0]);
});

// hf:a/b/../../x requested a file of another repository.
test('an address of the hub that would lead out of its repository is refused', async () => {
  const asked = [];
  const fetch = async (url) => {
    asked.push(String(url));
    return new Response('', { status: 404 });
  };
  for (const source of [
    'hf:a/b/../../x',
    'hf:../../m.gguf',
    'hf:a/..',
    'hf:./b/m.gguf',
    'hf:a/b@../m.gguf',
    'hf:a/b@..',
    'hf:a/b@x%2f..%2F../m.gguf',
    'hf:a/b/sub/./m.gguf',
  ]) {
    await assert.rejects(load(source, { fetch }), {
      code: 'bad-argument',
      message: /expected hf:owner\/name/,
    });
    await assert.rejects(load({ weights: source }, { fetch }), { code: 'bad-argument' });
  }
  assert.deepEqual(asked, []);
});

// A stream took the config.json of the current folder or page; a data: address was refused.
test('nothing is beside a stream or a data: address', async () => {
  const asked = [];
  const fetch = async (url) => {
    asked.push(url);
    return new Response(hfFile());
  };
  const config = { ...hf, rope_theta: 1e4 };
  await drain('stream:weights', { fetch, config });
  assert.deepEqual(asked, ['stream:weights']);
  const base64 = Buffer.from(hfFile()).toString('base64');
  await drain(`data:application/octet-stream;base64,${base64}`, { config });
  await rejects(`data:,${'x'.repeat(1e4)}`, 'unknown-format', /^.{10,200}$/); // named the whole address
});

test("numbers of Python's JSON that JSON has not are read, and texts stay texts", async () => {
  const { parseJson } = await import('../../web/lib/files/bytes/read_json.js');
  const read = (text) => parseJson(new TextEncoder().encode(text), 'x.json');
  const want = { a: Infinity, b: [-Infinity, NaN, 1], c: 'NaN "Infinity"', '-Infinity': 'x\\' };
  assert.deepEqual(
    read('{"a": Infinity, "b": [-Infinity,NaN, 1], "c": "NaN \\"Infinity\\"", "-Infinity": "x\\\\"}'),
    want,
  );
  for (const text of ['{"a": Infinite}', '{"a": +Infinity}', '{a: NaN}', '{"a": -NaN', 'Infinity 1'])
    assert.throws(() => read(text), { code: 'bad-file', message: /this is not JSON/ });
  serve('/python/model.safetensors', hfFile());
  serve(
    '/python/config.json',
    Buffer.from(JSON.stringify({ ...hf, limit: 0 }).replace('"limit":0', '"limit":Infinity')),
  );
  assert.deepEqual([...(await drain(`${base}/python/`)).data].length, hfTensors().length);
});

test('shards are read in order, also when there are more than open connections', async () => {
  const tensors = hfTensors();
  const map = {};
  const n = 7,
    per = Math.ceil(tensors.length / n);
  for (let i = 0; i < n; i++) {
    const name = `model-0000${i + 1}-of-00007.safetensors`;
    const part = tensors.slice(i * per, (i + 1) * per);
    for (const t of part) map[t.name] = name;
    serve(`/shards/${name}`, Buffer.from(safetensors(part)));
  }
  serve('/shards/config.json', Buffer.from(JSON.stringify(hf)));
  serve('/shards/model.safetensors.index.json', Buffer.from(JSON.stringify({ weight_map: map })));
  // the headers of the files that were opened twice counted twice
  const counted = [];
  const { data, totalBytes } = await drain(`${base}/shards/`, { onBytes: (...bytes) => counted.push(bytes) });
  assert.deepEqual(counted.at(-1), [totalBytes, totalBytes]);
  assert.deepEqual([...data].sort(), [...(await drain({ weights: hfFile(), config: hf })).data].sort());
  assert.ok(totalBytes > 2000);
  // an older copy in another shard than the index names is not read
  const [first] = tensors;
  const older = { ...first, data: first.data.map((x) => x + 1) };
  serve('/shards/model-00007-of-00007.safetensors', Buffer.from(safetensors([...tensors.slice(6 * per), older])));
  const again = await drain(`${base}/shards/`);
  assert.deepEqual([...again.data].sort(), [...data].sort());
  assert.match(again.warnings.join(), /copies in shards that the index does not name/);
  serve('/shards/model-00007-of-00007.safetensors', Buffer.from(safetensors(tensors.slice(6 * per))));
  const index = (body) => serve('/shards/model.safetensors.index.json', Buffer.from(JSON.stringify(body)));
  index({ weight_map: { ...map, 'model.norm.weight': 'model-00007-of-00007.safetensors' } });
  await rejects(`${base}/shards/`, 'missing-tensor', /model\.norm\.weight/);
  index({ weight_map: { ...map, 'model.norm.weight': '../../secret' } });
  await rejects(`${base}/shards/`, 'bad-file', /secret/);
  for (const name of ['..', '.']) {
    index({ weight_map: { ...map, 'model.norm.weight': name } });
    await rejects(`${base}/shards/`, 'bad-file', /"\.\.?" is not a file beside it/);
  }
  // the fuzzer found a message of 100,029 characters
  index({ weight_map: { ...map, 'model.norm.weight': 'x'.repeat(1e5) } });
  await rejects(`${base}/shards/`, 'bad-file', /^.{10,200}$/);
  index({});
  await rejects(`${base}/shards/`, 'bad-file', /weight_map is missing/);
  await rejects(
    { weights: [safetensors(tensors.slice(0, 3)), safetensors(tensors.slice(2))], config: hf },
    'duplicate-tensor',
    /two files/,
  );
});

/**
 * The weights of `hf` in two files, with a part that reads pictures between them and in a third file.
 * @param {string} at  path of the folder on the server
 * @returns {{requests: string[], sizes: Record<string, number>, ranges: {on: boolean}}} requests of the weight files
 */
function servePictures(at) {
  const pictures = (n) => ({
    name: `vision_tower.${n}.weight`,
    shape: [9, 1 << 20],
    dtype: 'U8',
    data: new Uint8Array(9 << 20),
  });
  const text = hfTensors();
  const half = text.length / 2;
  const parts = {
    'model-1.safetensors': [pictures(0), ...text.slice(0, half), pictures(1)],
    'model-2.safetensors': [pictures(2), pictures(3)],
    'model-3.safetensors': [...text.slice(half, -1), pictures(4), text.at(-1)],
  };
  const map = Object.fromEntries(Object.entries(parts).flatMap(([file, list]) => list.map(({ name }) => [name, file])));
  serve(`${at}config.json`, Buffer.from(JSON.stringify({ model_type: 'llava', text_config: hf })));
  serve(`${at}model.safetensors.index.json`, Buffer.from(JSON.stringify({ weight_map: map })));
  const out = { requests: [], sizes: {}, ranges: { on: true } };
  for (const [file, list] of Object.entries(parts)) {
    const bytes = Buffer.from(safetensors(list));
    out.sizes[file] = bytes.length;
    served[at + file] = (res, { headers: { range } }) => {
      out.requests.push(`${file} ${range ?? 'whole'}`);
      const from = out.ranges.on ? Number(/\d+/.exec(range)?.[0] ?? 0) : 0;
      const of = from ? { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {};
      res.writeHead(from ? 206 : 200, { 'content-length': bytes.length - from, ...of });
      res.end(bytes.subarray(from));
    };
  }
  return out;
}

test('of a model that reads pictures, files and long parts of files without text weights are not requested', async () => {
  const { requests, sizes, ranges } = servePictures('/llava/');
  const want = (await drain({ weights: hfFile(), config: hf })).data;
  const same = ({ data, warnings }) => {
    assert.deepEqual([...data].sort(), [...want].sort());
    assert.match(warnings.join(), /of a part that is not run were not read: model-2\.safetensors/);
  };
  const counted = [];
  same(await drain(`${base}/llava/`, { ranges: true, onBytes: (...bytes) => counted.push(bytes) }));
  const from = requests.map((request) => request.replace(/\d{3,}/, 'N'));
  assert.deepEqual(from, [
    'model-1.safetensors whole',
    'model-3.safetensors whole',
    'model-1.safetensors bytes=N-',
    'model-3.safetensors bytes=N-',
  ]);
  const [loaded, total] = counted.at(-1);
  assert.equal(loaded, total);
  assert.ok(total < sizes['model-1.safetensors'] + sizes['model-3.safetensors'] - (20 << 20), `${total} bytes`);
  // a server without ranges, and a load that stores or checks whole files
  ranges.on = false;
  same(await drain(`${base}/llava/`, { ranges: true }));
  requests.length = 0;
  same(await drain(`${base}/llava/`));
  assert.deepEqual(requests, ['model-1.safetensors whole', 'model-3.safetensors whole']);
});

test('an answer that is not a model is refused, and the message says what it was', async () => {
  await rejects(`${base}/none.gguf`, 'not-found', /none\.gguf: the server answered 404/);
  served['/broken.gguf'] = (res) => {
    res.writeHead(503);
    res.end();
  };
  await rejects(`${base}/broken.gguf`, 'network', /503/);
  serve('/page.gguf', Buffer.from('<!doctype html><title>Hi'), { 'content-type': 'text/html; charset=utf-8' });
  await rejects(`${base}/page.gguf`, 'html', /HTML page/);
  serve('/page2.gguf', Buffer.from('\n <!DOCTYPE html><html>'), { 'content-type': 'application/octet-stream' });
  await rejects(`${base}/page2.gguf`, 'html', /HTML page/);
  serve('/empty.gguf', Buffer.alloc(0));
  await rejects(`${base}/empty.gguf`, 'truncated', /empty/);
  serve('/lfs.gguf', Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n'));
  await rejects(`${base}/lfs.gguf`, 'bad-file', /LFS pointer/);
  serve('/pickle.bin', Buffer.from('PK\x03\x04' + '\0'.repeat(60)));
  await rejects(`${base}/pickle.bin`, 'unsupported', /a zip archive that begins with ""/);
  // the first bytes of a torch.save(..., _use_new_zipfile_serialization=False); a browser's latin1 is windows-1252,
  // where 80 is the euro
  serve('/legacy.bin', Buffer.from('80028a0a6cfc9c46f9206aa850192e80024de9032e', 'hex'));
  await rejects(`${base}/legacy.bin`, 'unsupported', /pickle/);
  const { TextDecoder } = globalThis;
  globalThis.TextDecoder = class extends TextDecoder {
    decode(bytes) {
      return super.decode(bytes).replace(/\x80/g, '\u20ac');
    }
  };
  await rejects(`${base}/legacy.bin`, 'unsupported', /pickle/).finally(() => {
    globalThis.TextDecoder = TextDecoder;
  });
  serve('/what', Buffer.from('hello there, this is no model at all'));
  await rejects(`${base}/what`, 'unknown-format', /"hell"/);
  served['/half.gguf'] = (res) => {
    const b = ggufFile();
    res.writeHead(200, { 'content-length': b.length });
    res.write(b.subarray(0, 3000));
    setTimeout(() => res.destroy(), 20);
  };
  await rejects(`${base}/half.gguf`, 'network', /half\.gguf/);
  await rejects('http://127.0.0.1:9/x.gguf', 'network', /x\.gguf/);
  await rejects(`${base}/none/`, 'not-found', /no config\.json/);
  serve('/noweights/config.json', Buffer.from(JSON.stringify(hf)));
  await rejects(`${base}/noweights/`, 'not-found', /model\.safetensors/);
  // some servers send their start page for every address
  const start = Buffer.from('<!doctype html><title>App');
  for (const name of ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json', 'chat_template.jinja'])
    serve(`/spa/${name}`, start, { 'content-type': 'text/html' });
  serve('/spa/config.json', Buffer.from(JSON.stringify(hf)));
  serve('/spa/model.safetensors', Buffer.from(hfFile()));
  assert.equal((await drain(`${base}/spa/`)).tokenizer, null);
  serve('/spa/tokenizer.json', Buffer.from('{"model":'));
  await rejects(`${base}/spa/`, 'bad-file', /tokenizer\.json: this is not JSON/);
  serve('/zipped.gguf', gzipSync(ggufFile()), { 'content-encoding': 'gzip' });
  assert.equal(
    (await drain(`${base}/zipped.gguf`)).format,
    'gguf',
    'the length of compressed bytes is not that of the file',
  );
  await rejects(join(folder, 'none.gguf'), 'not-found', /no such file/);
  await rejects(join(folder, 'none/'), 'not-found', /no such folder/);
  await rejects(hfFile(), 'bad-config', /no config\.json.*model_type .*num_attention_heads, rms_norm_eps/);
  for (const nothing of [null, 5, {}, '', { weights: [] }, { weights: 5 }])
    await assert.rejects(load(nothing), { code: 'bad-argument' });
});

// S3 answers 403 for a missing key unless the bucket may be listed: whole folders were refused.
test('status 403 for an optional file is a warning, for a required one an error', async () => {
  const forbidden =
    (folder, body = {}) =>
    async (url) => {
      const name = String(url).replace(folder, '');
      return body[name]
        ? new Response(body[name])
        : new Response('<Error><Code>AccessDenied</Code></Error>', { status: 403, statusText: 'Forbidden' });
    };
  const at = 'https://s3.example/m/',
    config = JSON.stringify(hf),
    file = hfFile(),
    cut = 13;
  const bare = await drain(at, { fetch: forbidden(at, { 'config.json': config, 'model.safetensors': file }) });
  const refusals = [
    ...['generation_config.json', 'tokenizer_config.json', 'chat_template.jinja', 'tokenizer.json'],
    ...['merges.txt', 'tokenizer.model'],
  ].map((name) => `${at}${name}: the server answered 403 Forbidden`);
  assert.deepEqual(
    bare.warnings.map((text) => text.split(';')[0]),
    refusals,
  );
  assert.deepEqual(
    (
      await drain(`${at}model.safetensors`, {
        fetch: forbidden(at, { 'config.json': config, 'model.safetensors': file }),
      })
    ).warnings.map((text) => text.split(';')[0]),
    refusals.slice(3, 4),
  );

  const shards = {
    'a.safetensors': safetensors(hfTensors().slice(0, cut)),
    'b.safetensors': safetensors(hfTensors().slice(cut)),
  };
  const weight_map = Object.fromEntries(
    hfTensors().map(({ name }, i) => [name, i < cut ? 'a.safetensors' : 'b.safetensors']),
  );
  const sharded = { 'config.json': config, 'model.safetensors.index.json': JSON.stringify({ weight_map }), ...shards };
  assert.deepEqual((await drain(at, { fetch: forbidden(at, sharded) })).data, bare.data);
  await rejects(at, 'network', /b\.safetensors: the server answered 403/, {
    fetch: forbidden(at, { ...sharded, 'b.safetensors': undefined }),
  });
  // a gated model
  await rejects(at, 'network', /config\.json: the server answered 403/, { fetch: forbidden(at) });
  await rejects(at, 'network', /m\/model\.safetensors: the server answered 403/, {
    fetch: forbidden(at, { 'config.json': config }),
  });
  await rejects(`${at}model.safetensors`, 'network', /config\.json: the server answered 403/, {
    fetch: forbidden(at, { 'model.safetensors': file }),
  });
});

test('progress counts every byte once, and an abort rejects with its reason', async () => {
  const gguf = ggufFile();
  serve('/m.gguf', gguf);
  const seen = [];
  await drain(`${base}/m.gguf`, { onBytes: (loaded, total) => seen.push([loaded, total]) });
  assert.deepEqual(seen.at(-1), [gguf.length, gguf.length]);
  assert.ok(seen.every(([n], i) => i === 0 || n > seen[i - 1][0]));

  const early = AbortSignal.abort(new Error('never mind'));
  await assert.rejects(openCheckpoint(stories, { signal: early }), /never mind/);
  served['/slow.gguf'] = (res) => {
    res.writeHead(200, { 'content-length': gguf.length });
    res.write(gguf.subarray(0, gguf.length - 500));
  };
  const abort = new AbortController();
  const slow = await openCheckpoint(`${base}/slow.gguf`, { signal: abort.signal });
  setTimeout(() => abort.abort(new Error('enough')), 30);
  await assert.rejects(slow.stream({ begin() {}, write() {}, end() {} }), /enough/);
  // also when fetch ignores the signal
  const deaf = new AbortController();
  const hanging = openCheckpoint('http://a.example/x.gguf', {
    signal: deaf.signal,
    fetch: async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
  });
  setTimeout(() => deaf.abort(new Error('too long')), 30);
  await assert.rejects(hanging, /too long/);
});

test("a download of known length ends at its last byte, except with the caller's own fetch", async () => {
  const gguf = ggufFile(),
    { fetch } = globalThis;
  const lasting = async () =>
    new Response(
      new ReadableStream({
        start(c) {
          c.enqueue(gguf);
        },
      }),
      { headers: { 'content-length': String(gguf.length) } },
    );
  const whole = await drain(gguf);
  globalThis.fetch = lasting;
  try {
    assert.deepEqual((await drain('http://a.example/x.gguf')).data, whole.data);
  } finally {
    globalThis.fetch = fetch;
  }
  // the caller's fetch may still report an error after the last byte, such as a wrong checksum
  const own = AbortSignal.timeout(50);
  await assert.rejects(drain('http://a.example/x.gguf', { fetch: lasting, signal: own }), { name: 'TimeoutError' });
});

test('an error in the sink stops reading', async () => {
  const checkpoint = await openCheckpoint(stories);
  await assert.rejects(
    checkpoint.stream({
      begin() {},
      async write() {
        throw new Error('no room');
      },
      end() {},
    }),
    /no room/,
  );
  await assert.rejects(checkpoint.stream({ begin() {}, write() {}, end() {} }), { code: 'bad-state' });
});

test('a file much larger than its chunks is never in memory as a whole', async () => {
  const rows = 1 << 20; // an embedding of 2^20 x 64 f32: 256 MB
  const config = {
    model_type: 'glassformer',
    vocab_size: rows,
    d_model: 64,
    n_layers: 1,
    n_heads: 1,
    d_ff: 1,
    position: 'none',
    final_norm: false,
  };
  const shapes = [...roster(readHfConfig(config).config)];
  let at = 0;
  const header = Object.fromEntries(
    shapes.map(({ name, shape }) => [name, { dtype: 'F32', shape, data_offsets: [at, (at += 4 * product(shape))] }]),
  );
  let left = at;
  const body = new ReadableStream({
    start(c) {
      c.enqueue(withHeader(header));
    },
    pull(c) {
      const n = Math.min(left, 65536);
      if (n) c.enqueue(new Uint8Array(n));
      else c.close();
      left -= n;
    },
  });
  const checkpoint = await openCheckpoint(
    { weights: 'http://a.example/x.safetensors', config },
    { fetch: async () => new Response(body) },
  );
  let bytes = 0,
    most = 0;
  await checkpoint.stream({
    begin() {},
    write(view) {
      bytes += view.length;
      if (bytes % (1 << 24) < 65536) most = Math.max(most, process.memoryUsage().arrayBuffers);
    },
    end() {},
  });
  assert.equal(bytes, at);
  // buffers that are no longer used are freed when the garbage collector runs
  assert.ok(most < 0.75 * at, `${most} bytes of buffers for a file of ${at}`);
});
