// page.js - the measured page. Its address has the engine and the model, and it starts at once, as a visitor's page
// does. window.cold has the times from the start of navigation until the engine was loaded and until the first token.
import { glassformer, onnxruntime, wllama2, wllama3 } from './engines.js';
import { probe } from './isa.js';
import { readLimit } from './limits.js';

const job = JSON.parse(decodeURIComponent(location.hash.slice(1) || 'null'));
const others = {
  wllama2: [wllama2, 'index.js'],
  wllama3: [wllama3, 'index.js'],
  onnxruntime: [onnxruntime, 'ort.wasm.min.mjs'],
};

async function open(load) {
  const start = performance.now();
  let engine;
  if (job.engine === 'glassformer') engine = glassformer({ load });
  else {
    const [adapter, script] = others[job.engine],
      library = new URL(job.library, location.href).href;
    engine = adapter(await import(/* @vite-ignore */ library + script), library);
  }
  await engine.load({ ...job, model: new URL(job.model, location.href).href });
  const loaded = performance.now();
  await engine.run(16, 1);
  return { engine, cold: { loadMs: loaded - start, firstTokenMs: performance.now(), backend: engine.backend() } };
}

/**
 * Begin.
 * @param {typeof import('../../web/lib/api/index.js').load} load  of the measured checkout
 */
export function start(load) {
  window.readLimit = readLimit;
  window.probe = probe;
  if (!job) return;
  const opened = open(load);
  opened.then(
    ({ cold }) => {
      window.cold = cold;
    },
    (error) => {
      window.cold = { error: String(error?.stack ?? error) };
    },
  );

  /** Run until `ms` have passed and `least` runs are done, so that the browser's best compiler has had its turn. */
  window.warmUp = async (n, k, least, ms) => {
    const { engine } = await opened,
      end = performance.now() + ms;
    for (let i = 0; i < least || performance.now() < end; i++) await engine.run(n, k);
  };

  /** The median of several runs. */
  window.measure = async (n, k, times) => {
    const { engine } = await opened,
      runs = [];
    for (let i = 0; i < times; i++) runs.push(await engine.run(n, k));
    const median = (of) => runs.map(of).sort((a, b) => a - b)[runs.length >> 1];
    return {
      prefill: median((r) => (n / r.prefillMs) * 1e3),
      decode: k > 1 ? median((r) => (r.decoded / r.decodeMs) * 1e3) : null,
    };
  };

  window.end = async () => (await opened).engine.close();
}
