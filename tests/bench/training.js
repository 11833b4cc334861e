// training.js - the speed of training in Node with one and with two threads, in turn, in one process
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { median } from './tables.js';

/** Two models, the options of their runs, and the steps of one turn. */
const RUNS = {
  'Llama, 4 layers of 128': [
    { d_model: 128, n_layers: 4, n_heads: 4, n_kv_heads: 2, d_ff: 384, context_length: 128 },
    { batchTokens: 1024, vocabSize: 512 },
    3,
  ],
  'GPT-2, 2 layers of 64': [
    { d_model: 64, n_layers: 2, n_heads: 4, d_ff: 256, norm: 'layernorm', ffn: 'gelu_tanh', position: 'learned' },
    { batchTokens: 1024, vocabSize: 512 },
    10,
  ],
};

/** Milliseconds of processor time of each thread of this process so far, by its number; Linux only. */
function threadTimes() {
  const times = new Map();
  if (process.platform !== 'linux') return times;
  for (const thread of readdirSync('/proc/self/task')) {
    const [, , , , , , , , , , , user, system] = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    times.set(thread, 10 * (Number(user) + Number(system)));
  }
  return times;
}

/** Processor time of the busiest thread during a call: the time that the call takes where each has a core of its own. */
async function busiest(call) {
  const before = threadTimes();
  await call();
  return Math.max(...[...threadTimes()].map(([thread, ms]) => ms - (before.get(thread) ?? 0)));
}

/**
 * Print tokens per second with one and two threads, and the ratio of two to one.
 * @param {string} top  the checkout
 * @param {number} rounds
 */
export async function measureTraining(top, rounds) {
  const { train } = await import(pathToFileURL(join(top, 'web/lib/api/index.js')).href);
  const text = readFileSync(join(top, 'tests/golden/text/stories.txt'), 'utf8');
  for (const [name, [config, options, steps]] of Object.entries(RUNS)) {
    const runs = [1, 2].map((threads) => train(config, text, { ...options, steps: 1e6, threads }));
    const speeds = [[], []],
      times = [[], []];
    for (let round = 0; round <= rounds; round++)
      for (const [i, run] of runs.entries()) {
        run.resume();
        const turn = async () => {
          for (let n = 0; n < steps; n++) {
            const { value } = await run.next();
            if (round) speeds[i].push(value.tokensPerSecond);
          }
        };
        const ms = await busiest(turn);
        if (round) times[i].push(ms); // the first round warms up
        run.pause();
        await run.checkpoint(); // waits for the step that the run computes ahead
      }
    for (const run of runs) await run.dispose();
    const best = speeds.map((list) => Math.max(...list));
    const ratio = median(times[0]) / median(times[1]);
    console.log(
      `${name}: ${best.map((x) => x.toFixed(0)).join(' and ')} tokens/s with one and two threads, ` +
        `${(best[1] / best[0]).toFixed(2)} times` +
        (process.platform === 'linux' ? `; by processor time of the busiest thread ${ratio.toFixed(2)} times` : ''),
    );
  }
}
