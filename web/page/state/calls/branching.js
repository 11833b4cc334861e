// branching.js - other texts beside the present one: chooses another token, returns to a text that was left, restores
// one from an address
import { say } from '../base/language.js';
import { logprob } from '../../../draw/likelihood.js';
import { isMask } from '../facts/special_tokens.js';
import { setPrompt } from './read_prompt.js';
import { cut } from './rewinding.js';
import { wantRows } from './attention_rows.js';
import { spell } from './ids_and_texts.js';
import { write } from './writing.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

/**
 * @typedef {{ tokens: import('../store/state.js').Token[], model: string, temperature: number, seed: number }} Kept
 */

/** Keep this text beside the next ones, whatever changes. @param {Runtime} runtime */
export function keepRun(runtime) {
  const { text, sampler } = runtime.state;
  const { temperature, seed } = sampler;
  runtime.set({ text: { kept: { tokens: [...text.tokens], model: runtime.loaded().name, temperature, seed } } });
}

/** How many tokens two texts begin with that are the same.
 * @param {import('../store/state.js').Token[]} one @param {import('../store/state.js').Token[]} other */
export function commonLength(one, other) {
  let at = 0;
  while (at < one.length && one[at].id === other[at]?.id) at++;
  return at;
}

/** Close the generator: the text is about to become another. @param {Runtime} runtime */
function interrupt(runtime) {
  runtime.turn++;
  void runtime.close();
}

/** Put another token after this position and go on from there; the text left behind is kept beside it.
 * @param {Runtime} runtime @param {number} position @param {number} id */
export async function branch(runtime, position, id) {
  const { state, set, turn } = runtime;
  if (runtime.reading || runtime.loaded().config.kind === 'encoder') return;
  await spell(runtime, [id]);
  const { tokens, branches, words, logits } = state.text;
  const old = tokens[position + 1];
  if (turn !== runtime.turn || old?.id === id) return;
  interrupt(runtime);
  const exact = logits.get(position),
    named = old?.top?.find((t) => t.id === id);
  if (old) branches.push({ at: position + 1, tokens: [...tokens] });
  cut(runtime, position + 1);
  tokens.push({
    id,
    text: words.get(id) ?? '',
    given: false,
    logprob: exact ? logprob(exact, id) : (named?.logprob ?? null),
    top: null,
  });
  set({
    text: { tokens, branches, cursor: position, follow: true, pure: false },
    engine: { status: 'paused', stopReason: '' },
  });
  if (state.engine.pace !== 'step') await write(runtime);
}

/**
 * Write a token in the place of a blank that an encoder finds a word for.
 * @param {Runtime} runtime
 * @param {number} position
 * @param {number} id
 */
export async function fillIn(runtime, position, id) {
  await spell(runtime, [id]);
  const { tokens, words, prompt } = runtime.state.text;
  const mask = tokens[position];
  if (runtime.reading || !isMask(mask)) return;
  const parts = prompt.split(mask.text.trim());
  const before = tokens.slice(0, position).filter(isMask).length;
  const [left, right] = [parts.slice(0, before + 1), parts.slice(before + 1)];
  await setPrompt(runtime, [left, right].map((list) => list.join(mask.text.trim())).join(words.get(id)?.trim()));
  runtime.set({ text: { cursor: position, follow: false } });
}

/**
 * Return to a text that was left behind; the present one is left in its place.
 * @param {Runtime} runtime
 * @param {number} i
 */
export async function returnToBranch(runtime, i) {
  if (runtime.reading) return;
  const { tokens, branches } = runtime.state.text;
  const { tokens: old } = branches[i];
  const at = commonLength(tokens, old); // others may have been left behind since
  interrupt(runtime);
  branches[i] = { at: Math.min(at, tokens.length - 1), tokens: [...tokens] }; // it may be the other's beginning
  cut(runtime, at);
  tokens.push(...old.slice(at));
  runtime.set({
    text: { tokens, branches, cursor: at - 1, follow: false },
    engine: { status: 'paused', stopReason: '' },
  });
  await wantRows(runtime);
}

/**
 * Put these ids after the prompt, or its first tokens, as an address may ask for.
 * @param {Runtime} runtime
 * @param {number[]} ids
 * @param {number} [kept]
 */
export async function restore(runtime, ids, kept = runtime.state.text.tokens.length) {
  const { state, set, turn } = runtime;
  const { vocabSize } = runtime.loaded().config;
  const wrong = ids.find((id) => !(id >= 0 && id < vocabSize));
  if (wrong !== undefined) {
    runtime.fail(
      new Error(say`the link refers to token ${wrong}, but this model only has tokens 0 to ${vocabSize - 1}`),
    );
    return;
  }
  await spell(runtime, ids);
  if (turn !== runtime.turn) return;
  const { tokens, words } = state.text;
  interrupt(runtime);
  cut(runtime, kept);
  tokens.push(...ids.map((id) => ({ id, text: words.get(id) ?? '', given: false, logprob: null, top: null })));
  set({ text: { tokens, pure: false }, engine: { status: 'paused' } });
  await wantRows(runtime);
  set({ text: { cursor: tokens.length - 2 } });
}
