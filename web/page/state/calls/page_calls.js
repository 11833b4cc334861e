// page_calls.js - lists the calls that change model and text or ask about them: all that the page asks of its model.
//
// A text is a prompt and the tokens after it. Each call is a function of one of the files below, whose first argument is
// the runtime that all of them share.
import { estimate } from 'glassformer';
import { setAdapter } from './set_adapter.js';
import { branch, fillIn, keepRun, restore, returnToBranch } from './branching.js';
import {
  attribution,
  continuation,
  costsOf,
  forward,
  generate,
  lens,
  logitsAfter,
  lossOf,
  without,
} from './experiments.js';
import { explain, trace, values, wantLogits, wantSampled } from './ask_model.js';
import { wantHabits } from './head_habits.js';
import { loadModel, make, stopLoading, takeOffer } from './load_models.js';
import { setPrompt, setSource } from './read_prompt.js';
import { cutPrompt } from './long_prompt.js';
import { rewind } from './rewinding.js';
import { wantRows } from './attention_rows.js';
import { createRuntime } from '../store/runtime.js';
import { idsOf, piecesOf, spell, textsOf } from './ids_and_texts.js';
import { answerSource, setSampler, step, stop, write } from './writing.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

const CALLS = {
  ...{ loadModel, stopLoading, takeOffer, make, setAdapter },
  ...{ setPrompt, cutPrompt, setSource, rewind, branch, fillIn, returnToBranch, restore, keepRun },
  ...{ write, answerSource, step, stop, setSampler },
  ...{ idsOf, textsOf, piecesOf, spell, wantRows, wantHabits, wantLogits, wantSampled, values, explain, trace },
  ...{ lossOf, logitsAfter, costsOf, continuation, forward, lens, attribution, without, generate },
};

/**
 * The functions with this runtime as their first argument.
 * @template {Record<string, (runtime: Runtime, ...rest: any[]) => any>} Functions
 * @param {Runtime} runtime
 * @param {Functions} functions
 * @returns {{ [Name in keyof Functions]: Functions[Name] extends (runtime: Runtime, ...rest: infer Rest) => infer Result ? (...rest: Rest) => Result : never }}
 */
const bound = (runtime, functions) =>
  /** @type {any} */ (
    Object.fromEntries(Object.entries(functions).map(([name, call]) => [name, call.bind(null, runtime)]))
  );

/** @param {Pick<import('../store/store.js').Store, 'state' | 'set'>} store */
export function createCalls(store) {
  const runtime = createRuntime(store);
  return {
    ...bound(runtime, CALLS),
    reads: runtime.reads,
    has: runtime.has,
    /** Equal keys, equal weights. */
    modelKey: () => String(runtime.state.engine.weights),
    /** What every number depends on: the model, what it reads, the text. Equal keys, equal numbers. */
    textKey: () =>
      `${runtime.state.engine.weights}: ${runtime.state.text.sourceTokens.map((t) => t.id)}: ${runtime.ids()}`,
    /** @param {number} n */
    costAt: (n) => estimate(runtime.loaded().config, { contextLength: n, kvDtype: runtime.loaded().kvDtype }),
  };
}

/** @typedef {ReturnType<typeof createCalls>} Calls */
