// runtime.js - shared by the calls of page_calls.js: the state, short ways to it, and the jobs that are on their way
import { messageOf } from '../base/error_message.js';

const aborted = (/** @type {any} */ error) => error?.name === 'AbortError';

/**
 * @typedef {import('glassformer').Step} Step
 * @typedef {import('glassformer').Summary} Summary
 * @typedef {ReturnType<typeof createRuntime>} Runtime
 */

/** Jobs on their way for the present text and model: generators, promises, clocks. A job that ends writes its result into
 * the state; nothing here is shown. */
const noJobs = () => ({
  turn: 0, // grows when the text or the model changes: later answers to earlier questions are dropped
  /** Stops the model on its way; of several the last that was asked for. @type {AbortController | null} */
  loading: null,
  /** Ends when the prompt is read: whatever writes waits for it. @type {Promise<void> | null} */
  reading: null,
  /** Open at the end of the text, or null. @type {AsyncGenerator<Step, Summary, void> | null} */
  generator: null,
  running: false, // a reader asks the generator for one token after the other
  readers: 0, // readers of the generator so far: the newest has overtaken the others
  recent: /** @type {number[]} */ ([]), // ms of the last tokens
  engineMs: 0, // time of all tokens written so far
  memoryAt: 0, // when the map of memory was last read
  speedAt: 0, // when the speed was last computed
  rowsFor: -1, // the text of a pass for attention rows on its way, by its turn
  rowsAfter: 0, // earliest time of another such pass while text is written
  /** A session beside the text, for logits on demand, and what it has read.
   * @type {{ api: any, source: string, session: any, ids: number[] } | null} */
  reader: null,
  questions: Promise.resolve(), // to that session: one after the other
  traced: /** @type {{ api: any, key: string, rows: Promise<any[]> } | null} */ (null),
  spelling: Promise.resolve(), // ids are spelt in one call after the other
});

/** @param {Pick<import('./store.js').Store, 'state' | 'set'>} store */
export function createRuntime({ state, set }) {
  const { engine, text, attention } = state;
  const runtime = {
    state,
    set,
    ...noJobs(),
    /** The library's Model, or undefined. @returns {any} */
    model: () => engine.model?.api,
    loaded() {
      if (!engine.model) throw new Error('no model is loaded');
      return engine.model;
    },
    /** Attention rows of the text that is there. */
    rows() {
      if (!attention.patterns) throw new Error('no text is loaded');
      return attention.patterns;
    },
    /** Stores of the rows of all stacks. */
    stores: () => [runtime.rows(), ...Object.values(attention.otherPatterns ?? {})],
    twoStacks: () => engine.model?.config.kind === 'encoder_decoder',
    /** What an encoder-decoder is given to read, in every call. @returns {{ source?: number[] }} */
    reads: () => (runtime.twoStacks() ? { source: text.sourceTokens.map((t) => t.id) } : {}),
    ids: () => text.tokens.map((t) => t.id),
    /** Whether the model has this point. @param {string} name */
    has: (name) => !!engine.model?.points.has(name),
    /** @param {unknown} error */
    fail(error) {
      if (!aborted(error)) set({ view: { error: messageOf(error) } });
    },
    /** Closes the generator at once; whoever waits for it waits until the engine has let go as well. */
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
