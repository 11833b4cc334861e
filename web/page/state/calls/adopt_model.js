// adopt_model.js - puts a loaded model in the place of the one before, with its opening and the state that begins with
// it
import { countParameters } from 'glassformer';
import { SAMPLER } from '../facts/sampler_options.js';
import { setSpecialTokens } from '../facts/special_tokens.js';
import { setPrompt } from './read_prompt.js';

/** The opening of a model that is neither shipped nor made here. */
const OPENING = { prompt: 'Once upon a time', temperature: SAMPLER.temperature.default };

/**
 * @typedef {import('../store/runtime.js').Runtime} Runtime
 * @typedef {import('../facts/shipped_models.js').Opening} Opening
 * @typedef {object} About  a model that was loaded or made
 * @property {string} name
 * @property {string} [address]
 * @property {number | null} [fileBytes]
 * @property {Opening} [opens]
 * @property {any} [source]   what the library was given
 * @property {import('glassformer').LoadOptions} [options]
 * @property {{ config: any, seed: number }} [made]
 * @property {boolean} [trained]  made by Train, which names it
 * @property {{ prompt?: string, source?: string }} [asked]  of an address: as they are
 */

/**
 * The opening of a model that brings none, after one of another kind: what that one's opening has set is taken back.
 * @param {import('../store/state.js').State} state
 * @param {import('../store/state.js').LoadedModel} old
 * @param {string} kind  of the new one
 * @returns {Opening}
 */
function plainOpening({ text: { prompt }, sampler: { temperature } }, { opens }, kind) {
  const own = prompt === opens?.prompt ? '' : prompt;
  return {
    prompt: kind === 'encoder_decoder' ? own : own || OPENING.prompt,
    temperature: temperature === opens?.temperature ? OPENING.temperature : temperature,
  };
}

/** The values of an opening that the visitor has not set already. @param {Runtime} runtime @param {any} opens */
const unset = ({ state: { engine } }, opens) =>
  opens && Object.fromEntries(Object.entries(opens).filter(([key]) => engine.model || !engine.setBefore.has(key)));

/**
 * What a model made here begins with: it has no token to begin with, and reads bytes: half of its context is left to
 * write in.
 * @param {Runtime} runtime
 * @param {any} api
 * @param {About} about
 */
function openMade(runtime, api, about) {
  const { contextLength } = api.config,
    { text } = runtime.state,
    { prompt, source } = unset(runtime, about.asked);
  runtime.set({
    text: {
      prompt: prompt ?? (text.prompt || OPENING.prompt).slice(0, Math.max(1, contextLength >> 1)),
      source: source ?? (text.source || 'one two three').slice(0, contextLength),
    },
  });
}

/**
 * @param {any} api
 * @param {Set<string>} points
 * @param {About} about
 * @returns {import('../store/state.js').LoadedModel}
 */
const described = (api, points, about) => ({
  ...{ address: '', source: null, made: null, fileBytes: null, ...about },
  config: api.config,
  parameters: api.parameters,
  counted: countParameters(api.config).total,
  backend: api.backend,
  kvDtype: api.kvDtype,
  warnings: api.warnings ?? [],
  points,
  api,
});

/**
 * The state with this model and no text yet.
 * @param {any} api
 * @param {Set<string>} points
 * @param {About} about
 * @param {Opening | undefined} opens
 * @param {{ layer: number, head: number }} head
 * @returns {import('../store/store.js').Patch}
 */
const began = (api, points, about, opens, head) => ({
  engine: {
    model: described(api, points, about),
    adapter: null,
    memory: api.memory,
    status: 'ready',
    stopReason: '',
    offer: null,
    speed: { tokensPerSecond: 0, msPerToken: 0, prefillMs: 0 },
  },
  text: {
    tokens: [],
    sourceTokens: [],
    cursor: -1,
    logits: new Map(),
    words: new Map(),
    branches: [],
    examples: about.opens?.examples ?? [],
  },
  attention: {
    patterns: null,
    otherPatterns: null,
    habits: null,
    stack: opens?.stack ?? 'self',
    head,
    key: null,
    hover: null,
    form: 'pattern',
    off: [],
  },
});

/**
 * Put a model in the place of the one before, unless another is on its way meanwhile.
 * @param {Runtime} runtime
 * @param {any} api  the library's Model
 * @param {About} about
 * @param {AbortController} loading of the model on its way
 * @returns {Promise<void>}
 */
export async function adoptModel(runtime, api, about, loading) {
  const { state, set } = runtime;
  const points = new Set(await api.points());
  await runtime.close();
  if (runtime.loading !== loading) return api.dispose();
  // from here on nothing is waited for: another may be on its way to this place
  const old = state.engine.model;
  // what was typed stays among models of a kind
  const another = !old || old.config.kind !== api.config.kind;
  const opens = another
    ? unset(runtime, about.opens ?? (old && !about.made ? plainOpening(state, old, api.config.kind) : undefined))
    : undefined;
  const shown = (opens ?? (about.opens?.stack ? {} : about.opens))?.head;
  if (about.made) openMade(runtime, api, about);
  runtime.turn++;
  const { layer, head } = state.attention.head;
  const { nLayers, nHeads } = api.config;
  setSpecialTokens(api.special);
  const first = shown ?? { layer: Math.min(layer, nLayers - 1), head: Math.min(head, nHeads - 1) };
  set(began(api, points, about, opens, first));
  set({ engine: { weights: state.engine.weights + 1 }, attention: { headChosen: !!shown } });
  old?.api.dispose();
  if (opens)
    set({
      text: { source: opens.source ?? state.text.source },
      sampler: { temperature: opens.temperature ?? state.sampler.temperature },
    });
  await setPrompt(runtime, opens?.prompt ?? state.text.prompt);
}
