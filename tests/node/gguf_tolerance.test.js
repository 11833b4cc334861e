// gguf_tolerance.test.js - GGUF files that llama.cpp runs although something in them is unusual, and GGUF files that
// are no model, which are called by their name
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { f32, text, u32, writeGguf } from './checkpoint_files.js';
import { serveCut } from './cut_server.js';
import { logitsOf, refused, sameBits, untilEnd } from './helpers.js';
import { floats } from './random_values.js';
import { temporaryFolder } from '../temporary.js';
import { ggufMeta, ggufTensors } from './small_files.js';

const file = (meta = {}, change = (list) => list) =>
  new Uint8Array(writeGguf({ ...ggufMeta, ...meta }, change(ggufTensors('F32'))));
const logits = async (source) => Float32Array.from(await logitsOf(source));
const plain = await logits(file());
const same = async (source) => assert.ok(sameBits(await logits(source), plain));

// 9007199254740993 is 2^53 + 1, the first whole number that no JavaScript number holds.
const long = (key, value) => {
  const bytes = Buffer.from(file({ [key]: text('12345678') }));
  const at = bytes.indexOf(key) + key.length;
  const rest = bytes.subarray(at + 20); // behind the type, the length and the eight letters
  const head = Buffer.alloc(12);
  head.writeUInt32LE(value === undefined ? 8 : 10, 0);
  if (value !== undefined) head.writeBigUInt64LE(value, 4);
  const body =
    value === undefined ? Buffer.concat([bytes.subarray(at, at + 12), Buffer.from('\xff\xfe345678', 'latin1')]) : head;
  const start = Buffer.concat([bytes.subarray(0, at), body]);
  // the data must begin at a multiple of 32 again
  const before = bytes.length - dataBytes;
  const end = before - at - 20;
  const padding = (32 - ((start.length + end) % 32)) % 32;
  return new Uint8Array(Buffer.concat([start, rest.subarray(0, end), Buffer.alloc(padding), rest.subarray(end)]));
};
const dataBytes = ggufTensors('F32').reduce((n, { data }) => n + Math.ceil((4 * data.length) / 32) * 32, 0);

describe('values that cannot be given exactly', () => {
  test('are no reason to refuse a file in keys that nobody reads', async () => {
    await same(long('general.own_number', 9007199254740993n));
    await same(long('general.own_text'));
    await same(file({ 'general.own_list': { type: 9, of: 8, value: ['a', 'b'] } }));
  });

  test('are refused in keys that are read', async () => {
    await refused(load(long('llama.rope.scaling.type')), 'bad-header', /"llama\.rope\.scaling\.type" is not UTF-8/);
    await refused(load(long('llama.vocab_size', 9007199254740993n)), 'bad-header', /vocab_size" is larger than 2\^53/);
  });
});

test('bytes after the last tensor are not read, with a warning', async () => {
  const bytes = file();
  for (const more of [1, 31, 32, 4096]) {
    const model = await untilEnd(load(new Uint8Array([...bytes, ...new Uint8Array(more).fill(7)])));
    const words = `${more} bytes that follow the last tensor were not read`;
    assert.deepEqual(model.warnings.map((w) => w.includes(words)), [true], `${more}: ${model.warnings}`); // prettier-ignore
    assert.ok(
      sameBits(
        (await model.forward([1, 2, 3])).logits.data,
        (await (await load(bytes)).forward([1, 2, 3])).logits.data,
      ),
    );
  }
  await refused(load(bytes.subarray(0, bytes.length - 1)), 'truncated');
});

test('a bias that only some tensors have is 0 in the others', async () => {
  const bias = (name, width, seed) => ({ name, shape: [width], type: 'F32', data: floats(width, seed) });
  const zero = (name, width) => ({ name, shape: [width], type: 'F32', data: new Float32Array(width) });
  const some = [bias('blk.0.attn_q.bias', 32, 70), bias('blk.0.ffn_down.bias', 32, 71)];
  const others = [zero('blk.0.attn_k.bias', 16), zero('blk.0.attn_v.bias', 16)];
  const ffn = [zero('blk.0.ffn_gate.bias', 64), zero('blk.0.ffn_up.bias', 64)];
  const model = await untilEnd(load(file({}, (t) => [...t, ...some])));
  assert.match(model.warnings.join(), /biases that the file lacks are 0: .*blocks\.0\.attn\.k\.bias/);
  const found = await logits(file({}, (t) => [...t, ...some]));
  assert.ok(sameBits(found, await logits(file({}, (t) => [...t, ...some, ...others, ...ffn]))));
  assert.ok(!sameBits(found, plain));
});

test('logit_scale and clamp_kqv of an architecture for which llama.cpp does not read them have no effect', async () => {
  await same(file({ 'llama.logit_scale': f32(0), 'llama.attention.clamp_kqv': f32(0) }));
  const model = await untilEnd(load(file({ 'llama.logit_scale': f32(2) })));
  assert.match(model.warnings.join(), /llama\.logit_scale 2 has no effect/);
  await same(file({ 'llama.logit_scale': f32(2), 'llama.attention.clamp_kqv': f32(8) }));
});

// llama.cpp's quantiser sorts tensors by layer and name: rope_freqs.weight comes after output.weight.
describe('a table of rotary factors far behind the header', async () => {
  const data = Float32Array.from({ length: 8 }, (_, i) => 1 + i / 4);
  const table = { name: 'rope_freqs.weight', shape: [8], type: 'F32', data };
  const wide = 1 << 13; // tokens: 1 MiB of embedding
  const embedding = { name: 'token_embd.weight', shape: [wide, 32], type: 'F32', data: floats(wide * 32, 3) };
  const head = { ...embedding, name: 'output.weight' };
  const rest = ggufTensors('F32').slice(1);
  const near = new Uint8Array(writeGguf(ggufMeta, [table, embedding, head, ...rest]));
  const far = new Uint8Array(writeGguf(ggufMeta, [embedding, head, ...rest, table]));
  const want = await logits(near);
  const files = { '/far.gguf': { bytes: far, etag: '"1"' }, '/plain.gguf': { bytes: far, etag: '"1"', ranges: false } };
  const server = await serveCut(files, { 'access-control-allow-origin': '*' });
  after(() => server.close());

  test('is read from memory, a Blob and a server, whether it answers ranges or not', async () => {
    for (const source of [far, new File([far], 'far.gguf'), `${server.url}far.gguf`, `${server.url}plain.gguf`])
      assert.ok(sameBits(await logits(source), want), String(source).slice(0, 80));
    const ranges = server.asked.filter(({ path, range }) => path === '/far.gguf' && range);
    assert.deepEqual(ranges.map(({ range }) => range), [`bytes=${far.length - 32}-${far.length - 1}`]); // prettier-ignore
  });

  test('is read beside the copy that a cache makes, and from it', async () => {
    const url = `${server.url}far.gguf?cached`;
    const options = { cache: 'file', cacheDir: temporaryFolder('rope') };
    const before = server.asked.length;
    for (const source of [url, url]) assert.ok(sameBits(Float32Array.from(await logitsOf(source, options)), want));
    assert.equal(server.asked.length - before, 2); // the file and the range; then nothing
  });

  test('a file that ends before it is truncated', () => refused(load(far.subarray(0, far.length - 32)), 'truncated'));
});

describe('GGUF files that are no model are called by their name', () => {
  const cases = {
    adapter: [{ 'general.type': text('adapter'), 'general.architecture': text('llama') }, /a LoRA adapter/],
    'importance matrix': [{ 'general.type': text('imatrix') }, /an importance matrix/],
    projector: [
      { 'general.type': text('mmproj'), 'general.architecture': text('clip') },
      /a vision or audio projector/,
    ],
    'projector of 2024': [{ 'general.architecture': text('clip'), 'clip.block_count': u32(2) }, /a vision or audio/],
  };
  for (const [name, [meta, words]] of Object.entries(cases))
    test(name, () => refused(load(new Uint8Array(writeGguf(meta, ggufTensors('F32')))), 'unsupported', words));

  test('a big-endian file', async () => {
    const bytes = file();
    bytes.set([0, 0, 0, 3], 4);
    await refused(load(bytes), 'unsupported', /big-endian GGUF/);
  });
});

test('a model with a chat template for tools alone says so', async () => {
  const model = await untilEnd(load(file({ 'tokenizer.chat_template.tool_use': text('{{ tools }}') })));
  assert.equal(model.chatTemplate, null);
  assert.equal(model.toolTemplate, '{{ tools }}');
  const ask = model.prompt([{ role: 'user', content: 'hello' }]);
  await refused(ask, 'no-chat-template', /conversations with tools only/);
});
