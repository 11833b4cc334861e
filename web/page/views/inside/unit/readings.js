// readings.js - what is computed for the card of a neuron or a head, and remembered for its model
import { predicts } from '../../../state/architecture.js';
import { isSpecial } from '../../../state/marks.js';
import { blockPoint } from '../../../state/points.js';
import { passagesFor } from './passages.js';
import { directionOf, endsOf, logitsAlong, responsePoint, responsesOf, strongest } from './unit.js';

/** @typedef {import('../../../state/run.js').Run} Run */
/** @typedef {import('../../../state/state.js').State} State */
/** @typedef {import('../../../state/switches.js').Part} Part */

const [BEFORE, AFTER] = [7, 3]; // tokens around a response

/** Strongest responses by part. @type {WeakMap<object, Map<string, Response[]>>} */
const remembered = new WeakMap();

/** @typedef {{ id: number, text: string }} Token */
/** @typedef {{ value: number, before: Token[], token: Token, after: Token[], key?: Token }} Response */

/**
 * Where a part responds most strongly.
 * @param {Run} run
 * @param {State} page
 * @param {Part} part
 * @param {AbortSignal} signal
 * @param {(share: number) => void} tell  of the passages that are read
 */
export async function responsesIn(run, page, part, signal, tell) {
  const { api } = /** @type {import('../../../state/state.js').LoadedModel} */ (page.run.model);
  const known = remembered.get(api) ?? new Map();
  remembered.set(api, known);
  if (!known.has(part.key)) known.set(part.key, await read(run, page, part, signal, tell));
  return /** @type {Response[]} */ (known.get(part.key));
}

/** @param {Run} run @param {State} page @param {Part} part @param {AbortSignal} signal @param {(share: number) => void} tell */
async function read(run, page, part, signal, tell) {
  const point = responsePoint(part);
  const passages = await passagesFor(run, page, signal);
  const all = [];
  for (const [passage, { ids, source }] of passages.entries()) {
    const { captured } = await run.forward(ids, { capture: [point], signal, ...(source && { source }) });
    const read = /^encoder\./.test(point) ? (source ?? []) : ids;
    const responses = responsesOf(part, captured[point]).filter(({ position }) => !isSpecial(read[position]));
    all.push(...responses.map((one) => ({ ...one, passage })));
    tell((passage + 1) / passages.length);
  }
  const tokensOf = async (/** @type {number[]} */ ids = []) => {
    const texts = await run.textsOf(ids);
    return ids.map((id, i) => ({ id, text: texts[i] }));
  };
  const texts = await Promise.all(passages.map(({ ids }) => tokensOf(ids)));
  const sources = await Promise.all(passages.map(({ source }) => tokensOf(source)));
  const own = /^encoder\./.test(point) ? sources : texts;
  const keys = /^encoder\.|cross_attn/.test(point) ? sources : texts;
  const found = strongest(all, ({ passage, position }) => own[passage][position].id);
  return found.map(({ value, passage, position, key }) => ({
    value,
    before: own[passage].slice(Math.max(0, position - BEFORE), position),
    token: own[passage][position],
    after: own[passage].slice(position + 1, position + 1 + AFTER),
    ...(key !== undefined && { key: keys[passage][key] }),
  }));
}

/**
 * Which tokens a part makes likelier and unlikelier where its output goes straight to the head; null where the model has
 * none.
 * @param {Run} run
 * @param {State} page
 * @param {Part} part
 */
export async function effectsOf(run, page, part) {
  const { config, api } = /** @type {import('../../../state/state.js').LoadedModel} */ (page.run.model);
  if (!predicts(config) || /^encoder\./.test(part.edit.at)) return null;
  const { tokens, cursor } = page.text;
  const result = part.edit.at.replace('hook_z', 'hook_result');
  const direction = await directionOf(part, api, async () => (await run.values([result]))[result], cursor);
  if (!direction) return null;
  const at = `${blockPoint(config, config.nLayers - 1)}.hook_resid_post`;
  const logits = await logitsAlong(direction, async (vector) => {
    const { logits: out } = await run.forward([tokens[0].id], { edits: [{ at, set: vector }] });
    return out.data.slice(0, config.vocabSize);
  });
  const ends = endsOf(logits);
  await run.spell([...ends.promoted, ...ends.suppressed].map(({ id }) => id));
  return ends;
}

/**
 * Bits per token of the text, as it is and without a part; null where the model predicts none.
 * @param {Run} run
 * @param {State} page
 * @param {Part} part
 * @param {AbortSignal} signal
 */
export async function lossWithout(run, page, part, signal) {
  if (!predicts(page.run.model?.config ?? {}) || page.text.tokens.length < 2) return null;
  const ids = page.text.tokens.map(({ id }) => id);
  const [whole, without] = [await run.lossOf(ids, [], signal), await run.lossOf(ids, [part.edit], signal)];
  return { whole: whole.mean, without: without.mean };
}
