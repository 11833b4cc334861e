// bench.test.js - how the benchmark reads, subtracts and compares what it measured
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { contendersFor, isNative, readmeRows, visitNative } from '../bench/given_model.js';
import { ISAS, missing, probe } from '../bench/isa.js';
import { figuresOf } from '../bench/kernels.js';
import { decisionsOf } from '../bench/pace.js';
import { measureSpeeds } from '../bench/speeds.js';
import { tablesOf } from '../bench/tables.js';
import { relaxedSimd } from '../node-flags.js';
import { temporaryFolder } from '../temporary.js';

test('a row of the kernel benchmark gives its name and the figure to compare', () => {
  const rows = figuresOf(
    [
      'kernels: simd128',
      '1 MB                                  46.1 GB/s',
      'gemv q8_0 1 MB       288 x 288          20.1 GB/s   44 %     18.92 G weights/s',
      'gemm q8_0 x 128      768 x 768          62.4 GOPS    91 %',
      'scores f32, 1 query d_head 48           11.2 GB/s     5.6 GFLOPS    8.57 ns per key and query',
      'exp                  768               0.412 ns per value',
    ].join('\n'),
  );
  assert.deepEqual(
    [...rows].map(([label, { value, unit }]) => [label, value, unit]),
    [
      ['1 MB', 46.1, 'GB/s'],
      ['gemv q8_0 1 MB 288 x 288', 18.92, 'G weights/s'],
      ['gemm q8_0 x 128 768 x 768', 62.4, 'GOPS'],
      ['scores f32, 1 query d_head 48', 5.6, 'GFLOPS'],
      ['exp 768', 0.412, 'ns per value'],
    ],
  );
});

test('processor time of a decoded token is the difference between two runs, each measured once', async () => {
  const runs = [];
  const measure = async (n, k, times) => {
    runs.push([n, k, times]);
    return { decode: 1000, prefill: 5000, cpu: n * 0.1 + (k - 1) * 0.75 };
  };
  const job = { contexts: [64, 512], prefills: [128, 512], cpu: true, times: 8 };
  const speeds = await measureSpeeds(measure, job);
  const rounded = Object.fromEntries(Object.entries(speeds).map(([name, value]) => [name, Number(value.toFixed(6))]));
  assert.deepEqual(rounded, {
    'decode @64': 1000,
    'CPU decode @64': 0.75,
    'decode @512': 1000,
    'CPU decode @512': 0.75,
    'prefill 128': 5000,
    'CPU prefill 128': 0.1,
    'prefill 512': 5000,
    'CPU prefill 512': 0.1,
  });
  assert.deepEqual(runs, [
    [64, 64, 8],
    [64, 1, 8],
    [512, 128, 3],
    [512, 1, 3],
    [128, 1, 8],
  ]);
});

test('ratios: against before within each round, against wllama from the better median', (t) => {
  const now = { name: 'relaxed', engine: 'glassformer', threads: 1, isa: 'avx2' },
    before = { ...now, name: 'before relaxed', before: true },
    wllama2 = { name: 'wllama2', engine: 'wllama2', threads: 1, isa: 'avx2' },
    wllama3 = { name: 'wllama3', engine: 'wllama3', threads: 1, isa: 'avx2' },
    twoThreads = { name: 'wllama2 2t', engine: 'wllama2', threads: 2, isa: 'avx2' };
  const visits = (...speeds) => speeds.map((speed, round) => ({ round, 'decode @64': speed, load: 1e6 / speed }));
  const results = new Map([
    [now, visits(1000, 500, 1100)],
    [before, visits(500, 400, 1000)],
    [wllama2, visits(100, 90, 110)],
    [wllama3, visits(80, 125, 130)],
    [twoThreads, visits(900, 900, 900)],
  ]);
  const lines = [];
  t.mock.method(console, 'log', (line = '') => lines.push(line));
  tablesOf(['decode @64', 'load'], results).print([...results.keys()]);
  const cells = (title) => {
    const at = lines.findIndex((line) => line.startsWith(title));
    return lines.slice(at + 3, at + 5).map((line) => line.split('|')[2].trim());
  };
  assert.deepEqual(cells('Times better than the better wllama'), ['8.00', '8.00']);
  assert.deepEqual(cells('Times better than before'), ['1.25', '1.25']); // of 2, 1.25 and 1.1
});

test('a given file: the README’s rows have both engines, their ratio and native llama.cpp, with each number of threads', () => {
  const who = contendersFor([1, 2]);
  assert.deepEqual(who.map(isNative), [false, false, true, false, false, true]);
  const speeds = [45.25, 5, 44, 80, 10, undefined];
  const valueOf = (c, measure) => (measure === 'prefill 128' && c.threads === 2 ? undefined : speeds[who.indexOf(c)]);
  assert.deepEqual(readmeRows(who, ['decode @64', 'prefill 128'], valueOf), [
    '| decode after 64 tokens, one thread | 45.3 | 5.0 | 9.1 | 44.0 |',
    '| prompt of 128 tokens, one thread | 45.3 | 5.0 | 9.1 | 44.0 |',
    '| decode after 64 tokens, 2 threads | 80.0 | 10.0 | 8.0 | – |',
    '| prompt of 128 tokens, 2 threads | – | – | – | – |',
  ]);
});

test('native llama.cpp is measured by a Python of the caller, and its absence is a sentence', async (t) => {
  const folder = temporaryFolder('bench');
  const given = process.env.PYTHON;
  t.after(() => (given === undefined ? delete process.env.PYTHON : (process.env.PYTHON = given)));
  const python = (name, script) => {
    process.env.PYTHON = join(folder, name);
    writeFileSync(process.env.PYTHON, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  const job = { threads: 2, contexts: [64], prefills: [], times: 1 };
  python('answers', `echo "{\\"backend\\": \\"$(basename $1) $2\\"}"`);
  assert.deepEqual(await visitNative('model.gguf', job), { backend: 'native_llama.py model.gguf' });
  python('lacks', 'exit 3');
  await assert.rejects(visitNative('model.gguf', job), { message: 'Python has no llama-cpp-python' });
  python('fails', 'exit 1');
  await assert.rejects(visitNative('model.gguf', job), { message: 'Python ended with 1' });
});

test('an instruction set that a process does not have is named', () => {
  for (const [isa, { dot, fused }] of Object.entries(ISAS)) assert.equal(missing(isa, { dot, fused }), null, isa);
  assert.match(missing('vnni', { dot: 'saturating', fused: true }), /has no AVX-VNNI$/);
  assert.match(missing('avx2', { dot: 'saturating', fused: false }), /has no AVX2$/);
  assert.match(missing('avx2', { dot: 'unsigned', fused: true }), /does not obey --no-enable-avx-vnni /);
  assert.match(missing('sse', { dot: 'signed', fused: true }), /is not an x86$/);
  assert.match(missing('sse', null), /no relaxed SIMD/);
});

test('the test of the instruction set is valid WebAssembly, and its results are known ones', () => {
  const program = `import { probe } from ${JSON.stringify(fileURLToPath(new URL('../bench/isa.js', import.meta.url)))};
    console.log(JSON.stringify(probe()));`;
  const args = [...relaxedSimd, '--input-type=module', '-e', program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const found = JSON.parse(stdout || 'null');
  assert.ok(found, `this Node runs relaxed SIMD with ${relaxedSimd.join(' ') || 'no flag'}: ${stderr}`);
  assert.match(found.dot, /^(?:unsigned|signed|saturating)$/);
  assert.equal(typeof found.fused, 'boolean');
  if (relaxedSimd.length === 0) assert.deepEqual(probe(), found);
});

test('the decisions of the pace keeper are read from its states, with the mode that was faster', () => {
  const [HELPED, TRIES_ALONE, ALONE, TRIES_HELPED] = [0, 1, 2, 3];
  const of = (state, ms, more) => ({ ms, state, kept: 2, trial: 0, slow: 0, solo: 0, ...more });
  // ms of a sample is that of the token which began in the state of the sample before it
  const won = [of(HELPED, 9), of(HELPED, 2), of(TRIES_ALONE, 2), of(TRIES_ALONE, 1), of(ALONE, 1, { trial: 1 })];
  const alone = decisionsOf([...won, of(ALONE, 1)]);
  assert.deepEqual(alone.decisions, [{ token: 4, mode: 'alone', tried: 'tries alone', kept: 2, trial: 1, slow: 0 }]);
  assert.deepEqual([alone.helped, alone.alone, alone.rests, alone.wrong], [2, 1, true, false]);
  const lost = decisionsOf([...won, of(TRIES_HELPED, 3), of(ALONE, 0.5, { slow: 4 }), of(ALONE, 3), of(ALONE, 3)]);
  assert.deepEqual(
    lost.decisions.map(({ token, mode, slow }) => [token, mode, slow]),
    [
      [4, 'alone', 0],
      [6, 'alone', 4],
    ],
  );
  assert.deepEqual([lost.rests, lost.wrong], [true, true], 'tokens with helpers took 2 ms, without them 3');
  const stalled = decisionsOf([of(HELPED, 2), of(HELPED, 20, { solo: 512 }), of(HELPED, 4, { solo: 400 })]);
  assert.deepEqual(stalled.decisions, [{ token: 1, mode: 'alone for 512 jobs', tried: 'stall' }]);
  assert.deepEqual([stalled.helped, stalled.alone, stalled.rests], [20, 4, true]);
});
