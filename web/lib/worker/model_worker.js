// model_worker.js - the worker's side of a model: answers the messages of WorkerModel (model_caller.js)
import { CALLS, createModel, loadModel } from '../run/calls.js';
import { prefetchedFetch, relayedFetch, relayedRename } from './requests_for_worker.js';
import { askForHelper, engine, listen, port, post, postError, watched } from './message_port.js';

/** Steps are collected for this time, less than a frame: a message takes longer than a token of a small model. */
const POST_MS = 12;

/** @type {import('../run/loaded_model.js').LoadedModel | null} */
let model = null;
/**
 * The calls that have not ended. credit: steps that may still be posted; wake: called when it grows.
 * @type {Map<number, {controller: AbortController, credit: number, wake: () => void}>}
 */
const running = new Map();

listen(async (data) => {
  const { id, method, args, hooks, abort, addedCredit, stream, credit = 0 } = data;
  const known = running.get(id);
  if (abort) return known?.controller.abort();
  if (addedCredit) {
    if (known) {
      known.credit += addedCredit;
      known.wake();
    }
    return;
  }
  const controller = new AbortController();
  const call = { controller, credit, wake: () => {} };
  running.set(id, call);
  try {
    if (stream) await streamSteps(id, call, args);
    else if (method === 'load' || method === 'create') await open(id, controller.signal, method, args, hooks);
    else await answer(id, method, args, controller.signal);
  } catch (error) {
    postError(id, error, controller.signal.aborted);
  } finally {
    running.delete(id);
  }
});

/** The model; throws before it is loaded. */
function requireModel() {
  if (!model) throw new Error('no model was loaded');
  return model;
}

/**
 * Load or create the model.
 * @param {number} id
 * @param {AbortSignal} signal
 * @param {'load'|'create'} method
 * @param {any[]} args
 * @param {{onProgress?: boolean, fetch?: boolean, rename?: boolean, helper?: string,
 *   prefetched?: {url: string, port: MessagePort}}} hooks
 */
async function open(id, signal, method, args, hooks) {
  const send = (/** @type {object} */ message, /** @type {Transferable[]} */ transfer) =>
    port.postMessage({ id, ...message }, transfer);
  model = await (method === 'load' ? loadModel : createModel)(args[0], args[1], {
    signal,
    engine,
    helper: hooks.helper,
    prefetchedFetch: hooks.prefetched && prefetchedFetch(hooks.prefetched),
    onProgress: hooks.onProgress ? (progress) => post({ id, progress }) : undefined,
    onHelper: askForHelper,
    fetch: hooks.fetch ? relayedFetch(send) : undefined,
    rename: hooks.rename ? relayedRename(send) : undefined,
  });
  await watched;
  post({ id, value: model.info(), memory: model.memory() });
}

/**
 * Answer a call of the model and post its result.
 * @param {number} id
 * @param {keyof typeof CALLS} method
 * @param {any[]} args
 * @param {AbortSignal} signal
 */
async function answer(id, method, args, signal) {
  const call = /** @type {(...args: any[]) => any} */ (CALLS[method]);
  const value = await call(requireModel(), ...args, { signal });
  post({ id, value, memory: requireModel().memory() });
}

/**
 * Post the steps of a generation, several in one message and no more than the reader's credit.
 * @param {number} id
 * @param {{controller: AbortController, credit: number, wake: () => void}} call
 * @param {any[]} args
 */
async function streamSteps(id, call, args) {
  const { signal } = call.controller;
  let last = 0; // the first step is posted at once
  const due = (/** @type {any[]} */ steps) => steps.length >= call.credit || performance.now() - last >= POST_MS;
  const generator = requireModel().generate(args[0], args[1], { signal, due }, args[2]);
  const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  try {
    for (;;) {
      const { done, value } = await generator.next();
      if (done) return post({ id, done: value, memory: requireModel().memory() });
      post({ id, steps: value });
      last = performance.now();
      call.credit -= value.length;
      if (call.credit <= 0)
        await Promise.race([stopped, /** @type {Promise<void>} */ (new Promise((resolve) => (call.wake = resolve)))]);
      signal.throwIfAborted();
    }
  } finally {
    await generator.return(/** @type {any} */ (undefined));
  }
}
