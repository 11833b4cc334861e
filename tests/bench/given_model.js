// given_model.js - the benchmark of a given GGUF file: what is measured beside this engine, and the rows of the README
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** @import { Contender } from './tables.js' */

const NATIVE = 'llama.cpp';

/**
 * This engine and wllama 3 in pages, and native llama.cpp where Python has it.
 * @param {number[]} threads
 * @returns {Contender[]}
 */
export const contendersFor = (threads) =>
  threads.flatMap((n) => {
    const suffix = n > 1 ? ` ${n}t` : '';
    return [
      { name: `glassformer${suffix}`, engine: 'glassformer', backend: 'auto', kvDtype: 'default', threads: n },
      { name: `wllama3${suffix}`, engine: 'wllama3', threads: n, library: '/wllama3/esm/' },
      { name: `${NATIVE}${suffix}`, engine: NATIVE, threads: n },
    ];
  });

export const isNative = (/** @type {Contender} */ c) => c.engine === NATIVE;

/**
 * A visit of native llama.cpp. $PYTHON names the interpreter; default: python3.
 * @param {string} file
 * @param {{threads: number, contexts: number[], prefills: number[], times: number}} job
 * @returns {Promise<Record<string, any>>}
 */
export function visitNative(file, job) {
  const script = fileURLToPath(new URL('native_llama.py', import.meta.url));
  return new Promise((done, failed) => {
    const child = spawn(process.env.PYTHON ?? 'python3', [script, file, JSON.stringify(job)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.on('error', failed);
    child.on('close', (status) => {
      if (status === 0) done(JSON.parse(output));
      else failed(new Error(status === 3 ? 'Python has no llama-cpp-python' : `Python ended with ${status}`));
    });
  });
}

/**
 * The rows of the README's table: this engine, wllama, their ratio, native llama.cpp.
 * @param {Contender[]} who
 * @param {string[]} measures
 * @param {(c: Contender, measure: string) => number | undefined} valueOf
 * @returns {string[]}
 */
export function readmeRows(who, measures, valueOf) {
  const shown = (/** @type {number | undefined} */ x) =>
    x === undefined ? '–' : x < 100 ? x.toFixed(1) : x.toFixed(0);
  return [...new Set(who.map(({ threads }) => threads))].flatMap((n) =>
    measures.map((measure) => {
      const [ours, peer, native] = ['glassformer', 'wllama3', NATIVE].map((engine) => {
        const c = who.find((one) => one.engine === engine && one.threads === n);
        return c && valueOf(c, measure);
      });
      const times = ours !== undefined && peer !== undefined ? (ours / peer).toFixed(1) : '–';
      const words = measure.replace('decode @', 'decode after ').replace('prefill ', 'prompt of ');
      return `| ${words} tokens, ${n === 1 ? 'one thread' : `${n} threads`} | ${shown(ours)} | ${shown(peer)} | ${times} | ${shown(native)} |`;
    }),
  );
}
