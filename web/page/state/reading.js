// reading.js - the prompt, and the source of an encoder-decoder, read by the model: tokens, attention, what could follow

import { breather } from './breath.js';
import { logprob } from './likelihood.js';
import { PatternStore } from './patterns.js';
import { PATTERNS } from './points.js';

/** @typedef {import('./store.js').Token} Token */

/**
 * @param {number[]} ids
 * @param {string[]} words
 * @returns {Token[]}
 */
const given = (ids, words) => ids.map((id, i) => ({ id, text: words[i], given: true, logprob: null, top: null }));

/**
 * @param {import('./shared.js').Shared} shared
 * @param {ReturnType<typeof import('./words.js').createWords>} words
 */
export function createReading(shared, { idsOf, textsOf }) {
  const { state, set, model } = shared;

  /** @param {string} source */
  async function setSource(source) {
    set({ source });
    if (!model()) {
      shared.early.add('source');
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
    const mine = (shared.reading = readPrompt(prompt).finally(() => {
      if (shared.reading === mine) shared.reading = null;
    }));
    return mine;
  }

  /**
   * The tokens of a prompt. A target begins with tokens of its own, and does not end with any.
   * @param {string} prompt
   */
  async function targetOf(prompt) {
    const { bos, start } = model().special;
    if (!prompt) return start ?? (bos === null ? [] : [bos]);
    const ids = await idsOf(prompt, { addSpecialTokens: !start });
    return start && !state.model?.wordless ? [...start, ...ids] : ids;
  }

  /** @param {string} prompt */
  async function readPrompt(prompt) {
    const mine = ++shared.turn;
    shared.unread = false;
    set({ prompt });
    if (!model()) {
      shared.early.add('prompt');
      return;
    }
    await shared.close();
    /** @type {Token[]} */
    let sourceTokens = [];
    try {
      const ids = await targetOf(prompt);
      const sourceIds = shared.twoStacks() ? await idsOf(state.source) : [];
      if (mine !== shared.turn) return;
      fits(ids, 'prompt');
      fits(sourceIds, 'source');
      const [texts, sourceTexts] = [await textsOf(ids), await textsOf(sourceIds)];
      if (mine !== shared.turn) return;
      sourceTokens = given(sourceIds, sourceTexts);
      if (!ids.length || (shared.twoStacks() && !sourceIds.length))
        return await begin(mine, [], sourceTokens, null, null);
      const t0 = performance.now();
      const out = await model().forward(ids, { ...(shared.twoStacks() && { source: sourceIds }), capture: [PATTERNS] });
      if (mine !== shared.turn) return;
      await begin(mine, given(ids, texts), sourceTokens, out, performance.now() - t0);
    } catch (error) {
      if (mine !== shared.turn) return;
      await begin(mine, [], sourceTokens, null, null); // the text of another prompt would not be this one's
      shared.unread = true;
      shared.fail(error);
    }
  }

  /** Empty stores of attention rows for the model in hand. */
  function emptyRows() {
    const { config } = shared.inHand();
    const causal = config.causal !== false && config.kind !== 'encoder';
    return {
      causal,
      patterns: new PatternStore(config.nLayers, config.nHeads, 'self', causal),
      otherPatterns: shared.twoStacks()
        ? {
            encoder: new PatternStore(config.nEncoderLayers, config.nHeads, 'encoder'),
            cross: new PatternStore(config.nLayers, config.nHeads, 'cross', causal),
          }
        : null,
    };
  }

  /**
   * Fill the stores with a pass over a prompt, and its tokens with their probabilities.
   * @param {any} out  of the library's `forward`
   * @param {Token[]} tokens
   * @param {ReturnType<typeof emptyRows>} rows
   * @returns logits after each position, as far as they are a prediction
   */
  async function taken(out, tokens, { causal, patterns, otherPatterns }) {
    /** @type {Map<number, Float32Array>} */
    const logits = new Map();
    const rest = breather();
    /** @type {Record<string, Record<string, any>>} */
    const layers = {};
    for (const [name, tensor] of Object.entries(out.captured))
      (layers[/** @type {RegExpExecArray} */ (/\d+/.exec(name))[0]] ??= {})[name] = tensor;
    for (const layer of Object.values(layers)) {
      for (const p of [patterns, ...Object.values(otherPatterns ?? {})]) p.append(layer);
      await rest();
    }
    const [n, size] = out.logits?.shape ?? [0, 0]; // an encoder predicts nothing
    for (let p = causal || !n ? 0 : n - 1; p < n; p++) {
      // without the mask all but the last have seen what follows
      const row = out.logits.data.subarray(p * size, (p + 1) * size);
      logits.set(p, row);
      if (p + 1 < n) tokens[p + 1].logprob = logprob(row, tokens[p + 1].id);
      await rest();
    }
    return logits;
  }

  /**
   * Put a freshly read prompt in the place of the text, with what it reads beside it, unless another turn has come.
   * @param {number} mine
   * @param {Token[]} tokens
   * @param {Token[]} sourceTokens
   * @param {any} out  of the library's `forward`, or null
   * @param {number | null} ms
   */
  async function begin(mine, tokens, sourceTokens, out, ms) {
    const rows = emptyRows();
    const logits = out ? await taken(out, tokens, rows) : new Map();
    if (out && mine !== shared.turn) return;
    const { patterns, otherPatterns } = rows;
    shared.recent = [];
    const head = shared.fresh && patterns.length > 3 ? patterns.telling() : state.head;
    shared.fresh &&= !tokens.length;
    shared.turn++; // what was asked meanwhile was asked of the text before
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

  return { setPrompt, setSource };
}
