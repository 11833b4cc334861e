// state.js - what the page shows, in five groups, and its values before any model is there
import { SHIPPED } from './models.js';

/**
 * @typedef {object} Token
 * @property {number} id
 * @property {string} text      what it adds to the text; '' while a character is incomplete
 * @property {boolean} given    part of the prompt, not written by the model
 * @property {number | null} logprob  natural logarithm of the model's probability for it, null where nobody asked
 * @property {{ id: number, text: string, logprob: number, probability: number }[] | null} top  likeliest tokens at its
 *   place; probability: with which the sampler drew them
 * @property {import('./next_token.js').Rule} [rule]  of the sampler, when the model wrote it
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
 * @typedef {object} ViewState    what is open, and what is said about it
 * @property {import('./views.js').View} id
 * @property {'anatomy' | 'parameters'} lower  what the lower half of Write shows
 * @property {string} chapter     that is open under Learn, '' for none
 * @property {string} openStage   stage of the anatomy whose values are open, '' for none
 * @property {number} walk        stop of the guided walk, -1 for none
 * @property {boolean} choosing   the dialog of models is open
 * @property {'light' | 'dark'} theme  what is shown now, chosen or from the system
 * @property {{ question: string, concealed: string[] }} assignment  of a link for a class: what is asked, and panels
 *   that are hidden until the visitor asks for them
 * @property {string} error       one sentence, '' when all is well
 * @property {{ text: string, address: string }} note  what a visitor has to know, '' when nothing; the address of a
 *   model that may be loaded, or ''
 *
 * @typedef {object} TextState    the prompt and the text after it
 * @property {string} prompt
 * @property {Token[]} tokens     prompt and text in order; index = position
 * @property {number} promptLength  tokens of the whole prompt: a text that was branched within it keeps fewer
 * @property {boolean} pure       the text follows from prompt, sampler and seed alone
 * @property {number} cursor      the selected position: its row of attention, the distribution after it; -1 for none
 * @property {boolean} follow     the cursor follows the text while it grows
 * @property {Map<number, Float32Array>} logits  logits after a position, where known exactly
 * @property {{ row: Float32Array, rule: import('./next_token.js').Rule, probabilities: Float32Array } | null} sampled
 *   the sampler's probabilities for the row of logits that was last asked about
 * @property {Map<number, string>} words  what ids add to a text, as far as asked
 * @property {{ at: number, tokens: Token[] }[]} branches  texts left behind by choosing another token, each at that place
 * @property {string} source      what an encoder-decoder reads
 * @property {Token[]} sourceTokens
 * @property {number} sourceCursor  the selected position there
 * @property {string[]} examples  other texts that the loaded model may be given to read
 *
 * @typedef {object} SamplerState the library's options of sampling
 * @property {number} temperature
 * @property {number} topK
 * @property {number} topP
 * @property {number} seed
 * @property {boolean} ignoreEos  write on after an end token
 *
 * @typedef {object} AttentionState
 * @property {import('./patterns.js').PatternStore | null} patterns
 * @property {Record<string, import('./patterns.js').PatternStore> | null} otherPatterns  of an encoder-decoder:
 *   `encoder`, `cross`
 * @property {import('./patterns.js').Stack} stack  which attention the panels show
 * @property {{ layer: number, head: number }} head
 * @property {number | null} key  the selected column of the large head
 * @property {{ query: number, key: number } | null} hover
 * @property {'raw' | 'scaled' | 'masked' | 'pattern'} stage
 * @property {'near' | 'whole'} zoom  the large head: the tokens before the selected one, or all
 * @property {boolean} arcs       draw the selected row over the text
 * @property {string[]} off       parts that are switched off, by their keys (switches.js)
 *
 * @typedef {object} RunState     the model and what it does
 * @property {'empty' | 'loading' | 'ready' | 'running' | 'paused' | 'done'} status
 * @property {LoadedModel | null} model
 * @property {{ name: string, phase: string, loaded: number, total: number | null, bytesPerSecond?: number | null,
 *   secondsLeft?: number | null } | null} progress
 * @property {{ name: string } | null} offer  a larger model that is loaded and may take the place of this one
 * @property {any} memory         the library's map of linear memory, read again when the text rests
 * @property {'reading' | 'fast' | 'step'} pace
 * @property {number} maxTokens
 * @property {{ tokensPerSecond: number, msPerToken: number, prefillMs: number }} speed  zeros until measured
 * @property {string} stopReason  of the last text, '' before
 *
 * @typedef {object} State
 * @property {ViewState} view
 * @property {TextState} text
 * @property {SamplerState} sampler
 * @property {AttentionState} attention
 * @property {RunState} run
 */

/** @returns {State} */
export const initialState = () => ({
  view: {
    id: 'write',
    lower: 'anatomy',
    chapter: '',
    openStage: '',
    walk: -1,
    choosing: false,
    theme: 'light',
    assignment: { question: '', concealed: [] },
    error: '',
    note: { text: '', address: '' },
  },
  text: {
    prompt: SHIPPED[0].opens.prompt,
    tokens: [],
    promptLength: 0,
    pure: true,
    cursor: -1,
    follow: true,
    logits: new Map(),
    sampled: null,
    words: new Map(),
    branches: [],
    source: 'one two three',
    sourceTokens: [],
    sourceCursor: 0,
    examples: [],
  },
  sampler: { temperature: 0.8, topK: 40, topP: 0.95, seed: 1337, ignoreEos: false },
  attention: {
    patterns: null,
    otherPatterns: null,
    stack: 'self',
    head: { layer: 0, head: 0 },
    key: null,
    hover: null,
    stage: 'pattern',
    zoom: 'near',
    arcs: true,
    off: [],
  },
  run: {
    status: 'empty',
    model: null,
    progress: null,
    offer: null,
    memory: null,
    pace: 'reading',
    maxTokens: 160,
    speed: { tokensPerSecond: 0, msPerToken: 0, prefillMs: 0 },
    stopReason: '',
  },
});
