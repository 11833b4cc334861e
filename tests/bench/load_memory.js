// load_memory.js - how much memory a load takes at its peak: a GGUF of 500 MB in Q4_K, and a PyTorch file with tensors
// that are stored transposed
//
//   node tests/bench/load_memory.js [MB]
//
// The files are synthetic and written to the system's temporary folder. Each load runs in a process of its own, from a
// path and from a server. The bound is the weights in memory plus the largest tensor; what the process has before the
// load, with the compiled engine, is not counted. Linux only: peaks are VmHWM of /proc/self/status.
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { f32, ggufHeader, text, u32 } from '../../web/lib/files/gguf/write_gguf.js';
import { serve } from '../../scripts/serve.js';
import { load } from '../../web/lib/api/index.js';
import { archive, op, pickle, tensorOps } from '../node/checkpoint_files.js';

const MB = 1e6;
const D = 2048;
const FF = 5632;
const VOCAB = 32000;

/** Peak and present size of this process, in bytes. */
function memory() {
  const status = readFileSync('/proc/self/status', 'utf8');
  const of = (/** @type {string} */ key) => 1024 * Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)?.[1]);
  return { peak: of('VmHWM'), now: of('VmRSS') };
}

/** The child: load once and report. */
async function measure(source, options) {
  const small = await load(fileURLToPath(new URL('../../weights/stories-1m.gguf', import.meta.url)));
  small.dispose(); // the engine is compiled, the readers are loaded
  globalThis.gc?.();
  const before = memory().now;
  const model = await load(source, options);
  const { peak } = memory();
  const weights = model.memory.regions.find((region) => region.name === 'weights')?.bytes ?? 0;
  const linear = model.memory.totalBytes;
  await model.forward([1, 2, 3]);
  console.log(JSON.stringify({ before, peak, weights, linear }));
  model.dispose();
}

/**
 * Write a GGUF whose matrices are Q4_K.
 * @param {string} path
 * @param {number} about  bytes
 */
export function writeQ4K(path, about) {
  const layer = ((4 * D * D + 3 * D * FF) * 144) / 256;
  const layers = Math.max(1, Math.round((about - (VOCAB * D * 144) / 256) / layer));
  const meta = {
    'general.architecture': text('llama'),
    'llama.context_length': u32(128),
    'llama.embedding_length': u32(D),
    'llama.block_count': u32(layers),
    'llama.feed_forward_length': u32(FF),
    'llama.attention.head_count': u32(16),
    'llama.attention.layer_norm_rms_epsilon': f32(1e-5),
  };
  const block = (/** @type {number} */ l) =>
    /** @type {[string, number[]][]} */ ([
      ['attn_norm', [D]],
      ['ffn_norm', [D]],
      ['attn_q', [D, D]],
      ['attn_k', [D, D]],
      ['attn_v', [D, D]],
      ['attn_output', [D, D]],
      ['ffn_gate', [FF, D]],
      ['ffn_up', [FF, D]],
      ['ffn_down', [D, FF]],
    ]).map(([name, shape]) => /** @type {[string, number[]]} */ ([`blk.${l}.${name}`, shape]));
  const all = /** @type {[string, number[]][]} */ ([
    ['token_embd', [VOCAB, D]],
    ...Array.from({ length: layers }, (_, l) => block(l)).flat(),
    ['output_norm', [D]],
  ]);
  const tensors = all.map(([name, shape]) => ({
    name: `${name}.weight`,
    shape,
    type: /** @type {any} */ (shape.length === 2 ? 'Q4_K' : 'F32'),
    bytes: shape.length === 2 ? (shape[0] * shape[1] * 144) / 256 : 4 * D,
  }));
  const { header, padding } = ggufHeader(meta, tensors);
  const row = Buffer.alloc((FF * D * 144) / 256);
  for (let at = 0; at < row.length; at++) row[at] = (at * 31 + (at >> 7)) & 255;
  for (let at = 0; at < row.length; at += 144) {
    row.writeUInt16LE(0x0c00, at); // 2^-12
    row.writeUInt16LE(0x0800, at + 2);
  }
  const gain = Buffer.from(new Float32Array(D).fill(1).buffer);
  const file = openSync(path, 'w');
  writeSync(file, header);
  for (const [i, { type, bytes }] of tensors.entries()) {
    const from = type === 'F32' ? gain : row;
    for (let left = bytes; left > 0; left -= from.length) writeSync(file, from, 0, Math.min(left, from.length));
    writeSync(file, Buffer.alloc(padding[i]));
  }
  closeSync(file);
}

/**
 * Write a nanoGPT of f32 whose matrices are stored transposed.
 * @param {string} path
 * @param {number} layers
 */
function writeTorch(path, layers) {
  const d = 1024;
  /** @type {[string, number[]][]} */
  const all = [
    ['wte', [8192, d]],
    ['wpe', [64, d]],
    ...Array.from({ length: layers }, (_, l) =>
      /** @type {[string, number[]][]} */ ([
        ['ln_1', [d]],
        ['attn.c_attn', [3 * d, d]],
        ['attn.c_proj', [d, d]],
        ['ln_2', [d]],
        ['mlp.c_fc', [4 * d, d]],
        ['mlp.c_proj', [d, 4 * d]],
      ]).map(([name, shape]) => /** @type {[string, number[]]} */ ([`h.${l}.${name}`, shape])),
    ).flat(),
    ['ln_f', [d]],
  ];
  const pairs = all.map(([name, shape], i) => [
    op.text(`transformer.${name}.weight`),
    tensorOps({
      key: String(i),
      shape,
      strides: shape.length === 2 ? [1, shape[0]] : [1],
      numel: shape.reduce((a, b) => a * b, 1),
    }),
  ]);
  // The head and the tail of an archive with empty entries, and the entries between them as torch.save writes them.
  const file = openSync(path, 'w');
  let at = 0;
  /** @type {{name: string, size: number, start: number}[]} */
  const seen = [];
  const entry = (/** @type {string} */ name, /** @type {Uint8Array[]} */ pieces) => {
    const size = pieces.reduce((n, p) => n + p.length, 0);
    const one = archive([[name, new Uint8Array(0)]]); // its local header, then the directory
    const header = Buffer.from(one.subarray(0, Buffer.from(one).indexOf('PK\x01\x02')));
    const descriptor = Buffer.alloc(16);
    descriptor.writeUInt32LE(0x08074b50, 0);
    descriptor.writeUInt32LE(size, 8);
    descriptor.writeUInt32LE(size, 12);
    seen.push({ name, size, start: at });
    for (const piece of [header, ...pieces, descriptor]) at += writeSync(file, piece);
  };
  entry('data.pkl', [pickle(op.dict(pairs))]);
  const values = new Float32Array(1 << 20);
  for (let i = 0; i < values.length; i++) values[i] = ((i * 7919) % 2001) / 1e5 - 0.01;
  const bytes = new Uint8Array(values.buffer);
  for (const [i, [, shape]] of all.entries()) {
    const pieces = [];
    for (let left = 4 * shape.reduce((a, b) => a * b, 1); left > 0; left -= bytes.length)
      pieces.push(bytes.subarray(0, Math.min(left, bytes.length)));
    entry(`data/${i}`, pieces);
  }
  const wrong = (/** @type {string} */ name) => seen.find((e) => e.name === name) ?? {};
  const tail = Buffer.from(
    archive(
      seen.map(({ name }) => [name, new Uint8Array(0)]),
      { wrong },
    ),
  );
  writeSync(file, tail.subarray(tail.indexOf('PK\x01\x02')));
  closeSync(file);
}

/** Run the child. */
const child = (/** @type {string} */ source, /** @type {object} */ options) =>
  new Promise((resolve, reject) => {
    const run = spawn(
      process.execPath,
      ['--expose-gc', fileURLToPath(import.meta.url), '--child', source, JSON.stringify(options)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let out = '';
    run.stdout.on('data', (chunk) => (out += chunk));
    run.on('exit', (code) => (code ? reject(new Error(`exit ${code}`)) : resolve(JSON.parse(out))));
  });

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'glassformer-memory-'));
  const server = await serve(folder, { isolate: false });
  try {
    const size = Number(process.argv[2] ?? 500) * MB;
    writeQ4K(join(folder, 'q4k.gguf'), size);
    writeTorch(join(folder, 'strided.pt'), Math.max(1, Math.round(size / 2 / (12 * 1024 * 1024 * 4))));
    const config = { n_head: 16 };
    const fixed = (/** @type {number} */ n) => (n / MB).toFixed(0).padStart(6);
    console.log(
      'MB: file, weights in memory, largest tensor of the file, linear memory, peak of the load, its share of the bound',
    );
    const [embedding, table] = [(VOCAB * D * 144) / 256, 4 * 8192 * 1024]; // the largest tensors of the two files
    for (const [name, options, tensor] of /** @type {[string, object, number][]} */ ([
      ['q4k.gguf', {}, embedding],
      ['strided.pt', { config }, table],
      ['strided.pt', { config, dtype: 'q8_0' }, table],
    ]))
      for (const place of [`${folder}/`, server.url]) {
        const { before, peak, weights, linear } = await child(place + name, options);
        const used = peak - before;
        const stored = statSync(join(folder, name)).size;
        const sizes = [stored, weights, tensor, linear, used].map(fixed).join(' ');
        const way = place === server.url ? 'from a server' : 'from a path';
        console.log(`${sizes}  ${(used / (weights + tensor)).toFixed(2)}  ${name} ${JSON.stringify(options)} ${way}`);
      }
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const isMain = process.argv[1] === fileURLToPath(import.meta.url);
if (isMain && process.argv[2] === '--child') await measure(process.argv[3], JSON.parse(process.argv[4]));
else if (isMain) await main();
