// speeds.js - the runs of one visit, the same in a page and in Node

/**
 * @typedef {object} Run  medians of several runs of n prompt tokens and k new ones
 * @property {number} decode  tokens/s
 * @property {number} prefill  tokens/s
 * @property {number} cpu  processor time of one run, ms
 */

/**
 * Speeds, and with `cpu` the processor time of one token: for decoding the difference between a run with many new
 * tokens and one with a single one.
 * @param {(n: number, k: number, times: number) => Promise<Run>} measure
 * @param {{ contexts: number[], prefills: number[], cpu: boolean, times: number }} job  times: runs of each kind
 * @returns {Promise<Record<string, number>>}
 */
export async function measureSpeeds(measure, { contexts, prefills, cpu, times }) {
  const result = {};
  // Runs of long prompts take longer, and processor time is a sum over all runs: fewer of them are as exact.
  const timesOf = (n) => (cpu ? Math.max(1, Math.round(times * Math.min(1, 192 / n))) : times);
  const prompts = new Map(); // tokens of a prompt -> its run with one new token
  const prompt = async (n) => {
    if (!prompts.has(n)) prompts.set(n, await measure(n, 1, timesOf(n)));
    return prompts.get(n);
  };
  for (const n of contexts) {
    const k = n <= 64 ? 64 : cpu ? 128 : 32; // 128: enough beside the prompt's time, from which it is a difference
    const run = await measure(n, k, timesOf(n));
    result[`decode @${n}`] = run.decode;
    if (cpu) result[`CPU decode @${n}`] = (run.cpu - (await prompt(n)).cpu) / (k - 1);
  }
  for (const n of prefills) {
    const run = await prompt(n);
    result[`prefill ${n}`] = run.prefill;
    if (cpu) result[`CPU prefill ${n}`] = run.cpu / n;
  }
  return result;
}
