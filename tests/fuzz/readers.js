// readers.js - fuzzes the package's file readers with wrong files
//
//   node tests/fuzz/readers.js [--seconds N] [--cases N] [--seed N] [--case N]
//
// A case depends on the seed and its number only. It must succeed or throw a GlassformerError. Any other error, a hang,
// or memory out of proportion to the input is a finding, whose files are written to build/fuzz. A separate thread runs
// the cases, so that a hang is detected from outside.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { CODES } from '../../web/lib/base/codes.js';
import { GlassformerError } from '../../web/lib/base/errors.js';
import { jsonCopy } from '../../web/lib/base/checks.js';
import { openCheckpoint, openTokenizer } from '../../web/lib/files/source.js';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { runFromCommandLine } from './command_line.js';
import { Random, mutateBytes, mutateJson, nest } from './mutate.js';
import { runStores } from './stores.js';
import { bins, ggufBytes, ggufs, models, pieceFiles, safetensorsBytes, torchFiles } from './seeds.js';
import { tokenizerBin, tokenizers } from './tokenizer_seeds.js';
import { partsOf } from './parts.js';
import { runTorchCase, torchCase } from './torch_cases.js';

/**
 * A case hangs when it exceeds this processor time, or this much longer wall-clock time: a busy machine is not a
 * finding.
 */
const CPU_MS = 15_000,
  WALL_MS = 150_000;
/** Limit of uncollected bytes after a case: a constant, and bytes for each byte of its input. */
const ROOM = 1 << 26,
  PER_BYTE = 200;

/** @typedef {{kind: string, files: Record<string, Uint8Array>}} Case */

// ---- generating a case

const utf8 = (/** @type {unknown} */ value) => new TextEncoder().encode(JSON.stringify(value));
const right = {
  gguf: ggufs.map(ggufBytes),
  bins,
  tokenizers: tokenizers.map(utf8),
  safetensors: models.map((m) => safetensorsBytes(m.header)),
};

/**
 * Mutate as a value, as bytes, or both.
 * @template T
 * @param {Random} r
 * @param {T} value
 * @param {(value: T) => Uint8Array} write
 * @param {Uint8Array} other
 */
function wrong(r, value, write, other) {
  const how = r.below(4),
    copy = structuredClone(value);
  let bytes = write(value);
  if (how) {
    mutateJson(r, copy);
    try {
      bytes = write(copy);
    } catch {
      /* what no writer can write */
    }
  }
  if (write === utf8 && !r.below(40)) return nest(r, bytes);
  return how < 2 ? mutateBytes(r, bytes, other) : bytes;
}

/** Opcodes of pickles, also those that are refused. */
const OPCODES = [...'(0123.FIKJLMNPQRSTUVXabcdeghijloprstu})]GqBC']
  .map((c) => c.charCodeAt(0))
  .concat(Array.from({ length: 25 }, (_, i) => 0x80 + i));

/**
 * A file in which some bytes of the pickle are other opcodes, or stand twice.
 * @param {Random} r
 * @param {Uint8Array} bytes
 */
function wrongPickle(r, bytes) {
  const b = Uint8Array.from(bytes);
  const begin = 30 + b[26] + 256 * b[27] + b[28] + 256 * b[29];
  const length = Math.max(1, Buffer.from(b).indexOf('PK\x07\x08', begin) - begin);
  do {
    const at = begin + r.below(length);
    if (r.below(3)) b[at] = r.of(OPCODES);
    else b.copyWithin(at, begin + r.below(length), begin + length);
  } while (r.below(4));
  return b;
}

/** @type {Record<string, (r: Random) => Record<string, Uint8Array>>} */
const kinds = {
  gguf: (r) => ({ 'model.gguf': wrong(r, r.of(ggufs), ggufBytes, r.of(right.gguf)) }),
  bin: (r) => ({ 'model.bin': mutateBytes(r, r.of(bins), r.of(bins)) }),
  /** Files of torch.save: any bytes, or opcodes of the pickle. */
  torch(r) {
    const bytes = r.of(torchFiles);
    return { 'model.pt': r.below(3) ? mutateBytes(r, bytes, r.of(torchFiles)) : wrongPickle(r, bytes) };
  },
  /** Whole files of torch.save that say something wrong of their tensors. */
  views(r) {
    const { config, header } = r.of(models);
    const { torch, plain } = torchCase(r, header);
    return { 'model.pt': torch, 'config.json': utf8(config), ...(plain && { 'model.safetensors': plain }) };
  },
  /** A GGUF in parts, of which one is wrong, missing or there twice. */
  parts(r) {
    const files = partsOf(r.of(ggufs), 2 + r.below(3));
    const names = Object.keys(files);
    const one = r.of(names);
    if (!r.below(4)) delete files[one];
    else if (!r.below(4)) files[one] = files[r.of(names)];
    else files[one] = mutateBytes(r, files[one], files[r.of(names)]);
    return files;
  },
  /** Tensors without a configuration. */
  bare(r) {
    const { config, header } = r.of(models);
    const { num_attention_heads: _, ...fewer } = config;
    return {
      'model.safetensors': r.below(2) ? safetensorsBytes(header) : wrong(r, header, safetensorsBytes, right.bins[0]),
      'options.json': r.below(2) ? utf8(fewer) : wrong(r, fewer, utf8, right.bins[0]),
    };
  },
  safetensors(r) {
    const { config, header } = r.of(models),
      whole = safetensorsBytes(header);
    return {
      'model.safetensors': r.below(2) ? whole : wrong(r, header, safetensorsBytes, r.of(right.safetensors)),
      'config.json': r.below(3) ? wrong(r, config, utf8, whole) : utf8(config),
    };
  },
  folder(r) {
    const { config, header } = r.of(models),
      entries = Object.entries(header).filter(([name]) => name !== '__metadata__'),
      half = entries.length >> 1;
    const index = {
      weight_map: Object.fromEntries(entries.map(([name], i) => [name, i < half ? 'a.safetensors' : 'b.safetensors'])),
    };
    const shard = (/** @type {[string, any][]} */ part) => {
      let at = 0;
      return safetensorsBytes(
        Object.fromEntries(
          part.map(([name, t]) => {
            const n = t.data_offsets[1] - t.data_offsets[0];
            return [name, { ...t, data_offsets: [at, (at += n)] }];
          }),
        ),
      );
    };
    const files = {
      'config.json': utf8(config),
      'model.safetensors.index.json': utf8(index),
      'a.safetensors': shard(entries.slice(0, half)),
      'b.safetensors': shard(entries.slice(half)),
      ...(r.below(2) ? pieceFiles : { 'tokenizer.json': utf8(r.of(tokenizers)) }),
      'generation_config.json': utf8({
        eos_token_id: [1, 2],
        decoder_start_token_id: 0,
        forced_bos_token_id: 3,
        bad_words_ids: [[4], [5, 6]],
      }),
      'tokenizer_config.json': utf8({ chat_template: [{ name: 'default', template: 'x' }], extra_ids: 2 }),
    };
    const one = /** @type {keyof typeof files} */ (r.of(Object.keys(files))),
      bytes = files[one];
    return {
      ...files,
      [one]: one.endsWith('.json')
        ? wrong(r, JSON.parse(new TextDecoder().decode(bytes)), utf8, bytes)
        : mutateBytes(r, bytes, bytes),
    };
  },
  tokenizer: (r) => ({ 'tokenizer.json': wrong(r, r.of(tokenizers), utf8, r.of(right.tokenizers)) }),
  'tokenizer.bin': (r) => ({ 'tokenizer.bin': mutateBytes(r, tokenizerBin, tokenizerBin) }),
  /** The file that a server has and that a cache is to keep. */
  store: (r) => ({ 'model.gguf': r.of(right.gguf) }),
};

/**
 * @param {number} seed
 * @param {number} n
 * @returns {Case}
 */
function makeCase(seed, n) {
  const r = new Random(seed, n),
    kind = r.of(Object.keys(kinds));
  return { kind, files: kinds[kind](r) };
}

// ---- running a case

const TEXTS = ['', 'a', "the abc's 42\n\n  ab\u0000", 'ünï 日本 😀 <s> <|endoftext|>'];

/** @param {object} json */
function useTokenizer(json) {
  const tokenizer = new Tokenizer(json);
  for (const text of TEXTS) {
    let ids;
    try {
      ids = tokenizer.encode(text);
    } catch (e) {
      expected(e);
      continue;
    }
    tokenizer.decode(ids);
    tokenizer.decode(ids, { skipSpecialTokens: true });
    const stream = tokenizer.stream();
    for (const id of ids) stream.push(id);
    stream.end();
  }
  for (let id = 0; id < Math.min(tokenizer.vocabSize, 20); id++) tokenizer.idToText(id);
}

/**
 * Throw any error that is not a proper refusal.
 * @param {unknown} e
 */
function expected(e) {
  if (!(e instanceof GlassformerError) || !Object.hasOwn(CODES, e.code)) throw e;
  if (!e.message || e.message.length > 2000)
    throw new Error(`a refusal of ${e.message.length} characters: ${e.message.slice(0, 200)}`);
}

/**
 * Options of a checkpoint without a configuration.
 * @param {Uint8Array} json
 * @param {number} way
 */
function bareOptions(json, way) {
  let config;
  try {
    config = JSON.parse(new TextDecoder().decode(json));
  } catch {
    return {};
  }
  if (config === null || typeof config !== 'object' || Array.isArray(config)) return {};
  const names = { 'blocks.N.attn.q': 'model.layers.N.self_attn.q_proj', embed: 'model.embed_tokens' };
  return { config, ...(way === 2 && { names }) };
}

/**
 * The source of a case: bytes, files, or an address whose server sends no Content-Length.
 * @param {Case} c
 * @param {number} way
 * @returns {[any, object]}
 */
function sourceOf({ kind, files }, way) {
  const list = Object.entries(files).map(([name, bytes]) => new File([bytes], name));
  if (kind === 'folder') return [list, {}];
  if (kind === 'parts') return [way ? list : { weights: Object.values(files) }, {}];
  if (kind === 'torch') return [list[0], { config: { n_head: 2, n_heads: 2, pre_norm: true } }];
  if (kind === 'bare') return [files['model.safetensors'], bareOptions(files['options.json'], way)];
  const [file] = list,
    [bytes] = Object.values(files);
  const fetch = async () =>
    new Response(
      new ReadableStream({
        start(to) {
          for (let i = 0; i < bytes.length; i += 1000) to.enqueue(bytes.subarray(i, i + 1000));
          to.close();
        },
      }),
    );
  const weights = [bytes, file, `https://files.test/${file.name}`][way];
  return [kind === 'safetensors' ? { weights, config: files['config.json'] } : weights, { fetch }];
}

/**
 * @param {Case} c
 * @param {Random} r
 */
async function runCase(c, r) {
  if (c.kind === 'store') return runStores(r, Object.values(c.files)[0]);
  if (c.kind === 'views') return runTorchCase(c.files).catch(expected);
  const way = r.below(3);
  const [source, options] = sourceOf(c, way);
  try {
    if (c.kind.startsWith('tokenizer')) return useTokenizer(await openTokenizer(source, options));
    if (options.config) options.config = jsonCopy(options.config, 'config'); // as load does
    const checkpoint = await openCheckpoint(source, options);
    await checkpoint.stream({ begin() {}, write() {}, end() {} });
    if (checkpoint.tokenizer) useTokenizer(checkpoint.tokenizer);
  } catch (e) {
    expected(e);
  }
}

/** Bytes that are held now. */
function held() {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

async function runCases() {
  const { seed, first, cases, seconds, progress } = workerData;
  const end = performance.now() + 1000 * seconds;
  for (let n = first; n < first + cases && performance.now() < end; n++) {
    progress[0] = n;
    const c = makeCase(seed, n),
      size = Object.values(c.files).reduce((sum, b) => sum + b.length, 0),
      before = held();
    try {
      await runCase(c, new Random(seed, -n - 2));
      const grown = held() - before;
      if (grown > ROOM + PER_BYTE * size) throw new Error(`memory grew by ${grown} bytes for an input of ${size}`);
    } catch (e) {
      return parentPort?.postMessage({ n, why: e instanceof Error ? e.stack : String(e) });
    }
  }
  parentPort?.postMessage({ n: progress[0] + 1 });
}
if (!isMainThread && workerData?.fuzz) await runCases();

// ---- detecting hangs

/**
 * Run cases one after the other until the first finding, or until the time or the number of cases is reached.
 * @param {{seed?: number, first?: number, cases?: number, seconds?: number}} options
 * @returns {Promise<{cases: number, why?: string, folder?: string}>} why: a finding, in case number `cases`
 */
export async function fuzz({ seed = 1, first = 0, cases = Infinity, seconds = Infinity }) {
  const progress = new Float64Array(new SharedArrayBuffer(8));
  // the tokenizer library's warnings are not shown
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { fuzz: true, seed, first, cases, seconds, progress },
    resourceLimits: { maxOldGenerationSizeMb: 512 },
    stderr: true,
  });
  const cpuMs = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  let last = -1,
    cpu = 0,
    wall = 0,
    watch;
  const result = await new Promise((resolve) => {
    watch = setInterval(() => {
      if (progress[0] !== last) [last, cpu, wall] = [progress[0], cpuMs(), performance.now()];
      else if (cpuMs() - cpu > CPU_MS || performance.now() - wall > WALL_MS)
        resolve({ n: last, why: `no end after ${Math.round(performance.now() - wall)} ms` });
    }, 1000);
    worker.on('message', resolve);
    worker.on('error', (e) => resolve({ n: progress[0], why: e.stack }));
    worker.on('exit', () => resolve({ n: progress[0], why: 'the thread ended' }));
  });
  clearInterval(watch);
  await worker.terminate();
  if (!result.why) return { cases: result.n - first };
  const folder = fileURLToPath(new URL(`../../build/fuzz/readers-${seed}-${result.n}`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of Object.entries(makeCase(seed, result.n).files)) writeFileSync(`${folder}/${name}`, bytes);
  return { cases: result.n, why: result.why, folder };
}

if (isMainThread && process.argv[1] === fileURLToPath(import.meta.url)) await runFromCommandLine('readers', fuzz);
