// pace.js - what the pace keeper of the threads (src/base/pace.h) measures and decides while a model writes, in Node
//
// A run loads the model in a worker of its own, which is the engine's, and reads the keeper after each token.
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { median } from './tables.js';
import { promptIds } from './prompt.js';

/** Modes by the number of enum gf_pace_state. */
const MODES = ['with helpers', 'tries alone', 'alone', 'tries helpers', 'proves alone', 'proves helpers'];
const [HELPED, TRIES_ALONE, ALONE, PROVES_ALONE] = [0, 1, 2, 4];
const isTrial = (/** @type {number} */ state) => state !== HELPED && state !== ALONE;
/** A run ends in the wrong mode where the other one was faster by more than this. */
const NOISE = 1.05;
/** Tokens of one text of a run. */
const STRETCH = 100;

/**
 * The decisions in the samples of a run, and whether it ends in the mode whose tokens were faster.
 * @param {{ms: number | null, state: number, kept: number, trial: number, slow: number, solo: number}[]} samples  one a token:
 *   how long it took (null: with the prefill), and the keeper after it
 */
export function decisionsOf(samples) {
  const decisions = [];
  /** Durations with helpers, and without. @type {[number[], number[]]} */
  const times = [[], []];
  for (let i = 1; i < samples.length; i++) {
    const [before, now] = [samples[i - 1], samples[i]];
    if (now.ms !== null)
      times[before.solo || [TRIES_ALONE, ALONE, PROVES_ALONE].includes(before.state) ? 1 : 0].push(now.ms);
    if (isTrial(before.state) && !isTrial(now.state))
      decisions.push({
        token: i,
        mode: MODES[now.state],
        tried: MODES[before.state],
        kept: before.kept,
        ...trialOf(now),
      });
    if (now.solo > before.solo) decisions.push({ token: i, mode: `alone for ${now.solo} jobs`, tried: 'stall' });
  }
  const [helped, alone] = times.map((list) => (list.length ? median(list) : null));
  const last = samples.at(-1);
  const rests = last.state === ALONE || last.solo > 0;
  const [own, other] = rests ? [alone, helped] : [helped, alone];
  return { decisions, helped, alone, rests, wrong: own !== null && other !== null && own > NOISE * other };
}

const trialOf = ({ trial, slow }) => ({ trial, slow });

/** One run, as a line for each decision and one for the whole. */
function print(run, { decisions, helped, alone, rests, wrong }) {
  const ms = (x) => (x === null || x === undefined ? '-' : x.toFixed(2));
  for (const { token, mode, tried, kept, trial, slow } of decisions) {
    const why =
      tried === 'stall'
        ? 'a helper was suspended in the middle of a tile, twice within 1,024 jobs'
        : `${tried}: ${slow === 4 ? 'four slow tokens in a row' : `${ms(trial)} ms`}, kept ${ms(kept)} ms`;
    console.log(`  run ${run}, token ${token}: ${mode} (${why})`);
  }
  console.log(
    `run ${run}: ends ${rests ? 'alone' : 'with helpers'}; ms a token with helpers ${ms(helped)}, alone ${ms(alone)}` +
      (wrong ? '  WRONG' : ''),
  );
}

/**
 * Print what the keeper decides in several runs.
 * @param {string} library  the folder of the package's sources
 * @param {string} file  of the model
 * @param {{runs: number, threads: number, tokens: number}} options
 */
export async function measurePace(library, file, { runs, threads, tokens }) {
  let wrong = 0;
  for (let run = 1; run <= runs; run++) {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { library, file, threads, tokens } });
    const samples = await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    await worker.terminate();
    const found = decisionsOf(samples);
    wrong += Number(found.wrong);
    print(run, found);
  }
  console.log(
    `${wrong} of ${runs} runs ended in the mode that was slower by more than ${Math.round(100 * NOISE - 100)} %`,
  );
}

/** The engine's side: loads the model with helpers and samples the keeper. */
async function engineSide({ library, file, threads, tokens }) {
  const part = (path) => import(pathToFileURL(join(library, path)).href);
  const [{ loadModel }, { engineModule }, { packageFiles }] = await Promise.all(
    ['run/load_model.js', 'engine/binary.js', 'api/package_files.js'].map(part),
  );
  let pool = 0;
  const joined = [];
  const onHelper = ({ job }) =>
    joined.push(
      new Promise((resolve) =>
        job.once('message', (data) => {
          pool = data.pool;
          const helper = new Worker(fileURLToPath(import.meta.url), { workerData: { library, job: data } });
          helper.once('message', resolve);
        }),
      ),
    );
  const engine = engineModule(packageFiles, { threaded: true });
  const model = await loadModel(file, { threads, contextLength: 1280 }, { engine, onHelper, helper: import.meta.url });
  await Promise.all(joined);
  const { x, memory } = model.engine;
  const out = x.gf_abi_alloc(48) >>> 0;
  const samples = [];
  let last = 0;
  // short texts, so that tokens take equal times at the beginning and at the end
  for (let left = tokens; left > 0; left -= STRETCH) {
    const options = { maxTokens: STRETCH, temperature: 0, ignoreEos: true };
    let isFirst = true;
    for await (const _ of model.generate(promptIds(64), options, {})) {
      const ms = isFirst ? null : performance.now() - last; // the first one comes with the prefill
      x.gf_pool_state(pool, out);
      const [state, , kept, trial, slow, solo] = new Float64Array(memory.buffer, out, 6);
      samples.push({ ms, state, kept, trial, slow, solo });
      isFirst = false;
      last = performance.now();
    }
  }
  parentPort.postMessage(samples);
}

if (!isMainThread && workerData?.job) {
  const { help } = await import(pathToFileURL(join(workerData.library, 'engine/thread.js')).href);
  help(workerData.job, (message) => parentPort.postMessage(message));
} else if (!isMainThread && workerData?.tokens) await engineSide(workerData);
