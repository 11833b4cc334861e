// run.js - runs the fuzzer's targets in C under libFuzzer, one after the other, and prints a line for each
//
//   node tests/fuzz/coverage/run.js [SECONDS] [--keep] [TARGET...]    SECONDS: of each target; default: 60
//
// libFuzzer keeps inputs that reach new code. It starts from the target's seeds and from corpus/TARGET.gz, and --keep
// writes the smallest inputs that reach the same code back into that file. An input that fails is written to
// build/fuzz/TARGET-...; the exit status is then 1.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';

const TARGETS = ['model', 'session', 'run', 'checkpoint', 'weights', 'vocabulary', 'text', 'recipe', 'curve'];
/** Bytes of a corpus in the repository. */
const MOST_BYTES = 200_000;
/** Inputs longer than these bytes are not made; the seeds of `checkpoint` are the longest. */
const MOST_INPUT = 200_000;

const top = fileURLToPath(new URL('../../../', import.meta.url));
const program = join(top, 'build/native-fuzz/coverage');
const packed = (/** @type {string} */ target) => fileURLToPath(new URL(`corpus/${target}.gz`, import.meta.url));

/**
 * The inputs of a corpus, each after its length in 4 bytes.
 * @param {Buffer} file
 * @returns {Buffer[]}
 */
function unpack(file) {
  const bytes = gunzipSync(file);
  const inputs = [];
  for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32LE(at))
    inputs.push(bytes.subarray(at + 4, at + 4 + bytes.readUInt32LE(at)));
  return inputs;
}

/** @param {Buffer[]} inputs */
function pack(inputs) {
  const lengths = inputs.map((input) => Buffer.from(Uint32Array.of(input.length).buffer));
  return gzipSync(Buffer.concat(inputs.flatMap((input, i) => [lengths[i], input])), { level: 9 });
}

/** @param {string} folder */
function emptied(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * Run libFuzzer.
 * @param {string} target
 * @param {string[]} options
 */
function libfuzzer(target, options) {
  const env = { ...process.env, GF_TARGET: target };
  const { status, stderr } = spawnSync(program, options, { cwd: top, env, encoding: 'utf8', maxBuffer: 1 << 28 });
  return { status, log: stderr };
}

/**
 * Replace a target's corpus in the repository, the smallest inputs first.
 * @param {string} target
 * @param {string} found  folder of inputs
 */
function keep(target, found) {
  const folder = emptied(join(top, 'build/native-fuzz/merged'));
  libfuzzer(target, ['-merge=1', `-max_len=${MOST_INPUT}`, folder, found]);
  const inputs = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
  inputs.sort((a, b) => a.length - b.length || a.compare(b));
  let n = inputs.length;
  while (pack(inputs.slice(0, n)).length > MOST_BYTES) n = Math.floor(n * 0.9);
  mkdirSync(fileURLToPath(new URL('corpus', import.meta.url)), { recursive: true });
  writeFileSync(packed(target), pack(inputs.slice(0, n)));
}

/**
 * @param {string} target
 * @param {number} seconds
 * @param {boolean} isKept
 * @returns {boolean} whether no input failed
 */
function fuzz(target, seconds, isKept) {
  const found = join(top, 'build/native-fuzz/corpus', target);
  mkdirSync(found, { recursive: true });
  mkdirSync(join(top, 'build/fuzz'), { recursive: true });
  if (existsSync(packed(target)))
    unpack(readFileSync(packed(target))).forEach((input, i) => writeFileSync(join(found, `kept-${i}`), input));
  libfuzzer(target, ['--seeds', found]);
  const { status, log } = libfuzzer(target, [
    `-max_total_time=${seconds}`,
    '-timeout=120',
    '-rss_limit_mb=3000',
    '-len_control=0',
    `-max_len=${MOST_INPUT}`,
    `-artifact_prefix=build/fuzz/${target}-`,
    found,
  ]);
  const [, cases = '?', edges = '?', inputs = '?'] = /#(\d+)\s+DONE\s+cov: (\d+).*? corp: (\d+)/.exec(log) ?? [];
  if (status === 0) {
    console.log(`ok   ${target} (${cases} cases, ${edges} edges, ${inputs} inputs)`);
    if (isKept) keep(target, found);
    return true;
  }
  const file = /Test unit written to (\S+)/.exec(log)?.[1];
  console.log(`FAIL ${target}\n${log.slice(-4000)}\n  again: GF_TARGET=${target} ${program} ${file ?? ''}`);
  return false;
}

const { status } = spawnSync(process.execPath, ['scripts/compile.js', 'fuzz-coverage'], { cwd: top, stdio: 'inherit' });
if (status) {
  console.error('It needs clang with libFuzzer; on Debian: apt-get install clang libclang-rt-14-dev');
  process.exit(1);
}
const words = process.argv.slice(2);
const seconds = Number(words.find((word) => /^\d+$/.test(word)) ?? 60);
const named = words.filter((word) => !/^(?:\d+|--keep)$/.test(word));
const unknown = named.find((name) => !TARGETS.includes(name));
if (unknown) throw new Error(`There is no target ${unknown}; the targets are ${TARGETS.join(', ')}.`);
const results = (named.length ? named : TARGETS).map((target) => fuzz(target, seconds, words.includes('--keep')));
const passed = results.filter(Boolean).length;
console.log(`${passed} passed, ${results.length - passed} failed`);
process.exitCode = passed < results.length ? 1 : 0;
