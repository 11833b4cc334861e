// node_visit.js - one visit of this engine in Node, in a process of its own: prints what it measured as JSON
//
//   node node_visit.js JOB     JOB: JSON, as inNode of run.js writes it
import { pathToFileURL } from 'node:url';
import { glassformer } from './engines.js';
import { probe } from './isa.js';
import { readLimit } from './limits.js';
import { measureSpeeds } from './speeds.js';
import { median } from './tables.js';

const job = JSON.parse(process.argv[2]);

/** Milliseconds of processor time of this process since it began, all threads together. */
function cpu() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}

async function visit() {
  const { load } = await import(pathToFileURL(job.library).href);
  const engine = glassformer({ load }),
    cpuAtStart = cpu(),
    start = performance.now();
  await engine.load({ ...job, worker: true });
  const result = { load: performance.now() - start, backend: engine.backend() };
  await engine.run(16, 1);
  result['first token'] = performance.now() - start;
  result['CPU first token'] = cpu() - cpuAtStart;
  for (const end = performance.now() + 1500; performance.now() < end;) await engine.run(64, 32);

  /** Runs of n and k tokens: rates, and processor time of one run. */
  async function measure(n, k, times) {
    const runs = [],
      before = cpu();
    for (let i = 0; i < times; i++) runs.push(await engine.run(n, k));
    return {
      decode: median(runs.map((r) => (r.decoded / r.decodeMs) * 1e3)),
      prefill: median(runs.map((r) => (n / r.prefillMs) * 1e3)),
      cpu: (cpu() - before) / times,
    };
  }
  Object.assign(result, await measureSpeeds(measure, job.speeds));
  if (job.bytes) result.limit = readLimit(job.bytes);
  engine.close();
  return result;
}

console.log(JSON.stringify(job.probe ? { found: probe() } : await visit()));
