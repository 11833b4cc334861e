// calls.js - the calls of a loaded model, each with its function beside the engine
//
// The caller's side names a call (worker/model_caller.js): model_worker.js looks it up here in the worker, LocalModel
// in the caller's thread. A function gets the model, the arguments, which api/ has checked, and the hooks of the call.
// Code that few models need is imported at its first call.

/** @import { LoadedModel } from './loaded_model.js' */
/** @import { Progress } from './load_model.js' */

/**
 * Arguments of a call that cannot be posted as options.
 * @typedef {object} Hooks
 * @property {AbortSignal} [signal]
 * @property {(p: Progress) => void} [onProgress]
 * @property {typeof globalThis.fetch} [fetch]
 * @property {import('../files/huggingface/weight_names.js').Rename} [rename]  load: the option `names`, if it is a
 *   function
 * @property {import('../engine/threads.js').OnHelper} [onHelper]  load and create: called for each helper thread
 * @property {string} [helper]  address of the worker's file, which helper threads run too
 * @property {{url: string, port: MessagePort}} [prefetched]  the caller's side of load: the model's file, which was
 *   requested already (worker/requests_for_worker.js)
 * @property {typeof globalThis.fetch} [prefetchedFetch]  the worker's side of load: its requests, with that file
 * @property {Promise<WebAssembly.Module>} [engine]  load and create: the compiled binary
 */

export { createModel, loadModel } from './load_model.js';

const inspect = () => import('./inspect/inspect.js');
const features = () => import('./inspect/feature_values.js');
const analysis = () => import('./analysis/analysis.js');
const adapters = () => import('../files/adapters/switch_adapter.js');

/** @satisfies {Record<string, (model: LoadedModel, ...args: any[]) => any>} */
export const CALLS = {
  // text and ids
  encode: (model, text, options) => model.encode(text, options),
  decode: (model, ids) => model.decode(ids),
  tokens: (model, input, options) => model.tokens(input, options),
  tokenizerText: (model) => model.tokenizerText(),

  // one pass, and what is read from it
  forward: async (model, input, options, hooks) => (await inspect()).forward(model, input, options, hooks),
  loss: async (model, input, options, hooks) => (await inspect()).loss(model, input, options, hooks),
  embed: async (model, input, options, hooks) => (await inspect()).embed(model, input, options, hooks),
  classify: async (model, input, options, hooks) => (await inspect()).classify(model, input, options, hooks),
  logitLens: async (model, input, options, hooks) => (await inspect()).logitLens(model, input, options, hooks),
  attribution: async (model, input, options, hooks) => (await inspect()).attribution(model, input, options, hooks),
  explain: async (model, input, options, hooks) => (await inspect()).explain(model, input, options, hooks),
  trace: async (model, input, options, hooks) => (await inspect()).trace(model, input, options, hooks),
  distribution: async (model, logits, options) => (await inspect()).distribution(model, logits, options),
  weight: async (model, name, row) => (await inspect()).weight(model, name, row),
  points: async (model) => (await model.points()).names,

  // sparse dictionaries, by the number that the caller gives them
  addDictionary: (model, id, encoder) => model.addDictionary(id, encoder),
  dropDictionary: (model, id) => model.dropDictionary(id),
  encodeFeatures: async (model, id, input, options, hooks) =>
    (await features()).encodeFeatures(model, id, input, options, hooks),
  directionTokens: async (model, direction, n, hooks) => (await features()).directionTokens(model, direction, n, hooks),

  // research
  matrix: async (model, name) => (await analysis()).matrix(model, name),
  scanTexts: async (model, texts, options, hooks) => (await analysis()).scanTexts(model, texts, options, hooks),
  provenance: async (model, hooks) => (await analysis()).provenance(model, hooks),
  circuit: async (model, layer, head, kind, options) => (await analysis()).circuit(model, layer, head, kind, options),
  headScores: async (model, options, hooks) => (await analysis()).headScores(model, options, hooks),
  sweep: async (model, input, options, hooks) => (await analysis()).sweep(model, input, options, hooks),
  pathPatching: async (model, input, options, hooks) => (await analysis()).pathPatching(model, input, options, hooks),
  gradients: async (model, input, options, hooks) => (await analysis()).gradients(model, input, options, hooks),
  attributionPatching: async (model, input, options, hooks) =>
    (await analysis()).attributionPatching(model, input, options, hooks),
  integratedGradients: async (model, input, options, hooks) =>
    (await analysis()).integratedGradients(model, input, options, hooks),

  // adapters beside the weights
  addAdapter: async (model, deltas) => (await adapters()).addAdapter(model, deltas),
  setAdapter: async (model, adapter) => (await adapters()).setAdapter(model, adapter),
  modules: async (model, deltas) => (await adapters()).modules(model, deltas),
  storedWeight: async (model, entry, from) => (await analysis()).storedWeight(model, entry, from),

  // sessions, by number; `generate` is a stream of steps and has its own way (LoadedModel.generate)
  openSession: async (model, options, hooks) => (await model.sessions()).open(options, hooks),
  evalSession: async (model, id, input, hooks) => (await model.sessions()).eval(id, input, hooks),
  settleSession: async (model, id, delivered) => (await model.sessions()).settle(id, delivered),
  rewindSession: async (model, id, n) => (await model.sessions()).rewind(id, n),
  forkSession: async (model, id) => (await model.sessions()).fork(id),
  saveSession: async (model, id) => (await model.sessions()).save(id),
  closeSession: async (model, id) => (await model.sessions()).close(id),
};
