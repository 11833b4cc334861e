// calls.js - fuzzes the package's public calls with wrong arguments
//
//   node tests/fuzz/calls.js [--seconds N] [--cases N] [--seed N] [--case N]
//
// A case is a sequence of calls on one model, some concurrent, some aborted, each valid except for a few values. A call
// must succeed or throw a GlassformerError; afterwards the model must generate the same text as before, with no session
// left. One model serves a block of cases, in this thread or in a worker. --case repeats a case from the beginning of
// its block, because an earlier case may have damaged the model.
import { fileURLToPath } from 'node:url';
import { create } from '../../web/lib/api/index.js';
import { FAULTS, KINDS, callsOf, others, tried } from './call_cases.js';
import { runFromCommandLine } from './command_line.js';
import { Random } from './mutate.js';
import { some } from './values.js';

const HANG_MS = 60_000;
/** Cases that share a model. */
const BLOCK = 40;
/** Linear memory that a small model may take, whatever was asked of it: arguments of 2^24 entries among them. */
const MEMORY = 2 ** 30;
/**
 * The model of a block of cases, the text it generates, and a check that it still generates it.
 * @param {Random} r
 */
async function opened(r) {
  const config = r.of(KINDS),
    worker = !r.below(2),
    model = await create(config, {
      seed: 1,
      worker,
      ...some(r, { kvDtype: r.of(['f16', 'q8_0']), dtype: 'q8_0', threads: 1 }),
    });
  const two = config.kind === 'encoder_decoder' ? { source: [1, 2] } : {};
  const writes = async () => {
    const { logits, hidden } = await model.forward([1, 2, 3], two),
      bits = Buffer.from((logits ?? hidden).data.buffer).toString('hex');
    if (config.kind === 'encoder') return bits;
    const ids = [];
    for await (const { id } of model.generate([1, 2, 3], { ...two, maxTokens: 8, seed: 5, temperature: 0.9 }))
      ids.push(id);
    return `${ids} ${bits}`;
  };
  return { model, config, writes, before: await writes(), worker };
}

/**
 * Bytes of sessions, after waiting for stopped calls to end.
 * @param {any} model
 */
async function heldBySessions(model) {
  for (let waited = 0; ; waited += 20) {
    await model.points(); // each answer updates the memory figures
    const { bytes } = model.memory.regions.find((/** @type {any} */ region) => region.name === 'kv cache');
    if (!bytes || waited > 2000) return bytes;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * @param {number} seed
 * @param {number} n
 * @param {Awaited<ReturnType<typeof opened>>} held
 */
async function runCase(seed, n, { model, config, writes, before, worker }) {
  const random = new Random(seed, n),
    r = random;
  if (!r.below(6)) {
    const free = others(r),
      name = r.of(Object.keys(free).filter((k) => !/train|depth/.test(k) || !r.below(10)));
    return tried(free[/** @type {keyof typeof free} */ (name)]);
  }
  const call = async () => {
    const r = new Random(random.below(2 ** 31), n),
      all = callsOf(r, model, config),
      name = r.of(Object.keys(all));
    try {
      await tried(all[/** @type {keyof typeof all} */ (name)], [...FAULTS, 'worker', 'out-of-memory']);
    } catch (e) {
      throw new Error(`${name}${worker ? ' in a worker' : ''}: ${e instanceof Error ? e.stack : e}`);
    }
  };
  for (let calls = 1 + r.below(8); calls > 0; calls--) {
    if (r.below(5)) await call();
    else await Promise.all(Array.from({ length: 2 + r.below(3) }, call));
  }
  const left = await heldBySessions(model);
  if (left) throw new Error(`${left} bytes of sessions are left`);
  if ((await writes()) !== before) throw new Error('the model generates another text than before');
  if (model.memory.totalBytes > MEMORY) throw new Error(`the engine's memory has ${model.memory.totalBytes} bytes`);
}

/**
 * Run cases one after the other until the first finding, or until the time or the number of cases is reached.
 * @param {{seed?: number, first?: number, cases?: number, seconds?: number}} options
 * @returns {Promise<{cases: number, why?: string}>} why: a finding, in case number `cases`
 */
export async function fuzzCalls({ seed = 1, first = 0, cases = Infinity, seconds = Infinity }) {
  const end = performance.now() + 1000 * seconds,
    begin = first - (first % BLOCK);
  /** @type {Awaited<ReturnType<typeof opened>> | null} */
  let held = null;
  let n = begin;
  try {
    for (; n < first + cases && performance.now() < end; n++) {
      let watch;
      const late = new Promise((_, reject) => {
        watch = setTimeout(() => reject(new Error(`no end after ${HANG_MS / 1000} s`)), HANG_MS);
      });
      try {
        if (!held || n % BLOCK === 0) {
          held?.model.dispose();
          held = await opened(new Random(seed, -1 - Math.floor(n / BLOCK)));
        }
        await Promise.race([runCase(seed, n, held), late]);
      } catch (e) {
        return { cases: n, why: e instanceof Error ? e.stack : String(e) };
      } finally {
        clearTimeout(watch);
      }
    }
  } finally {
    held?.model.dispose();
  }
  return { cases: n - first };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runFromCommandLine('calls', fuzzCalls);
