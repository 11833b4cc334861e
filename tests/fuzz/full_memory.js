// full_memory.js - random calls of the engine's shipped binaries in memory that is nearly full
//
//   node tests/fuzz/full_memory.js [--seconds N] [--cases N] [--seed N] [--case N]
//
// A case opens the same random model in two engines and runs one sequence of calls in both. The memory of the first
// ends at 4 GiB, or at a few MiB, and has up to 1 MiB free, so that a call may be refused at any of its allocations. A refused call must leave its session as it was; any other call must give the bits of the second
// engine, which has memory enough. In the end all memory is free again.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Engine } from '../../web/lib/engine/engine.js';
import { chooseBackend } from '../../web/lib/engine/wasm_features.js';
import { limited, wasmFile } from '../node/wasm_file.js';
import { runFromCommandLine } from './command_line.js';
import { loadBoth, randomModel, step } from './memory_steps.js';
import { Random } from './mutate.js';

/** @import { Tight } from './memory_steps.js' */

/** Steps of a case, and cases that share a memory. */
const STEPS = 250,
  BLOCK = 16;
/** Those that this Node can compile. */
const BINARIES = ['simd', 'simd-threads', ...(chooseBackend() === 'relaxed' ? ['relaxed', 'relaxed-threads'] : [])];
/** @type {Map<string, Promise<WebAssembly.Module>>} */
const modules = new Map();

/**
 * @param {string} name
 * @param {() => Uint8Array} [bytes]
 */
function module(name, bytes = () => readFileSync(wasmFile(name))) {
  if (!modules.has(name)) modules.set(name, WebAssembly.compile(/** @type {Uint8Array<ArrayBuffer>} */ (bytes())));
  return /** @type {Promise<WebAssembly.Module>} */ (modules.get(name));
}

/**
 * An engine whose memory ends at 4 GiB in one block of six, else, which is faster, at 40 or 80 pages.
 * @param {Random} r
 * @param {number} block
 * @returns {Promise<Tight>}
 */
async function tightEngine(r, block) {
  const pages = block % 6 ? 40 + 40 * r.below(2) : 0;
  const binary = r.of(pages ? BINARIES.filter((each) => !each.includes('threads')) : BINARIES);
  const name = pages ? `${binary} with ${pages} pages` : binary;
  const bytes = () => (pages ? limited(pages, binary) : readFileSync(wasmFile(binary)));
  return { engine: await Engine.start(await module(name, bytes), 1), plugs: [], name };
}

/**
 * Take all memory of an engine but about `spare` bytes, which are in pieces here and there.
 * @param {Tight} tight
 * @param {Random} r
 * @param {number} spare
 */
function fill({ engine, plugs }, r, spare) {
  for (let bytes = 2 ** 30; bytes >= 512; bytes = Math.floor(bytes / 2)) {
    for (let p; (p = engine.x.gf_abi_alloc(bytes) >>> 0);) plugs.push({ p, bytes });
  }
  for (let left = spare, tries = 0; left > 0 && plugs.length && tries < 1000; tries++) {
    const i = r.below(plugs.length);
    if (plugs[i].bytes > 2 * left) continue;
    left -= plugs[i].bytes;
    engine.x.gf_abi_free(plugs[i].p);
    plugs.splice(i, 1);
  }
}

/** @param {Tight} tight */
function unplug({ engine, plugs }) {
  for (const { p } of plugs.splice(0)) engine.x.gf_abi_free(p);
}

/**
 * The most bytes that one allocation can have.
 * @param {Engine} engine
 */
function largest({ x }) {
  let least = 0;
  for (let bit = 2 ** 31; bit >= 4096; bit /= 2) {
    const p = least + bit < 2 ** 32 ? x.gf_abi_alloc(least + bit) : 0;
    if (p) (x.gf_abi_free(p), (least += bit));
  }
  return least;
}

/**
 * @param {Random} r
 * @param {Tight} tight
 * @param {Engine} roomy
 * @returns {Promise<number>} steps
 */
async function runCase(r, tight, roomy) {
  const model = randomModel(r);
  const free = largest(tight.engine);
  const pairs = [];
  let steps = 0;
  tight.engine.scratch(2 ** 14); // else most calls are refused before they reach C
  for (; steps < STEPS; steps++) {
    if (!roomy.model || !r.below(60)) fill(tight, r, r.below(1 << (8 + r.below(13))));
    if (!roomy.model) {
      if (loadBoth(r, tight.engine, roomy, model)) continue;
      unplug(tight);
      if (!loadBoth(new Random(1, 1), tight.engine, roomy, model)) throw new Error('the model does not fit its memory');
    } else if (!r.below(30)) {
      unplug(tight);
    } else {
      step(r, tight, roomy, model, pairs);
    }
  }
  tight.engine.close();
  roomy.close();
  unplug(tight);
  const left = largest(tight.engine);
  if (left < free) throw new Error(`${free - left} bytes are not free any more`);
  return steps;
}

/**
 * Run cases one after the other until the first finding, or until the time or the number of cases is reached.
 * @param {{seed?: number, first?: number, cases?: number, seconds?: number}} options
 * @returns {Promise<{cases: number, steps: number, why?: string}>} why: a finding, in case number `cases`
 */
export async function fuzzFullMemory({ seed = 1, first = 0, cases = Infinity, seconds = Infinity }) {
  const end = performance.now() + 1000 * seconds;
  let n = first - (first % BLOCK),
    steps = 0;
  /** @type {Tight | undefined} */
  let tight;
  /** @type {any} */
  let roomy;
  for (; n < first + cases && performance.now() < end; n++) {
    const r = new Random(seed, n);
    if (!tight || n % BLOCK === 0) {
      const block = Math.floor(n / BLOCK),
        start = new Random(seed, -1 - block);
      tight = await tightEngine(start, block);
      roomy = await Engine.start(await module(start.of(BINARIES)), 1);
    }
    try {
      steps += await runCase(r, tight, roomy);
    } catch (e) {
      return { cases: n, steps, why: `${tight.name}: ${e instanceof Error ? e.stack : e}` };
    }
  }
  return { cases: n - first, steps };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runFromCommandLine('full_memory', fuzzFullMemory);
