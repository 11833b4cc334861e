// abort_table.js - every call with a signal, aborted at every moment, in Node (tests/node/aborts.test.js) and in pages
// (tests/browser/aborts.test.js). The functions take the package and JSON, and return JSON.

const TEXT = 'Once upon a time there was a little girl who lived near the sea';

/**
 * When the signal is aborted, relative to the call; null: before it.
 * @type {Record<string, ((abort: () => void) => void) | null>}
 */
export const MOMENTS = {
  before: null,
  synchronously: (abort) => abort(),
  'in a microtask': (abort) => queueMicrotask(abort),
  'after 0 ms': (abort) => setTimeout(abort, 0),
  'mid-way': (abort) => setTimeout(abort, 6),
};

const PATCHING = { of: 'loss', at: ['*.hook_resid_post'], from: [9, 8, 7, 6] };

/** Longest wait for the end of an aborted call in the worker. */
const MAX_ENDING_MS = 20_000;

/** @param {AsyncIterable<any>} steps */
async function drain(steps) {
  for await (const _ of steps);
}

/**
 * The calls of a model that take a signal.
 * @type {Record<string, (model: any, o: object) => Promise<any>>}
 */
const OF_MODEL = {
  forward: (model, o) => model.forward(TEXT, o),
  'forward of several': (model, o) => model.forward([TEXT, TEXT], o),
  logitLens: (model, o) => model.logitLens(TEXT, o),
  attribution: (model, o) => model.attribution(TEXT, o),
  explain: (model, o) => model.explain(TEXT, { at: 'blocks.0.attn.hook_q', ...o }),
  trace: (model, o) => model.trace(TEXT, o),
  generate: (model, o) => drain(model.generate(TEXT, { maxTokens: 200, ...o })),
  complete: (model, o) => model.complete(TEXT, { maxTokens: 200, ...o }),
  loss: (model, o) => model.loss(TEXT, o),
  headScores: (model, o) => model.headScores(o),
  sweep: (model, o) => model.sweep(TEXT, { at: '*.hook_z', each: 'head' }, { metric: 'loss', ...o }),
  gradients: (model, o) => model.gradients(TEXT, { of: 'loss', at: ['*.hook_resid_post'], ...o }),
  attributionPatching: (model, o) => model.attributionPatching([5, 6, 7, 8], { ...PATCHING, ...o }),
  integratedGradients: (model, o) => model.integratedGradients(TEXT, { of: 'loss', steps: 4, ...o }),
  beams: (model, o) => drain(model.generate(TEXT, { maxTokens: 60, beams: 3, ...o })),
};

/** Names of the rows of the table. */
export const CALLS = [...Object.keys(OF_MODEL), 'session', 'eval'];

const occupied = (/** @type {any} */ model) =>
  JSON.stringify(model.memory.regions.filter((/** @type {any} */ { name }) => name !== 'free'));

/**
 * A model in which every file has been loaded that the calls need, and its memory while it is idle.
 * @param {(source: any, options: object) => Promise<any>} load
 * @param {any} source
 * @param {boolean} worker
 */
export async function openTable(load, source, worker) {
  const model = await load(source, { worker });
  for (const call of Object.values(OF_MODEL)) await call(model, {});
  await (await model.session()).close();
  return { model, idle: occupied(model) };
}

/**
 * Aborts a call. It rejects with the reason, or its answer came before the abort.
 * @param {(o: {signal: AbortSignal}) => Promise<any>} call
 * @param {((abort: () => void) => void) | null} when
 * @returns {Promise<{value?: any, failure: string | null}>}
 */
async function aborted(call, when) {
  const controller = new AbortController();
  const reason = new Error('not wanted any more');
  const abort = () => controller.abort(reason);
  if (!when) abort();
  const answer = call({ signal: controller.signal });
  when?.(abort);
  try {
    const value = await answer;
    return { value, failure: controller.signal.aborted ? 'it resolved after the abort' : null };
  } catch (error) {
    return { failure: error === reason ? null : `it rejects with ${error}` };
  }
}

/**
 * One cell of the table.
 * @param {{model: any, idle: string}} table
 * @param {string} name  of the call
 * @param {string} moment
 * @returns {Promise<string | null>} what is wrong; null: nothing
 */
export async function failureOf({ model, idle }, name, moment) {
  const when = MOMENTS[moment];
  if (name === 'session') {
    for (let i = 0; i < 20; i++) {
      const { value, failure } = await aborted((o) => model.session(o), when);
      if (failure) return failure;
      await value?.close();
    }
    // The worker may still be ending the call of the row before: in WebKit on a busy machine it went on for 253 sessions.
    const start = performance.now();
    do {
      await (await model.session()).close();
      if (occupied(model) === idle) return null;
    } while (performance.now() - start < MAX_ENDING_MS);
    return 'a session is left in memory';
  }
  if (name !== 'eval') return (await aborted((o) => OF_MODEL[name](model, o), when)).failure;
  const session = await model.session();
  try {
    const expected = String(await session.eval([1, 2, 3]));
    await session.rewind(2);
    const { value, failure } = await aborted((o) => session.eval(new Array(200).fill(5), o), when);
    if (failure) return failure;
    if (value) await session.rewind(2);
    if (session.length !== 2) return `the session holds ${session.length} positions`;
    return String(await session.eval([3])) === expected ? null : 'the session changed';
  } finally {
    await session.close();
  }
}
