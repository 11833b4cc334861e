// helpers.js - shared by the tests of the library
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CODES } from '../../web/lib/base/codes.js';
import { GlassformerError } from '../../web/lib/base/errors.js';
import { safetensors } from './checkpoint_files.js';
import { fromHalf } from './half.js';
import { load } from '../../web/lib/api/index.js';

export { numbers, randomTensor } from './random_values.js';

export const top = fileURLToPath(new URL('../..', import.meta.url));
export const golden = join(top, 'tests/golden/cases');
/** The expected values of a case; the reference data beside the project have a file for each array. */
const EXPECTED = 'expected.safetensors';
/** The whole set of reference data, where it lies beside the project. */
export const shared = existsSync(join(top, '../shared/cases/index.json')) ? join(top, '../shared') : null;
/** A reason to skip, or false. */
export const noShared = !shared && 'no shared reference data beside the project';
export const stories = join(top, 'weights/stories-3m.gguf');

/** @param {string} file */
export const json = (file) => JSON.parse(readFileSync(file, 'utf8'));
/**
 * A raw f32 file, or null.
 * @param {string} file
 */
export function floats(file) {
  return existsSync(file) ? new Float32Array(Uint8Array.from(readFileSync(file)).buffer) : null;
}

/**
 * A case: its folder, its description and the options to run it.
 * @param {string} name
 * @param {string} [root]
 */
export function openCase(name, root = golden) {
  const folder = join(root, name);
  const about = json(join(folder, 'case.json'));
  const config = existsSync(join(folder, 'config.json')) ? json(join(folder, 'config.json')) : {};
  const pads = config.pad_positions ?? [];
  return {
    name,
    folder,
    about,
    config,
    source: existsSync(join(folder, 'model.gguf')) ? join(folder, 'model.gguf') : `${folder}/`,
    run: about.src_ids
      ? {
          source: about.src_ids,
          ...(pads.length && { sourceMask: about.src_ids.map((_, i) => (pads.includes(i) ? 0 : 1)) }),
        }
      : {},
    /** Expected values by their name; null where there are none. */
    array: (array) =>
      existsSync(join(folder, EXPECTED))
        ? (readTensors(join(folder, EXPECTED))[array]?.data ?? null)
        : floats(join(folder, `${array}.f32`)),
  };
}

/**
 * What is opened here, which is disposed at the end of the test that calls this; outside of a test, at the end of the
 * file.
 * @template T
 * @param {T} opened  a model, a training run, or a promise of one
 * @returns {T}
 */
export function untilEnd(opened) {
  after(async () => {
    const owner = await Promise.resolve(opened).catch(() => null);
    await owner?.dispose();
  });
  return opened;
}

/**
 * A row of logits for every token of a model: these values, then -Infinity.
 * @param {import('../../web/lib/api/index.js').Model} model @param {number[]} values
 */
export const logitRow = ({ config }, values) =>
  Float32Array.from({ length: config.vocabSize }, (_, i) => values[i] ?? -Infinity);

/**
 * Assert that a promise rejects with a GlassformerError that has this code, or one of these, and a message that
 * matches.
 * @param {Promise<any>} promise @param {string | string[]} code @param {RegExp} [words]
 */
export function refused(promise, code, words = /./) {
  return assert.rejects(promise, (error) => {
    assert.ok(error instanceof GlassformerError, `${error?.stack}`);
    assert.ok([code].flat().includes(error.code), `code ${error.code}, expected ${code}: ${error.message}`);
    assert.ok(Object.hasOwn(CODES, error.code), `${error.code} is not a documented code`);
    assert.match(error.message, words);
    return true;
  });
}

/**
 * The error that a call throws or rejects with: a GlassformerError with a documented code and a short message.
 * @param {() => any} call
 * @param {string} [what]  that is to be refused
 * @returns {Promise<any>}
 */
export async function refusal(call, what = 'it') {
  const error = await Promise.resolve()
    .then(call)
    .then(
      () => null,
      (e) => e,
    );
  assert.ok(error, `${what} was not refused`);
  assert.ok(error instanceof GlassformerError, `${error?.stack ?? error}`);
  assert.ok(Object.hasOwn(CODES, error.code), error.code);
  assert.notEqual(error.code, 'internal', error.cause?.stack);
  assert.ok(error.message.length < 1000, error.message);
  return error;
}

/**
 * The text that a stream returns, token by token.
 * @param {import('../../web/lib/api/index.js').Tokenizer} tokenizer
 * @param {number[]} ids
 * @param {number[]} [prior]
 */
export function streamed(tokenizer, ids, prior) {
  const stream = tokenizer.stream(prior);
  return ids.map((id) => stream.push(id)).join('') + stream.end();
}

/** All steps of a generation, its summary, ids and text. */
export async function collect(generator) {
  const steps = [];
  for (;;) {
    const { done, value } = await generator.next();
    if (done) return { steps, summary: value, ids: steps.map((s) => s.id), text: steps.map((s) => s.text).join('') };
    steps.push(value);
  }
}

/**
 * Six greedy ids of a model, which is then disposed.
 * @param {any} model
 * @returns {Promise<number[]>}
 */
export async function sixIds(model) {
  try {
    return (await collect(model.generate([5], { maxTokens: 6, temperature: 0, ignoreEos: true }))).ids;
  } finally {
    model.dispose();
  }
}

/**
 * Largest difference; NaN counts as infinite.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
export function distance(a, b) {
  if (a.length !== b.length) return Infinity;
  let most = 0;
  for (let i = 0; i < a.length; i++) {
    const d = Object.is(a[i], b[i]) || a[i] === b[i] ? 0 : Math.abs(a[i] - b[i]);
    if (!(d <= most)) most = Number.isNaN(d) ? Infinity : d;
  }
  return most;
}

/**
 * Root mean square of the differences, as a share of that of the expected values.
 * @param {ArrayLike<number>} got
 * @param {ArrayLike<number>} want
 */
export function relativeError(got, want) {
  let error = 0,
    size = 0;
  for (let i = 0; i < want.length; i++) {
    error += (want[i] - got[i]) ** 2;
    size += want[i] ** 2;
  }
  return Math.sqrt(error / size);
}

/** A row of a tensor of two axes. */
export const row = ({ data, shape }, i) => data.subarray(i * shape[1], (i + 1) * shape[1]);

/**
 * ln p of a token after these logits, in double precision.
 * @param {ArrayLike<number>} logits
 * @param {number} id
 */
export function logprobOf(logits, id) {
  const most = Array.from(logits).reduce((a, b) => Math.max(a, b)); // a call has no room for all of them
  return logits[id] - most - Math.log(Array.from(logits).reduce((sum, x) => sum + Math.exp(x - most), 0));
}

/**
 * Whether two arrays have the same bits, including NaN and the sign of zero.
 * @param {Float32Array} a
 * @param {Float32Array} b
 */
export function sameBits(a, b) {
  return (
    a.length === b.length &&
    Buffer.compare(
      Buffer.from(a.buffer, a.byteOffset, a.byteLength),
      Buffer.from(b.buffer, b.byteOffset, b.byteLength),
    ) === 0
  );
}

/**
 * The tensors of a safetensors file as they are stored.
 * @param {string} file its path
 * @returns {Record<string, {dtype: string, shape: number[], data: Uint8Array}>}
 */
export function storedTensors(file) {
  const bytes = Uint8Array.from(readFileSync(file));
  const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const { __metadata__: _, ...header } = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  return mapValues(header, ({ dtype, shape, data_offsets: [from, to] }) => ({
    dtype,
    shape,
    data: bytes.slice(start + from, start + to),
  }));
}

/**
 * The tensors of a safetensors file of F32 and F16, as f32.
 * @param {string} file its path
 */
export function readTensors(file) {
  return mapValues(storedTensors(file), ({ dtype, shape, data: { buffer } }) => ({
    shape,
    data: dtype === 'F16' ? Float32Array.from(new Uint16Array(buffer), fromHalf) : new Float32Array(buffer),
  }));
}
const mapValues = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));

/**
 * Load a case whose tensors and configuration were changed.
 * @param {string} name
 * @param {(tensors: Record<string, {dtype: string, shape: number[], data: Uint8Array}>) => void} change
 * @param {Record<string, any>} [fields]
 */
export function changed(name, change, fields = {}) {
  const tensors = storedTensors(join(golden, name, 'model.safetensors'));
  change(tensors);
  const config = { ...json(join(golden, name, 'config.json')), ...fields };
  return load({ weights: safetensors(tensors), config }, { dtype: 'f32' });
}

/** What makes a configuration GPT-2's architecture, beside the sizes. */
export const gpt2Recipe = {
  norm: 'layernorm',
  ffn: 'gelu_tanh',
  position: 'learned',
  bias_qkv: true,
  bias_attn_out: true,
  bias_ffn: true,
};

/**
 * A web server on this machine for one test.
 * @param {(request: any, response: any) => void} handler
 */
export async function serve(handler) {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  server.unref(); // so that the process ends even when a failing test leaves the server open
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The logits after three tokens, of a model that is loaded for this alone. */
export async function logitsOf(source, options) {
  const model = await load(source, options);
  try {
    return [...(await model.forward([1, 2, 3])).logits.data];
  } finally {
    model.dispose();
  }
}
