// store.js - the one state of the page: read by every component, written through `set`.
//
// Changes made in one turn of the event loop are announced together, in the next animation frame: a thousand tokens a
// second cost a component at most one drawing per frame.

/**
 * @typedef {object} Token
 * @property {number} id
 * @property {string} text      what it adds to the text; '' while a character is incomplete
 * @property {boolean} given    part of the prompt, not written by the model
 * @property {number | null} logprob  natural logarithm of the model's probability for it, null where nobody asked
 * @property {{ id: number, text: string, logprob: number }[] | null} top  likeliest tokens at its place
 *
 * @typedef {object} LoadedModel
 * @property {string} name
 * @property {string} address     where it came from: an address, a file's name, or '' for one built here
 * @property {any} source          what the library was given, to load it again otherwise; null for one built here
 * @property {{ config: any, seed: number } | null} made  of which one built here was made
 * @property {import('./models.js').Opening} [opens]  what it began with
 * @property {number | null} fileBytes
 * @property {any} config
 * @property {any} parameters     the table of the file that was loaded
 * @property {number} counted     parameters that the config alone predicts
 * @property {string} backend
 * @property {'f32' | 'f16' | 'q8_0'} kvDtype  of the key/value cache
 * @property {string[]} warnings
 * @property {boolean} [wordless]  it has no tokenizer: its tokens are shown by their ids
 * @property {any} api            the library's Model; panels ask it for values and never write to it
 *
 * @typedef {object} State
 * @property {import('./views.js').View} view
 * @property {'anatomy' | 'parameters'} lower  what the lower half of Write shows
 * @property {string} chapter          that is open under Learn, '' for none
 * @property {{ question: string, concealed: string[] }} assignment  of a link for a class: what is asked, and panels
 *   that are hidden until the visitor asks for them
 * @property {'light' | 'dark'} theme    what is shown now, chosen or from the system
 * @property {'empty' | 'loading' | 'ready' | 'running' | 'paused' | 'done'} status
 * @property {{ name: string, phase: string, loaded: number, total: number | null, bytesPerSecond?: number | null,
 *   secondsLeft?: number | null } | null} progress
 * @property {boolean} choosing      the dialog of models is open
 * @property {{ name: string } | null} offer  a larger model that is loaded and may be taken in hand
 * @property {string} error          one sentence, '' when all is well
 * @property {{ text: string, address: string }} note what a visitor has to know, '' when nothing; the address of a
 *   model that may be loaded, or ''
 * @property {LoadedModel | null} model
 * @property {any} memory           the library's map of linear memory, read again when the text rests
 * @property {string} prompt
 * @property {{ temperature: number, topK: number, topP: number, seed: number, ignoreEos: boolean }} sampler ignoreEos:
 *   write on after an end token
 * @property {'reading' | 'fast' | 'step'} pace
 * @property {number} maxTokens
 * @property {string} source         what an encoder-decoder reads
 * @property {string[]} examples      other texts that the model in hand may be given to read
 * @property {Token[]} sourceTokens
 * @property {number} sourceCursor   the position in hand there
 * @property {Token[]} tokens        prompt and text in order; index = position
 * @property {import('./patterns.js').PatternStore | null} patterns
 * @property {Record<string, import('./patterns.js').PatternStore> | null} otherPatterns of an encoder-decoder:
 *   `encoder`, `cross`
 * @property {import('./patterns.js').Stack} stack  which attention the panels show
 * @property {Map<number, Float32Array>} logits  logits after a position, where known exactly
 * @property {Map<number, string>} words  what ids add to a text, as far as asked
 * @property {number} cursor         the position in hand: its row of attention, the distribution after it; -1 for none
 * @property {boolean} follow        the cursor follows the text while it grows
 * @property {number | null} key     the chosen column of the large head
 * @property {{ query: number, key: number } | null} hover
 * @property {{ layer: number, head: number }} head
 * @property {'near' | 'whole'} zoom  the large head: the tokens before the one in hand, or all
 * @property {'raw' | 'scaled' | 'masked' | 'pattern'} stage
 * @property {string} openStage     stage of the anatomy whose values are open, '' for none
 * @property {number} walk          stop of the guided walk, -1 for none
 * @property {boolean} pure          the text follows from prompt, sampler and seed alone
 * @property {number} promptLength   tokens of the whole prompt: a text that was branched within it keeps fewer
 * @property {boolean} arcs          draw the row in hand over the text
 * @property {string[]} off          parts switched off in the laboratory, by their keys (parts.js)
 * @property {{ tokensPerSecond: number, msPerToken: number, prefillMs: number }} speed  zeros until measured
 * @property {string} stopReason     of the last run, '' before
 * @property {{ at: number, tokens: Token[] }[]} branches texts left behind by choosing another token, each at that
 *   place
 */

const FAST_MS = 45; // at full speed: between two frames drawn, at least
const FAST_SHARE = 4; // and so many times what a frame takes, so that most of the machine is left to the engine
const FAST_MOST = 400;

/** @param {State} state */
export function createStore(state) {
  /** Callbacks of components, by the key that they read. @type {Map<string, Set<() => void>>} */
  const subscribers = new Map();
  const changed = new Set();
  let frame = 0;
  /** @type {any} */
  let timer = 0; // at full speed: until the next frame
  let cost = 0; // ms that the last frames took, layout and painting included

  const painted = new MessageChannel();
  painted.port1.onmessage = ({ data }) => {
    cost += (performance.now() - data - cost) / 2;
  };

  function announce() {
    frame = 0;
    painted.port2.postMessage(performance.now()); // received when the browser has drawn this frame
    const keys = [...changed];
    changed.clear();
    for (const key of keys) for (const update of subscribers.get(key) ?? []) update();
  }

  function plan() {
    const fast = state.status === 'running' && state.pace === 'fast';
    if (frame || (timer && fast)) return;
    clearTimeout(timer);
    timer = 0;
    if (!fast) {
      frame = requestAnimationFrame(announce);
      return;
    }
    // At full speed every frame drawn is a token not written.
    timer = setTimeout(
      () => {
        timer = 0;
        frame = requestAnimationFrame(announce);
      },
      Math.min(FAST_MOST, Math.max(FAST_MS, FAST_SHARE * cost)),
    );
  }

  return {
    state,
    /** Write some keys and announce them in the next frame. A value that is changed in place is set to itself.
     * @param {Partial<State>} patch */
    set(patch) {
      Object.assign(state, patch);
      for (const k of Object.keys(patch)) changed.add(k);
      plan();
    },
    /**
     * Call `update` in each frame in which this key was set.
     * @param {string} key
     * @param {() => void} update
     * @returns {() => void} ends the subscription
     */
    subscribe(key, update) {
      const list = subscribers.get(key) ?? new Set();
      subscribers.set(key, list.add(update));
      return () => list.delete(update);
    },
  };
}

/** @typedef {ReturnType<typeof createStore>} Store */
