// read_prompt.js - lets the model read the prompt, and the source of an encoder-decoder: tokens, attention, what could
// follow
import { say } from '../base/language.js';
import { logprob, prepare } from '../../../draw/likelihood.js';
import { PatternStore } from '../../../draw/pattern_store.js';
import { fillsBlanks, headsOf } from '../facts/architecture.js';
import { isMask } from '../facts/special_tokens.js';
import { PATTERNS } from '../facts/hook_points.js';
import { appendRows, keptLogits } from './attention_rows.js';
import { boundedIds, idsOf, textsOf } from './ids_and_texts.js';
import { yielder } from '../base/yielding.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */
/** @typedef {import('../store/state.js').Token} Token */

/**
 * @param {number[]} ids
 * @param {string[]} words
 * @returns {Token[]}
 */
const given = (ids, words) => ids.map((id, i) => ({ id, text: words[i], given: true, logprob: null, top: null }));

/** @param {Runtime} runtime @param {string} source */
export async function setSource(runtime, source) {
  runtime.set({ text: { source } });
  if (!runtime.model()) {
    runtime.state.engine.setBefore.add('source');
    return;
  }
  await setPrompt(runtime, runtime.state.text.prompt);
}

/**
 * Read this prompt: its tokens, its attention, what could follow.
 * @param {Runtime} runtime
 * @param {string} prompt
 */
export function setPrompt(runtime, prompt) {
  const reading = (runtime.reading = readPrompt(runtime, prompt).finally(() => {
    if (runtime.reading === reading) runtime.reading = null;
  }));
  return reading;
}

/** @param {Runtime} runtime @param {string} prompt */
async function readPrompt(runtime, prompt) {
  const turn = ++runtime.turn;
  const current = () => turn === runtime.turn;
  runtime.set({ text: { prompt, unread: false, over: null } });
  if (!runtime.model()) {
    runtime.state.engine.setBefore.add('prompt');
    return;
  }
  await runtime.close();
  /** @type {Token[]} */
  let sourceTokens = [];
  try {
    const { ids, more } = await targetOf(runtime, prompt);
    const sourceIds = runtime.twoStacks() ? await idsOf(runtime, runtime.state.text.source) : [];
    if (!current()) return;
    if (ids.length > runtime.model().contextLength) {
      await begin(runtime, [], []); // the text of another prompt would not be this one's
      return runtime.set({ text: { unread: true, over: { tokens: ids.length, more } } });
    }
    fits(runtime, sourceIds);
    const [texts, sourceTexts] = [await textsOf(runtime, ids), await textsOf(runtime, sourceIds)];
    if (!current()) return;
    sourceTokens = given(sourceIds, sourceTexts);
    if (!ids.length || (runtime.twoStacks() && !sourceIds.length)) return await begin(runtime, [], sourceTokens);
    const start = performance.now();
    const source = runtime.twoStacks() && { source: sourceIds };
    const logits = keptLogits(runtime.loaded().config, ids.length);
    const out = await runtime.model().forward(ids, { ...source, capture: [PATTERNS], logits });
    if (!current()) return;
    await begin(runtime, given(ids, texts), sourceTokens, { out, ms: performance.now() - start });
    if (logits === 'last') void readProbabilities(runtime).catch(runtime.fail); // nothing waits for them
  } catch (error) {
    if (!current()) return;
    await begin(runtime, [], sourceTokens); // the text of another prompt would not be this one's
    runtime.set({ text: { unread: true } });
    runtime.fail(error);
  }
}

/**
 * The tokens of a prompt. A target begins with tokens of its own, and does not end with any.
 * @param {Runtime} runtime
 * @param {string} prompt
 */
async function targetOf(runtime, prompt) {
  const { bos, start } = runtime.model().special;
  if (!prompt) return { ids: start ?? (bos === null ? [] : [bos]), more: false };
  const { ids, more } = await boundedIds(runtime, prompt, { addSpecialTokens: !start });
  return { ids: start && !runtime.loaded().wordless ? [...start, ...ids] : ids, more };
}

/** @param {Runtime} runtime @param {number[]} sourceIds */
function fits(runtime, { length }) {
  const { contextLength } = runtime.model();
  if (length > contextLength) throw new Error(say`the source has ${length} tokens, the context holds ${contextLength}`);
}

/** The probabilities of the prompt's own tokens, where the page has no logits of them: the engine adds up each row.
 * @param {Runtime} runtime */
async function readProbabilities(runtime) {
  const { turn, set } = runtime;
  const { tokens } = runtime.state.text;
  const n = tokens.length;
  if (n < 2) return;
  const { perToken } = await runtime.model().loss(runtime.ids(), { perToken: true });
  if (turn !== runtime.turn) return;
  for (let i = 1; i < n; i++) tokens[i].logprob = -perToken.data[i - 1];
  set({ text: { tokens } });
}

/** Empty stores of attention rows for the loaded model. @param {Runtime} runtime */
function emptyRows(runtime) {
  const { config } = runtime.loaded();
  const causal = config.causal !== false && config.kind !== 'encoder';
  return {
    causal,
    fills: fillsBlanks(config),
    patterns: new PatternStore(config.nLayers, config.nHeads, 'self', causal),
    otherPatterns: runtime.twoStacks()
      ? {
          encoder: new PatternStore(config.nEncoderLayers, headsOf(config, true), 'encoder'),
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
 * @returns logits after each position, or of a word that is hidden there, as far as they are a prediction
 */
async function filled(out, tokens, { causal, fills, patterns, otherPatterns }) {
  /** @type {Map<number, Float32Array>} */
  const logits = new Map();
  await appendRows(out.captured, [patterns, ...Object.values(otherPatterns ?? {})]);
  const rest = yielder();
  const [n, size] = out.logits?.shape ?? [0, 0]; // only some encoders have any
  const first = tokens.length - n; // a large vocabulary has the last row only
  for (let i = causal || fills || !n ? 0 : n - 1; i < n; i++) {
    // without the mask all but the last have seen what follows
    const row = out.logits.data.subarray(i * size, (i + 1) * size);
    logits.set(first + i, row);
    if (i + 1 < n && !fills) tokens[i + 1].logprob = logprob(row, tokens[i + 1].id);
    await rest();
  }
  return logits;
}

/**
 * Put a freshly read prompt in the place of the text, with what it reads beside it, unless another turn has come.
 * @param {Runtime} runtime
 * @param {Token[]} tokens
 * @param {Token[]} sourceTokens
 * @param {{ out: any, ms: number }} [pass]  of the library's `forward`; absent where the text is empty
 */
async function begin(runtime, tokens, sourceTokens, pass) {
  const { state, set, turn } = runtime;
  const rows = emptyRows(runtime);
  const logits = pass ? await filled(pass.out, tokens, rows) : new Map();
  const last = logits.get(tokens.length - 1);
  if (last) await prepare(last, state.sampler.temperature, yielder());
  if (turn !== runtime.turn) return;
  const { patterns, otherPatterns } = rows;
  runtime.recent = [];
  const { headChosen } = state.attention;
  const head = !headChosen && patterns.length > 3 ? patterns.plainest() : state.attention.head;
  const blank = rows.fills ? tokens.findIndex(isMask) : -1;
  runtime.turn++; // what was asked meanwhile was asked of the text before
  set({
    text: {
      tokens,
      promptLength: tokens.length,
      pure: !state.engine.adapter,
      cursor: blank < 0 ? tokens.length - 1 : blank,
      follow: true,
      logits,
      branches: [],
      sourceTokens,
      sourceCursor: Math.max(0, sourceTokens.length - 1),
    },
    attention: { patterns, otherPatterns, head, headChosen: headChosen || tokens.length > 0, key: null, hover: null },
    engine: {
      status: 'ready',
      stopReason: '',
      speed: { ...state.engine.speed, prefillMs: pass?.ms ?? state.engine.speed.prefillMs },
    },
    view: { error: '' },
  });
}
