// runtime.js - what the calls of the run (run.js) share beside the state of the page: the open generator, what is on its
// way, and what is remembered of the text and the model
import { messageOf } from './error_message.js';

const aborted = (/** @type {any} */ error) => error?.name === 'AbortError';

/**
 * @typedef {import('glassformer').Step} Step
 * @typedef {import('glassformer').Summary} Summary
 *
 * @typedef {object} Runtime
 * @property {import('./state.js').State} state
 * @property {import('./store.js').Store['set']} set
 * @property {number} turn   grows when the text or the model changes: later answers to earlier questions are dropped
 * @property {number} models  loaded so far
 * @property {Set<string>} points  what this model can be asked for
 * @property {boolean} fresh  no head was shown for this model yet
 * @property {Set<string>} early  what a visitor has set before any model was there: no opening takes its place
 * @property {AbortController | null} loading  of the model on its way: of several the last that was asked for
 * @property {{ api: any, about: any } | null} offered  a loaded model that waits for the visitor's choice
 * @property {Promise<void> | null} reading  of a prompt, on its way: who wants to write waits for it
 * @property {boolean} unread  the prompt could not be read: there is nothing to go on from
 * @property {AsyncGenerator<Step, Summary, void> | null} generator  open at the end of the text, or null
 * @property {boolean} running
 * @property {number} readers  of the generator so far: the newest has overtaken the others
 * @property {number[]} recent  ms of the last tokens
 * @property {number} engineMs  of all tokens written so far
 * @property {number} memoryAt  when the map of memory was last read
 * @property {number} speedAt  when the speed was last computed
 * @property {number} rowsFor  the text of a pass for attention rows on its way, by its turn
 * @property {number} rowsAfter  earliest time of another such pass while text is written
 * @property {{ api: any, source: string, session: any, ids: number[] } | null} reader  a session beside the text, for
 *   logits on demand, and what it has read
 * @property {Promise<void>} questions  to that session: one after the other
 * @property {{ api: any, key: string, rows: Promise<any[]> } | null} traced
 * @property {Promise<void>} spelling  of ids: one call after the other
 * @property {() => any} model  the library's Model, or undefined
 * @property {() => import('./state.js').LoadedModel} loaded  it throws where there is no model
 * @property {() => import('./patterns.js').PatternStore} rows  of attention, of the text that is there
 * @property {() => import('./patterns.js').PatternStore[]} stores  of the rows of all stacks
 * @property {() => boolean} twoStacks
 * @property {() => { source?: number[] }} reads  what an encoder-decoder is given to read, in every call
 * @property {() => number[]} ids  of the text
 * @property {(name: string) => boolean} has  whether the model has this point
 * @property {(error: unknown) => void} fail
 * @property {() => Promise<void>} close  closes the generator at once; whoever waits for it waits until the engine has
 *   let go as well
 */

/**
 * @param {Pick<import('./store.js').Store, 'state' | 'set'>} store
 * @returns {Runtime}
 */
export function createRuntime({ state, set }) {
  const { run, text, attention } = state;
  /** @type {Runtime} */
  const runtime = {
    state,
    set,
    turn: 0,
    models: 0,
    points: new Set(),
    fresh: true,
    early: new Set(),
    loading: null,
    offered: null,
    reading: null,
    unread: false,
    generator: null,
    running: false,
    readers: 0,
    recent: [],
    engineMs: 0,
    memoryAt: 0,
    speedAt: 0,
    rowsFor: -1,
    rowsAfter: 0,
    reader: null,
    questions: Promise.resolve(),
    traced: null,
    spelling: Promise.resolve(),
    model: () => run.model?.api,
    loaded() {
      if (!run.model) throw new Error('no model is loaded');
      return run.model;
    },
    rows() {
      if (!attention.patterns) throw new Error('no text is loaded');
      return attention.patterns;
    },
    stores: () => [runtime.rows(), ...Object.values(attention.otherPatterns ?? {})],
    twoStacks: () => run.model?.config.kind === 'encoder_decoder',
    reads: () => (runtime.twoStacks() ? { source: text.sourceTokens.map((t) => t.id) } : {}),
    ids: () => text.tokens.map((t) => t.id),
    has: (name) => runtime.points.has(name),
    fail(error) {
      if (!aborted(error)) set({ view: { error: messageOf(error) } });
    },
    async close() {
      runtime.running = false;
      const old = runtime.generator;
      runtime.generator = null;
      // `return` takes a summary by its type; the generator's own is dropped
      if (old) await old.return(/** @type {any} */ (undefined));
    },
  };
  return runtime;
}
