// shared.js - what the parts of the run (loading, reading, writing, branching) share, beside the state of the page.

const aborted = (/** @type {any} */ error) => error?.name === 'AbortError';
const sentence = (/** @type {unknown} */ error) => (error instanceof Error ? error.message : String(error));

/**
 * @typedef {import('glassformer').Step} Step
 * @typedef {import('glassformer').Summary} Summary
 *
 * @typedef {object} Shared
 * @property {import('./store.js').State} state
 * @property {import('./store.js').Store['set']} set
 * @property {AsyncGenerator<Step, Summary, void> | null} generator  open at the end of state.tokens, or null
 * @property {boolean} running
 * @property {number} loops  readers of the generator so far: the newest has overtaken the others
 * @property {number} turn   grows when the text or the model changes: later answers to earlier questions are dropped
 * @property {number} models  taken in hand so far
 * @property {AbortController | null} loading  of the model on its way: of several the last that was asked for
 * @property {Set<string>} points   what this model can be asked for
 * @property {boolean} fresh        no head was shown for this model yet
 * @property {number[]} recent      ms of the last tokens
 * @property {number} engineMs      of all tokens written so far
 * @property {Promise<void> | null} reading  of a prompt, on its way: who wants to write waits for it
 * @property {boolean} unread       the prompt could not be read: there is nothing to go on from
 * @property {Set<string>} early    what a visitor has set before any model was there: no opening takes its place
 * @property {() => any} model      the library's Model, or undefined
 * @property {() => import('./store.js').LoadedModel} inHand  the model that is loaded; it throws where there is none
 * @property {() => import('./patterns.js').PatternStore} rows  of attention, of the text that is there
 * @property {() => boolean} twoStacks
 * @property {() => { source?: number[] }} reads  what an encoder-decoder is given to read, in every call
 * @property {(name: string) => boolean} has   whether the model has this point
 * @property {(error: unknown) => void} fail
 * @property {() => Promise<void>} close   closes the generator at once; whoever waits for it waits until the engine has
 *   let go as well
 */

/**
 * @param {import('./store.js').Store} store
 * @returns {Shared}
 */
export function createShared({ state, set }) {
  /** @type {Shared} */
  const shared = {
    state,
    set,
    generator: null,
    running: false,
    loops: 0,
    turn: 0,
    models: 0,
    loading: null,
    points: new Set(),
    fresh: true,
    recent: [],
    engineMs: 0,
    reading: null,
    unread: false,
    early: new Set(),
    model: () => state.model?.api,
    inHand() {
      if (!state.model) throw new Error('no model is loaded');
      return state.model;
    },
    rows() {
      if (!state.patterns) throw new Error('no text is loaded');
      return state.patterns;
    },
    twoStacks: () => state.model?.config.kind === 'encoder_decoder',
    reads: () => (shared.twoStacks() ? { source: state.sourceTokens.map((t) => t.id) } : {}),
    has: (name) => shared.points.has(name),
    fail(error) {
      if (!aborted(error)) set({ error: sentence(error) });
    },
    async close() {
      shared.running = false;
      const old = shared.generator;
      shared.generator = null;
      // `return` takes a summary by its type; the generator's own is dropped
      if (old) await old.return(/** @type {any} */ (undefined));
    },
  };
  return shared;
}
