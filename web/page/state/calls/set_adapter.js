// set_adapter.js - switches an adapter on or off beside the loaded model, and reads the prompt again
import { setPrompt } from './read_prompt.js';
import { pause } from '../base/yielding.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */
/**
 * An adapter of a model (the library's). number: in that model, once it was used
 * @typedef {{ api: any, files: File[], number?: number }} Adapter
 */

const WAIT_MS = 20; // for a call that is open: its keys are of the weights before

/** The switch alone, once no other call is open. What the page opens meanwhile is closed.
 * @param {Runtime} runtime @param {any} api @param {number | null} number @returns {Promise<number>} its milliseconds */
async function switched(runtime, api, number) {
  await runtime.close();
  runtime.questions = runtime.questions.then(() => runtime.reader?.session.close());
  await runtime.questions;
  runtime.reader = null;
  const start = performance.now();
  try {
    await api.setAdapter(number);
    return performance.now() - start;
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'bad-state' || api !== runtime.model()) throw error;
    await pause(WAIT_MS);
    return switched(runtime, api, number);
  }
}

/**
 * Use an adapter of the loaded model, or none.
 * @param {Runtime} runtime
 * @param {Adapter | null} adapter
 * @returns {Promise<number>} milliseconds of the switch alone
 */
export async function setAdapter(runtime, adapter) {
  const api = runtime.model();
  if (adapter) adapter.number ??= await api.addAdapter(adapter.files);
  const ms = await switched(runtime, api, adapter?.number ?? null);
  // what was answered about the text is asked again
  runtime.set({ engine: { adapter, weights: runtime.state.engine.weights + 1 }, attention: { habits: null } });
  await setPrompt(runtime, runtime.state.text.prompt);
  return ms;
}
