// adopting.js - takes a loaded model in hand: its opening, and the state that begins with it

import { countParameters } from 'glassformer';

/** Of a model that is neither shipped nor made here. */
const OPENING = { prompt: 'Once upon a time', temperature: 0.8 };

/**
 * @typedef {import('./models.js').Opening} Opening
 * @typedef {object} About  a model that was loaded or made
 * @property {string} name
 * @property {string} [address]
 * @property {number | null} [fileBytes]
 * @property {Opening} [opens]
 * @property {any} [source]   what the library was given
 * @property {{ config: any, seed: number }} [made]
 * @property {{ prompt?: string, source?: string }} [asked]  of an address: as they are
 */

/**
 * @param {import('./shared.js').Shared} shared
 * @param {{ setPrompt: (prompt: string) => Promise<void>, dropOffer: () => void }} parts
 */
export function createAdopting(shared, { setPrompt, dropOffer }) {
  const { state, set } = shared;

  /**
   * The opening of a model that brings none, after one of another kind: what that one's opening has set is taken back.
   * @param {import('./store.js').LoadedModel} old
   * @param {string} kind  of the new one
   * @returns {Opening}
   */
  function plainOpening({ opens }, kind) {
    const { prompt, sampler } = state;
    const own = prompt === opens?.prompt ? '' : prompt;
    return {
      prompt: kind === 'encoder_decoder' ? own : own || OPENING.prompt,
      temperature: sampler.temperature === opens?.temperature ? OPENING.temperature : sampler.temperature,
    };
  }

  /** Of an opening what is not set already. */
  const unset = (/** @type {any} */ opens) =>
    opens && Object.fromEntries(Object.entries(opens).filter(([key]) => state.model || !shared.early.has(key)));

  /**
   * What a model made here begins with: it has no token to begin with, and reads bytes: half of its context is left to
   * write in.
   * @param {any} api
   * @param {About} about
   */
  function openMade(api, about) {
    const { contextLength } = api.config,
      { prompt, source } = unset(about.asked);
    set({
      prompt: prompt ?? (state.prompt || 'Once upon a time').slice(0, Math.max(1, contextLength >> 1)),
      source: source ?? (state.source || 'one two three').slice(0, contextLength),
    });
  }

  /**
   * @param {any} api
   * @param {About} about
   * @returns {import('./store.js').LoadedModel}
   */
  const described = (api, about) => ({
    name: about.name,
    address: about.address ?? '',
    source: about.source ?? null,
    made: about.made ?? null,
    opens: about.opens,
    fileBytes: about.fileBytes ?? null,
    config: api.config,
    parameters: api.parameters,
    counted: countParameters(api.config).total,
    backend: api.backend,
    kvDtype: api.kvDtype,
    warnings: api.warnings ?? [],
    api,
  });

  /**
   * The state with this model and no text yet.
   * @param {any} api
   * @param {About} about
   * @param {Opening | undefined} opens
   * @param {{ layer: number, head: number } | undefined} shown  the head that it is to be opened with
   * @returns {Partial<import('./store.js').State>}
   */
  const began = (api, about, opens, shown) => ({
    model: described(api, about),
    tokens: [],
    sourceTokens: [],
    patterns: null,
    otherPatterns: null,
    logits: new Map(),
    cursor: -1,
    key: null,
    hover: null,
    status: 'ready',
    stopReason: '',
    memory: api.memory,
    stack: opens?.stack ?? 'self',
    examples: about.opens?.examples ?? [],
    head: shown ?? {
      layer: Math.min(state.head.layer, api.config.nLayers - 1),
      head: Math.min(state.head.head, api.config.nHeads - 1),
    },
    speed: { tokensPerSecond: 0, msPerToken: 0, prefillMs: 0 },
    branches: [],
    stage: 'pattern',
    words: new Map(),
    off: [],
  });

  /**
   * Take a model in hand, unless another is on its way meanwhile.
   * @param {any} api  the library's Model
   * @param {About} about
   * @param {AbortController} mine of the model on its way
   * @returns {Promise<void>}
   */
  return async function adopt(api, about, mine) {
    const named = new Set(await api.points());
    await shared.close();
    if (shared.loading !== mine) return api.dispose();
    dropOffer();
    // from here on nothing is waited for: another may be on its way to this place
    const old = state.model;
    // what was typed stays among models of a kind
    const another = !old || old.config.kind !== api.config.kind;
    const opens = another
      ? unset(about.opens ?? (old && !about.made ? plainOpening(old, api.config.kind) : undefined))
      : undefined;
    const shown = (opens ?? (about.opens?.stack ? {} : about.opens))?.head;
    if (about.made) openMade(api, about);
    shared.turn++;
    shared.models++;
    shared.points = /** @type {Set<string>} */ (named);
    shared.fresh = !shown;
    set(began(api, about, opens, shown));
    old?.api.dispose();
    if (opens)
      set({
        source: opens.source ?? state.source,
        sampler: { ...state.sampler, temperature: opens.temperature ?? state.sampler.temperature },
      });
    await setPrompt(opens?.prompt ?? state.prompt);
  };
}
