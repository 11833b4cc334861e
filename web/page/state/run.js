// run.js - the model in hand and the text it writes: the page's one caller of the library.
//
// A text is a prompt and the tokens after it. While it may go on, a generator of the library stays open at its end;
// Run, Step and Stop only decide how often it is asked. Whatever changes the text's past or the sampler closes it.

import { create, load, countParameters, estimate } from 'glassformer';
import { createBroken } from './broken.js';
import { breather, pause } from './breath.js';
import { createExperiments } from './experiments.js';
import { int } from '../text/format.js';
import { createInquiry } from './inquiry.js';
import { logprob } from './likelihood.js';
import { PatternStore } from './patterns.js';
import { PATTERNS } from './points.js';
import { stepMs } from './speed.js';
import { createWords } from './words.js';

const READING_MS = 120; // per token: about 250 words a minute with tokens of three quarters of a word, a little faster
export const RUNNABLE = 60e6; // parameters that are made here with random weights, at most
const PATTERN_BUDGET = 256e6; // bytes of attention rows kept; beyond it the text goes on unseen

/** Of a model that is neither shipped nor made here. */
const OPENING = { prompt: 'Once upon a time', temperature: 0.8 };

const sentence = (/** @type {unknown} */ error) => (error instanceof Error ? error.message : String(error));
const aborted = (/** @type {any} */ error) => error?.name === 'AbortError';

/** Where two texts part: the first place at which they have not the same token.
 * @param {import('./store.js').Token[]} one @param {import('./store.js').Token[]} other */
export function parting(one, other) {
  let at = 0;
  while (at < one.length && one[at].id === other[at]?.id) at++;
  return at;
}

/** @param {import('./store.js').Store} store */
export function createRun(store) {
  const { state, set } = store;
  let generator = null; // open at the end of state.tokens, or null
  let running = false;
  let loops = 0; // readers of the generator so far: the newest has overtaken the others
  let turn = 0; // grows when the text or the model changes: later answers to earlier questions are dropped
  let loading = null; // AbortController of the model on its way: of several the last that was asked for
  /** loaded, to be taken in hand if somebody wants it @type {{ api: any, about: any } | null} */
  let offered = null;
  let recent = []; // ms of the last tokens
  let points = new Set(); // what this model can be asked for
  let fresh = true; // no head was shown for this model yet
  let models = 0; // taken in hand so far
  let memoryAt = 0; // when the map of memory was last read
  /** of a prompt, on its way: who wants to write waits for it @type {Promise<void> | null} */
  let reading = null;
  let unread = false; // the prompt could not be read: there is nothing to go on from
  const early = new Set(); // what a visitor has set before any model was there: no opening takes its place

  const model = () => state.model?.api;
  /**
   * The opening of a model that brings none, after one of another kind: what that one's opening has set is taken back.
   * @param {import('./store.js').LoadedModel} old
   * @param {string} kind  of the new one
   * @returns {import('./models.js').Opening}
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
    opens && Object.fromEntries(Object.entries(opens).filter(([key]) => state.model || !early.has(key)));

  function fail(error) {
    if (!aborted(error)) set({ error: sentence(error) });
  }

  // -- models ---------------------------------------------------------------------------------------------------------

  /** Load a model and make it the one in hand. The one before stays until the new one is whole, and for good if it
   * never is. @param {any} source @param {{ name: string, address?: string, fileBytes?: number | null,
   *   opens?: import('./models.js').Opening, instead?: () => boolean, fetch?: typeof fetch, options?: any }} about
   *   `instead` is asked once the model is there whether it may still replace the other, if there is one: otherwise it is
   *   offered. `options`: the library's */
  async function loadModel(source, about) {
    loading?.abort();
    const mine = (loading = new AbortController());
    let fileBytes = about.fileBytes ?? null;
    const before = state.status;
    set({
      progress: { name: about.name, phase: 'download', loaded: 0, total: fileBytes },
      error: '',
      ...(state.model ? {} : { status: 'loading' }),
    });
    try {
      const api = await load(source, {
        ...about.options,
        signal: mine.signal,
        ...(about.fetch && { fetch: about.fetch }),
        onProgress(p) {
          if (p.phase === 'download' && p.total) fileBytes = p.total;
          if (loading === mine)
            set({ progress: { name: about.name, phase: p.phase, loaded: p.loaded, total: p.total } });
        },
      });
      if (loading !== mine) return api.dispose();
      if (state.model && about.instead?.() === false) return offer(api, { ...about, fileBytes, source });
      await adopt(api, { ...about, fileBytes, source }, mine);
    } catch (error) {
      if (loading !== mine) return;
      fail(error);
      set({ status: state.model ? state.status : before === 'loading' ? 'empty' : before });
    } finally {
      if (loading === mine) {
        loading = null;
        set({ progress: null });
      }
    }
  }

  /** Break off the model on its way. */
  function stopLoading() {
    loading?.abort();
  }

  /**
   * Keep a loaded model until somebody wants it.
   * @param {any} api
   * @param {any} about
   */
  function offer(api, about) {
    dropOffer();
    offered = { api, about };
    set({ offer: { name: about.name } });
  }
  function dropOffer() {
    offered?.api.dispose();
    offered = null;
    if (state.offer) set({ offer: null });
  }

  /** Take the offered model in hand. The text stays, and goes on if it was being written. */
  async function takeOffer() {
    if (!offered) return;
    const { api, about } = offered;
    offered = null;
    set({ offer: null });
    loading?.abort();
    const mine = (loading = new AbortController());
    const writes = state.status === 'running';
    const ids = state.tokens.map((t) => t.id);
    const given = state.tokens.filter((t) => t.given).length;
    await adopt(api, about, mine);
    if (loading === mine) loading = null;
    if (model() !== api) return;
    const same = ids.slice(0, given).every((id, i) => state.tokens[i]?.id === id);
    if (same && ids.length > given) await restore(ids.slice(given), given);
    if (writes) await run();
  }

  /** Make a model with random weights and take it in hand. @param {any} config @param {number} [seed]
   * @param {{ prompt?: string, source?: string }} [asked]  of an address: as they are @returns whether it is there */
  async function make(config, seed = state.sampler.seed, asked = {}) {
    loading?.abort();
    const mine = (loading = new AbortController());
    set({ error: '', progress: { name: 'random weights', phase: 'load', loaded: 0, total: null } });
    try {
      const { total } = countParameters(config);
      if (total > RUNNABLE)
        throw new Error(`a model of ${int(total)} parameters is too large to be made here: at most ${int(RUNNABLE)}`);
      const api = await create(config, { seed, signal: mine.signal });
      if (loading !== mine) {
        api.dispose();
        return false;
      }
      await adopt(api, { name: 'random weights', made: { config, seed }, asked }, mine);
      return model() === api;
    } catch (error) {
      if (loading === mine) fail(error);
      return false;
    } finally {
      if (loading === mine) {
        loading = null;
        set({ progress: null });
      }
    }
  }

  /**
   * @param {any} api
   * @param {any} about
   * @param {AbortController} mine of the model on its way
   */
  async function adopt(api, about, mine) {
    const named = new Set(await api.points());
    await close();
    if (loading !== mine) return api.dispose();
    dropOffer();
    // from here on nothing is waited for: another may be on its way to this place
    const old = state.model;
    // what was typed stays among models of a kind
    const another = !old || old.config.kind !== api.config.kind;
    const opens = another
      ? unset(about.opens ?? (old && !about.made ? plainOpening(old, api.config.kind) : undefined))
      : undefined;
    const shown = (opens ?? (about.opens?.stack ? {} : about.opens))?.head;
    if (about.made) {
      // it has no token to begin with, and reads bytes: half of its context is left to write in
      const { contextLength } = api.config,
        { prompt, source } = unset(about.asked);
      set({
        prompt: prompt ?? (state.prompt || 'Once upon a time').slice(0, Math.max(1, contextLength >> 1)),
        source: source ?? (state.source || 'one two three').slice(0, contextLength),
      });
    }
    turn++;
    models++;
    points = named;
    fresh = !shown;
    const config = api.config;
    set({
      model: {
        name: about.name,
        address: about.address ?? '',
        source: about.source ?? null,
        made: about.made ?? null,
        opens: about.opens,
        fileBytes: about.fileBytes ?? null,
        config,
        parameters: api.parameters,
        counted: countParameters(config).total,
        backend: api.backend,
        kvDtype: api.kvDtype,
        warnings: api.warnings ?? [],
        api,
      },
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
        layer: Math.min(state.head.layer, config.nLayers - 1),
        head: Math.min(state.head.head, config.nHeads - 1),
      },
      speed: { tokensPerSecond: 0, msPerToken: 0, prefillMs: 0 },
      branches: [],
      stage: 'pattern',
      words: new Map(),
      off: [],
    });
    old?.api.dispose();
    if (opens)
      set({
        source: opens.source ?? state.source,
        sampler: { ...state.sampler, temperature: opens.temperature ?? state.sampler.temperature },
      });
    await setPrompt(opens?.prompt ?? state.prompt);
  }

  // -- text -----------------------------------------------------------------------------------------------------------

  const twoStacks = () => state.model?.config.kind === 'encoder_decoder';
  /** What an encoder-decoder is given to read, in every call. */
  const reads = () => (twoStacks() ? { source: state.sourceTokens.map((t) => t.id) } : {});
  const has = (/** @type {string} */ name) => points.has(name);

  const { idsOf, textsOf, spell } = createWords(store, fail);
  const inquiry = createInquiry(store, { turn: () => turn, reads, has, fail });

  /** @param {string} source */
  async function setSource(source) {
    set({ source });
    if (!model()) {
      early.add('source');
      return;
    }
    await setPrompt(state.prompt);
  }

  /**
   * @param {number[]} ids
   * @param {string} what
   */
  function fits({ length }, what) {
    const { contextLength } = model();
    if (length > contextLength) throw new Error(`the ${what} has ${length} tokens, the context holds ${contextLength}`);
  }

  /**
   * Read this prompt: its tokens, its attention, what could follow.
   * @param {string} prompt
   */
  function setPrompt(prompt) {
    const mine = (reading = readPrompt(prompt).finally(() => {
      if (reading === mine) reading = null;
    }));
    return mine;
  }
  async function readPrompt(prompt) {
    const mine = ++turn;
    unread = false;
    set({ prompt });
    if (!model()) {
      early.add('prompt');
      return;
    }
    await close();
    /** @type {import('./store.js').Token[]} */
    let sourceTokens = [];
    try {
      const { bos } = model().special;
      const ids = prompt ? await idsOf(prompt) : bos === null ? [] : [bos];
      const sourceIds = twoStacks() ? await idsOf(state.source) : [];
      if (mine !== turn) return;
      fits(ids, 'prompt');
      fits(sourceIds, 'source');
      const [texts, sourceTexts] = [await textsOf(ids), await textsOf(sourceIds)];
      if (mine !== turn) return;
      const given = (/** @type {number[]} */ list, /** @type {string[]} */ words) =>
        list.map((id, i) => ({ id, text: words[i], given: true, logprob: null, top: null }));
      sourceTokens = given(sourceIds, sourceTexts);
      if (!ids.length || (twoStacks() && !sourceIds.length)) return await begin(mine, [], sourceTokens, null, null);
      const t0 = performance.now();
      const out = await model().forward(ids, { ...(twoStacks() && { source: sourceIds }), capture: [PATTERNS] });
      if (mine !== turn) return;
      await begin(mine, given(ids, texts), sourceTokens, out, performance.now() - t0);
    } catch (error) {
      if (mine !== turn) return;
      await begin(mine, [], sourceTokens, null, null); // the text of another prompt would not be this one's
      unread = true;
      fail(error);
    }
  }

  /** Put a freshly read prompt in the place of the text, with what it reads beside it, unless another turn has come. */
  async function begin(mine, tokens, sourceTokens, out, ms) {
    const { config } = state.model;
    const causal = config.causal !== false && config.kind !== 'encoder';
    const patterns = new PatternStore(config.nLayers, config.nHeads, 'self', causal);
    const otherPatterns = twoStacks()
      ? {
          encoder: new PatternStore(config.nEncoderLayers, config.nHeads, 'encoder'),
          cross: new PatternStore(config.nLayers, config.nHeads, 'cross', causal),
        }
      : null;
    const logits = new Map();
    if (out) {
      const rest = breather();
      /** @type {Record<string, Record<string, any>>} */
      const layers = {};
      for (const [name, tensor] of Object.entries(out.captured)) (layers[/\d+/.exec(name)[0]] ??= {})[name] = tensor;
      for (const layer of Object.values(layers)) {
        for (const p of [patterns, ...Object.values(otherPatterns ?? {})]) p.append(layer);
        await rest();
      }
      const [n, size] = out.logits?.shape ?? [0, 0]; // an encoder predicts nothing
      for (let p = causal || !n ? 0 : n - 1; p < n; p++) {
        // without the mask all but the last have seen what follows
        logits.set(p, out.logits.data.subarray(p * size, (p + 1) * size));
        if (p + 1 < n) tokens[p + 1].logprob = logprob(logits.get(p), tokens[p + 1].id);
        await rest();
      }
      if (mine !== turn) return;
    }
    recent = [];
    const head = fresh && patterns.length > 3 ? patterns.telling() : state.head;
    fresh &&= !tokens.length;
    turn++; // what was asked meanwhile was asked of the text before
    set({
      head,
      tokens,
      sourceTokens,
      sourceCursor: Math.max(0, sourceTokens.length - 1),
      patterns,
      otherPatterns,
      logits,
      cursor: tokens.length - 1,
      key: null,
      hover: null,
      follow: true,
      status: 'ready',
      stopReason: '',
      branches: [],
      pure: true,
      promptLength: tokens.length,
      error: '',
      speed: { ...state.speed, prefillMs: ms ?? state.speed.prefillMs },
    });
  }

  // -- generation -----------------------------------------------------------------------------------------------------

  /** At once; whoever waits for it waits until the engine has let go as well. */
  async function close() {
    running = false;
    const old = generator;
    generator = null;
    if (old) await old.return(undefined);
  }

  function open() {
    const {
      sampler,
      tokens,
      patterns,
      model: { config },
    } = state;
    const left = patterns.bytes < PATTERN_BUDGET;
    generator = model().generate(
      tokens.map((t) => t.id),
      {
        ...reads(),
        ...sampler,
        logprobs: Math.min(10, config.vocabSize),
        ...(left ? { capture: [PATTERNS] } : {}),
      },
    );
  }

  /** The map of memory comes with answers, and a stream of tokens is not one: ask for something small. */
  function readMemory() {
    const api = model();
    void api.points().then(
      () => {
        if (api === model()) set({ memory: api.memory });
      },
      () => {},
    );
  }

  /**
   * Ask the generator for one token.
   * @returns whether there was one
   */
  async function advance() {
    const mine = turn;
    const written = state.tokens.filter((t) => !t.given).length;
    if (written >= state.maxTokens) {
      // counted here: the limit may be moved while a generator is open
      void close();
      set({ status: 'done', stopReason: 'maxTokens' });
      return false;
    }
    if (!generator) open();
    const source = generator;
    const { value, done } = await source.next().catch((/** @type {unknown} */ error) => {
      if (source !== generator) return {}; // nobody waits for it any more
      generator = null;
      throw error;
    });
    if (mine !== turn || source !== generator) return false;
    if (done) {
      generator = null;
      set({
        status: 'done',
        stopReason: value.stopReason,
        speed: { ...state.speed, tokensPerSecond: value.tokensPerSecond || state.speed.tokensPerSecond },
      });
      return false;
    }
    const now = performance.now();
    if (now - memoryAt > 200) {
      memoryAt = now;
      readMemory();
    }
    const { tokens, patterns } = state;
    if (value.captured)
      for (const p of [patterns, ...Object.values(state.otherPatterns ?? {})]) p.append(value.captured);
    tokens.push({ id: value.id, text: value.text, given: false, logprob: value.logprob, top: value.top ?? null });
    if (written) recent.push(value.ms);
    if (recent.length > 64) recent.shift();
    const ms = stepMs(recent);
    set({
      tokens,
      patterns,
      ...(state.follow ? { cursor: tokens.length - 2, key: null } : {}),
      ...(ms ? { speed: { ...state.speed, msPerToken: ms, tokensPerSecond: 1000 / ms } } : {}),
    });
    return true;
  }

  /** The prompt is there to be written on; one that could not be read is tried again, which tells why. */
  async function begun() {
    await reading;
    if (unread) await setPrompt(state.prompt);
  }

  /** Write on until something stops it. A text that has ended starts again from its prompt. */
  async function run() {
    await begun();
    if (running || unread || !model() || state.model.config.kind === 'encoder') return;
    if (state.pace === 'step') return step();
    if (state.status === 'done') rewind();
    const mine = ++loops;
    running = true;
    set({ status: 'running', error: '', stopReason: '', follow: true });
    const start = performance.now();
    try {
      let due = start;
      const rest = breather();
      while (running && mine === loops && (await advance())) {
        const now = performance.now();
        if (state.pace === 'reading') {
          due = Math.max(now, due + READING_MS);
          await pause(due - now);
        } else {
          await rest(); // the generator may answer without leaving the task
        }
        if (state.pace === 'step') break; // chosen meanwhile
      }
    } catch (error) {
      fail(error);
    }
    if (mine !== loops) return;
    running = false;
    performance.measure('generation', { start }); // for a browser's own tools
    if (state.status === 'running') set({ status: 'paused' });
    readMemory();
  }

  /** A model that reads is shown by what it makes of its text. */
  const greet = async () => {
    if (twoStacks() && state.source && state.status === 'ready') await run();
  };

  /** Write one token. */
  async function step() {
    await begun();
    if (running || unread || !model() || state.model.config.kind === 'encoder') return;
    if (state.status === 'done') rewind();
    const mine = ++loops;
    running = true;
    set({ status: 'running', error: '', stopReason: '', follow: true });
    try {
      await advance();
    } catch (error) {
      fail(error);
    }
    if (mine !== loops) return;
    running = false;
    if (state.status === 'running') set({ status: 'paused' });
  }

  /** Stop writing; what is written stays, and Run goes on from it. */
  function stop() {
    running = false;
    if (state.status === 'running') set({ status: 'paused' });
  }

  /** Drop everything after the prompt; one that is being read brings nothing after it. */
  function rewind() {
    if (reading || !model()) return;
    // branched within it
    if (state.tokens.filter((t) => t.given).length < state.promptLength) return void setPrompt(state.prompt);
    turn++;
    void close();
    running = false;
    cut(state.tokens.findIndex((t) => !t.given));
    set({ status: 'ready', stopReason: '', branches: [], pure: true });
  }

  function cut(n) {
    if (n < 0 || n >= state.tokens.length) return;
    const { tokens, patterns, logits } = state;
    tokens.length = n;
    patterns.truncate(n);
    state.otherPatterns?.cross.truncate(n);
    for (const p of [...logits.keys()]) if (p >= n) logits.delete(p);
    set({ tokens, patterns, logits, cursor: n - 1, key: null, hover: null, follow: true });
  }

  /** Put another token after this position and go on from there; the text left behind is kept beside it.
   * @param {number} position @param {number} id */
  async function branch(position, id) {
    if (reading || state.model.config.kind === 'encoder') return;
    const mine = turn;
    await spell([id]);
    const { tokens, branches } = state;
    const old = tokens[position + 1];
    if (mine !== turn || old?.id === id) return;
    turn++;
    void close();
    const text = state.words.get(id) ?? '';
    const exact = state.logits.get(position),
      named = old?.top?.find((t) => t.id === id);
    if (old) branches.push({ at: position + 1, tokens: [...tokens] });
    cut(position + 1);
    tokens.push({ id, text, given: false, logprob: exact ? logprob(exact, id) : (named?.logprob ?? null), top: null });
    set({ tokens, branches, cursor: position, follow: true, status: 'paused', stopReason: '', pure: false });
    if (state.pace !== 'step') await run();
  }

  /**
   * Take up a text that was left behind; the present one is left in its place.
   * @param {number} i
   */
  async function takeUp(i) {
    if (reading) return;
    const { tokens, branches } = state;
    const { tokens: old } = branches[i];
    const at = parting(tokens, old); // others may have been left behind since
    turn++;
    void close();
    branches[i] = { at: Math.min(at, tokens.length - 1), tokens: [...tokens] }; // it may be the other's beginning
    cut(at);
    tokens.push(...old.slice(at));
    set({ tokens, branches, cursor: at - 1, follow: false, status: 'paused', stopReason: '' });
    await inquiry.wantRows();
  }

  /**
   * Put these ids after the prompt, or its first tokens, as an address may ask for.
   * @param {number[]} ids
   * @param {number} [kept]
   */
  async function restore(ids, kept = state.tokens.length) {
    const mine = turn;
    await spell(ids);
    if (mine !== turn) return;
    const { tokens } = state;
    turn++;
    void close();
    cut(kept);
    tokens.push(...ids.map((id) => ({ id, text: state.words.get(id) ?? '', given: false, logprob: null, top: null })));
    set({ tokens, status: 'paused', pure: false });
    await inquiry.wantRows();
    set({ cursor: state.patterns.length - 1 });
  }

  /** @param {Partial<import('./store.js').State['sampler']>} patch */
  function setSampler(patch) {
    set({ sampler: { ...state.sampler, ...patch } });
    if (!model()) for (const key of Object.keys(patch)) early.add(key);
    if (state.tokens.some((t) => !t.given)) set({ pure: false });
    if (generator) {
      // The open generator was started under the old rule: the next token comes from a new one.
      const was = running;
      void close();
      if (was) {
        set({ status: 'paused' });
        void run();
      }
    }
  }

  return {
    ...inquiry,
    ...createExperiments(store, reads),
    ...createBroken(store, reads),
    reads,
    idsOf,
    spell,
    /** Whether the model has this point. */
    has,
    /** What every number depends on: the model, what it reads, the text. Equal keys, equal numbers. */
    textKey: () => `${models}: ${state.sourceTokens.map((t) => t.id)}: ${state.tokens.map((t) => t.id)}`,
    loadModel,
    stopLoading,
    takeOffer,
    dropOffer,
    make,
    setPrompt,
    setSource,
    run,
    greet,
    step,
    stop,
    rewind,
    branch,
    takeUp,
    restore,
    setSampler,
    /** @param {number} n */
    costAt: (n) => estimate(state.model.config, { contextLength: n, kvDtype: state.model.kvDtype }),
  };
}

/** @typedef {ReturnType<typeof createRun>} Run */
