// state.js - the values of the state in five groups, as they are before any model is loaded
import { language } from '../base/language.js';
import { samplerDefaults } from '../facts/sampler_options.js';
import { SHIPPED } from '../facts/shipped_models.js';

/** @typedef {import('../../../draw/pattern_store.js').PatternStore} PatternStore */
/**
 * @typedef {object} Token
 * @property {number} id
 * @property {string} text      what it adds to the text; '' while a character is incomplete
 * @property {boolean} given    part of the prompt, not written by the model
 * @property {number | null} logprob  natural logarithm of the model's probability for it, null where nobody asked
 * @property {{ id: number, text: string, logprob: number, probability: number }[] | null} top  likeliest tokens at its
 *   place; probability: with which the sampler drew them
 * @property {import('../facts/sampler_options.js').Rule} [rule]  of the sampler, when the model wrote it
 *
 * @typedef {object} LoadedModel
 * @property {string} name
 * @property {string} address     where it came from: an address, a file's name, or '' for one built here
 * @property {any} source          what the library was given, to load it again otherwise; null for one built here
 * @property {import('glassformer').LoadOptions} [options]  with which it was loaded
 * @property {{ config: any, seed: number } | null} made  of which one built here was made
 * @property {import('../facts/shipped_models.js').Opening} [opens]  what it began with
 * @property {number | null} fileBytes
 * @property {any} config
 * @property {any} parameters     the table of the file that was loaded
 * @property {number} counted     parameters that the config alone predicts
 * @property {string} backend
 * @property {'f32' | 'f16' | 'q8_0'} kvDtype  of the key/value cache
 * @property {string[]} warnings
 * @property {boolean} [wordless]  it has no tokenizer: its tokens are shown by their ids
 * @property {Set<string>} points  hook points that it has
 * @property {any} api            the library's Model; panels ask it for values and never write to it
 */

/** @typedef {ReturnType<typeof initialState>} State */

/** What is open, and what is said about it. */
const view = () => ({
  id: /** @type {import('../facts/views.js').View} */ ('write'),
  tour: 0, // the open step of the tour, counted from 1; 0 for none
  learn: '', // the open page of the textbook, '' for none
  lab: '', // the open lab, '' for the first
  labSize: /** @type {'full' | 'short'} */ ('full'), // size of its runs; short for tests
  preset: '', // a known size that is counted beside the loaded model, '' for the first
  /** What the view Features shows, or was asked to show. @type {import('../facts/feature_link.js').FeatureLink | null} */
  features: null,
  answered: /** @type {string[]} */ ([]), // pages whose question was answered
  unit: '', // neuron or head whose card is open, by its key (switchable_parts.js), '' for none
  candidates: false, // the panel “Next token” is open: logits, divided by T, softmax, after the cut
  openStage: '', // stage of the anatomy whose values are open, '' for none
  present: '', // the panel that is presented alone in larger type, '' for none
  choosing: false, // the dialog of models is open
  language, // language of the page
  theme: /** @type {'light' | 'dark'} */ ('light'), // what is shown now, chosen or from the system
  /** What a link for a class holds: what is asked, pages of the textbook whose questions are, and panels that are hidden until the
   * visitor asks for them. */
  assignment: { question: '', questions: /** @type {string[]} */ ([]), concealed: /** @type {string[]} */ ([]) },
  fonts: false, // the page's own are applied
  error: '', // one sentence, '' when all is well
  /** What a visitor has to know, '' when nothing; the address of a model that may be loaded, or ''. */
  note: { text: '', address: '' },
});

/** The prompt and the text after it. */
const text = () => ({
  prompt: SHIPPED[0].opens.prompt,
  tokens: /** @type {Token[]} */ ([]), // prompt and text in order; index = position
  promptLength: 0, // tokens of the whole prompt: a text that was branched within it keeps fewer
  unread: false, // the prompt could not be read: there is nothing to write on from
  /** The prompt has more tokens than the context holds; more: these are its first ones only. @type {{ tokens: number, more: boolean } | null} */
  over: null,
  pure: true, // the text follows from model, prompt, sampler and seed alone
  cursor: -1, // the selected position: its row of attention, the distribution after it; -1 for none
  follow: true, // the cursor follows the text while it grows
  logits: /** @type {Map<number, Float32Array>} */ (new Map()), // after a position, where known exactly
  /** The sampler's probabilities for the row of logits that was last asked about.
   * @type {{ row: Float32Array, rule: import('../facts/sampler_options.js').Rule, probabilities: Float32Array } | null} */
  sampled: null,
  words: /** @type {Map<number, string>} */ (new Map()), // what ids add to a text, as far as asked
  /** Texts left behind by choosing another token, each at that place. @type {{ at: number, tokens: Token[] }[]} */
  branches: [],
  /** A run that is kept beside the next ones. @type {import('../calls/branching.js').Kept | null} */
  kept: null,
  source: 'one two three', // what an encoder-decoder reads
  sourceTokens: /** @type {Token[]} */ ([]),
  sourceCursor: 0, // the selected position there
  examples: /** @type {string[]} */ ([]), // other texts that the loaded model may be given to read
});

/** The attention that is shown, and the parts that are off. */
const attention = () => ({
  patterns: /** @type {PatternStore | null} */ (null),
  /** The other attentions of an encoder-decoder: `encoder`, `cross`. @type {Record<string, PatternStore> | null} */
  otherPatterns: null,
  /** What each head does as a rule, once measured: [layer][head]. @type {import('../calls/head_habits.js').Scores[][] | null} */
  habits: null,
  habitsFor: 0, // the weights (engine.weights) whose habits were asked for
  stack: /** @type {import('../calls/shown_attention.js').Stack} */ ('self'), // which attention the panels show
  head: { layer: 0, head: 0 },
  headChosen: false, // by an opening or by the first text of this model
  key: /** @type {number | null} */ (null), // the selected column of the large head
  hover: /** @type {{ query: number, key: number } | null} */ (null),
  form: /** @type {'raw' | 'scaled' | 'masked' | 'pattern'} */ ('pattern'), // form of the scores that are shown
  zoom: /** @type {'near' | 'whole'} */ ('near'), // the large head: the tokens before the selected one, or all
  arcs: true, // draw the selected row over the text
  off: /** @type {string[]} */ ([]), // parts that are switched off, by their keys (switchable_parts.js)
});

/** The engine: its model, and what it does. */
const engine = () => ({
  status: /** @type {'empty' | 'loading' | 'ready' | 'running' | 'paused' | 'done'} */ ('empty'),
  model: /** @type {LoadedModel | null} */ (null),
  weights: 0, // grows with each change of model or adapter: equal numbers, equal weights
  /** Names of what a visitor has set before any model was there: no opening takes its place. @type {Set<string>} */
  setBefore: new Set(),
  adapter: /** @type {import('../calls/set_adapter.js').Adapter | null} */ (null), // in use beside the model's weights
  /** @type {{ name: string, phase: string, loaded: number, total: number | null, bytesPerSecond?: number | null,
   *   secondsLeft?: number | null } | null} */
  progress: null,
  /** A larger model that may be downloaded and take the place of this one. @type {import('../facts/shipped_models.js').Shipped | null} */
  offer: null,
  /** A checkpoint that waits for keys of its configuration. @type {{ keys: NonNullable<import('glassformer').GlassformerError['keys']>,
   *   source: any, about: Parameters<typeof import('../calls/load_models.js').loadModel>[2] } | null} */
  missingKeys: null,
  memory: /** @type {any} */ (null), // the library's map of linear memory, read again when the text rests
  pace: /** @type {'reading' | 'fast' | 'step'} */ ('reading'),
  maxTokens: 160,
  speed: { tokensPerSecond: 0, msPerToken: 0, prefillMs: 0 }, // zeros until measured
  stopReason: '', // why the last text ended, '' before
});

export const initialState = () => ({
  view: view(),
  text: text(),
  sampler: samplerDefaults(),
  attention: attention(),
  engine: engine(),
});
