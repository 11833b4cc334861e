// foreign_files.test.js - files of other programs are refused by the name of what they are
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { archive } from './checkpoint_files.js';

const bytesOf = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));
const numbers = (...list) => new Uint8Array(Int32Array.from([...list, ...new Array(20).fill(77777777)]).buffer);

/** @type {[name: string, bytes: Uint8Array, what: RegExp][]} */
const FILES = [
  ['gpt2_124M.bin', numbers(20240803, 3), /a Llama 3 of llm\.c/],
  ['tiny_shakespeare_val.bin', numbers(20240520, 1), /token ids of llm\.c/],
  ['gpt2_tokenizer.bin', numbers(20240328, 1), /the tokenizer of llm\.c/],
  ['ggml-model-q4_0.bin', bytesOf('lmgg' + 'x'.repeat(40)), /ggml before GGUF/],
  ['model.ggjt', bytesOf('tjgg' + 'x'.repeat(40)), /ggml before GGUF/],
  ['model.onnx', bytesOf('\x08\x07\x12\x07pytorch' + 'x'.repeat(40)), /an ONNX graph/],
  ['flax_model.msgpack', bytesOf('\x81\xa6params' + 'x'.repeat(40)), /Flax/],
  ['model.h5', bytesOf('\x89HDF\r\n\x1a\n' + 'x'.repeat(40)), /HDF5.*Keras/],
  ['model.keras', archive([['metadata.json', bytesOf('{}')]], { folder: '' }), /Keras|metadata\.json/],
  ['gpt2.npz', archive([['wte.npy', bytesOf('\x93NUMPY')]]), /NumPy/],
  ['w.npy', bytesOf('\x93NUMPY\x01\x00' + 'x'.repeat(40)), /one array of NumPy/],
  ['model.ckpt.data-00000-of-00001', bytesOf('z'.repeat(64)), /TensorFlow/],
  ['model.tflite', bytesOf('\x1c\0\0\0TFL3' + 'x'.repeat(40)), /a graph of/],
  ['params.pkl', bytesOf('\x80\x04\x95' + 'x'.repeat(40)), /a pickle of Python/],
  ['train.bin', bytesOf('\x12\x34'.repeat(40)), /token ids to train with/],
  ['model.safetensors.gz', bytesOf('\x1f\x8b\x08' + 'x'.repeat(40)), /gzip: unpack/],
  ['model.safetensors.index.json', bytesOf('{"weight_map": {}}' + ' '.repeat(40)), /JSON: give the file of weights/],
  ['tokenizer.model', bytesOf('\n\x0b\n\x05<unk>' + 'x'.repeat(40)), /SentencePiece.*tokenizer/],
  ['noise.bin', bytesOf('R\xa8\xbf\x07'.repeat(20)), /neither GGUF.*may hold token ids/],
];

for (const [name, bytes, what] of FILES)
  test(name, async () => {
    // beside weights, JSON and tokenizers are no model that was chosen
    const isBeside = /\.(json|model)$/.test(name);
    const chosen = [new File([bytes], name), new File(['{}'], 'notes.json')];
    const error = await load(isBeside ? new File([bytes], name) : chosen).catch((e) => e);
    assert.match(error.message, what);
    assert.match(error.code, /unknown-format|unsupported|not-found/);
    const weights = await load({ weights: new File([bytes], name) }).catch((e) => e);
    assert.match(weights.message, what);
  });

test('the first bytes of a header of safetensors may be those of other files', async () => {
  const names = ['', 'one'];
  for (const size of [0x8b1f, 0x0880, 0x280, 0x480]) {
    const header = JSON.stringify({ one: { dtype: 'F32', shape: [1], data_offsets: [0, 4] } }).padEnd(size);
    const bytes = new Uint8Array(8 + size + 4);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(size), true);
    bytes.set(bytesOf(header), 8);
    for (const name of names) {
      const { message } = await load(name ? new File([bytes], name) : bytes).catch((e) => e);
      assert.doesNotMatch(message, /this is/, `${size} ${message}`);
    }
  }
});
