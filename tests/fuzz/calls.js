// calls.js - fuzzes the package's public calls with wrong arguments
//
//   node tests/fuzz/calls.js [--seconds N] [--cases N] [--seed N] [--case N]
//
// A case is a sequence of the calls of tests/node/bad_inputs.js, some concurrent, some aborted, each valid except for a
// few values. A call must succeed or throw a GlassformerError; afterwards the models must generate the same text as
// before, with no session left. The same models serve a block of cases, in this thread or in a worker. --case repeats a case from the beginning of
// its block, because an earlier case may have damaged the model.
import { fileURLToPath } from 'node:url';
import { modelsWith } from '../node/bad_inputs.js';
import { KINDS, callOf, tried } from './call_cases.js';
import { runFromCommandLine } from './command_line.js';
import { Random } from './mutate.js';
import { some } from './values.js';

const HANG_MS = 60_000;
/** Cases that share a model. */
const BLOCK = 40;
/** Linear memory that a small model may take, whatever was asked of it: arguments of 2^24 entries among them. */
const MEMORY = 2 ** 30;
/**
 * The models of a block of cases, the text that they generate, and a check that they still generate it.
 * @param {Random} r
 */
async function opened(r) {
  const worker = !r.below(2);
  const models = await modelsWith({ worker, ...some(r, { kvDtype: r.of(['f16', 'q8_0']), threads: 1 }) }, r.of(KINDS));
  const writes = async () => {
    const { logits } = await models.plain.forward([1, 2, 3]);
    const { hidden } = await models.encoder.forward([1, 2, 3]);
    const ids = [];
    for await (const { id } of models.pair.generate([1], { source: [1, 2], maxTokens: 8, seed: 5 })) ids.push(id);
    return [logits, hidden]
      .map(({ data }) => Buffer.from(data.buffer).toString('hex'))
      .concat(String(ids))
      .join(' ');
  };
  return { models, writes, before: await writes(), worker };
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
async function runCase(seed, n, { models, writes, before, worker }) {
  const random = new Random(seed, n);
  const call = async () => {
    const { name, run, faults } = callOf(new Random(random.below(2 ** 31), n), models);
    try {
      await tried(run, faults);
    } catch (e) {
      throw new Error(`${name}${worker ? ' in a worker' : ''}: ${e instanceof Error ? e.stack : e}`);
    }
  };
  for (let calls = 1 + random.below(8); calls > 0; calls--) {
    if (random.below(5)) await call();
    else await Promise.all(Array.from({ length: 2 + random.below(3) }, call));
  }
  for (const [name, model] of Object.entries(models)) {
    const left = await heldBySessions(model);
    if (left) throw new Error(`${left} bytes of sessions of ${name} are left`);
    if (model.memory.totalBytes > MEMORY) throw new Error(`the engine of ${name} has ${model.memory.totalBytes} bytes`);
  }
  if ((await writes()) !== before) throw new Error('the models generate another text than before');
}

/** @param {Awaited<ReturnType<typeof opened>> | null} held */
const disposeAll = (held) => Object.values(held?.models ?? {}).forEach((model) => model.dispose());

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
          disposeAll(held);
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
    disposeAll(held);
  }
  return { cases: n - first };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runFromCommandLine('calls', fuzzCalls);
