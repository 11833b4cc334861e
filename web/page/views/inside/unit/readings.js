// readings.js - computes what the card of a neuron or a head shows, and keeps it for its model: where it responds most
// strongly, which tokens its output makes likelier, what the text loses without it
import { largestIn } from '../../../../draw/likelihood.js';
import { predicts } from '../../../state/facts/architecture.js';
import { isSpecial } from '../../../state/facts/special_tokens.js';
import { blockPoint, patternAt } from '../../../state/facts/hook_points.js';
import { passagesFor } from './passages.js';

/** @typedef {import('../../../state/calls/page_calls.js').Calls} Calls */
/** @typedef {import('../../../state/store/state.js').State} State */
/** @typedef {import('../../../state/facts/switchable_parts.js').Part} Part */
/** A part of the model in the page. @typedef {{ calls: Calls, page: State, part: Part }} Unit */
/** @typedef {{ id: number, text: string }} Token */
/** key: of a head, what it takes most from.
 * @typedef {{ value: number, before: Token[], token: Token, after: Token[], key?: Token }} Response */

const [BEFORE, AFTER] = [7, 3]; // tokens around a response
const RESPONSES = 8;
const OFTEN = 2; // responses at the same token, at most
const TOKENS = 8; // that are made likelier, or less likely
const CANDIDATES = 320; // from which these are taken: a vocabulary may have 256 tokens of single bytes

/** Strongest responses by part, for a model or the adapter that it has on. @type {WeakMap<object, Map<string, Response[]>>} */
const remembered = new WeakMap();

/**
 * Where a part responds most strongly.
 * @param {Unit} unit
 * @param {AbortSignal} signal
 * @param {(share: number) => void} tell  of the passages that are read
 */
export async function responsesIn(unit, signal, tell) {
  const { page, part } = unit;
  const { api } = /** @type {import('../../../state/store/state.js').LoadedModel} */ (page.engine.model);
  const owner = page.engine.adapter ?? api;
  const known = remembered.get(owner) ?? new Map();
  remembered.set(owner, known);
  if (!known.has(part.key)) known.set(part.key, await read(unit, signal, tell));
  return /** @type {Response[]} */ (known.get(part.key));
}

/** @type {typeof responsesIn} */
async function read({ calls, page, part }, signal, tell) {
  const point = part.edit.head === undefined ? part.edit.at : patternAt(part.edit.at);
  const passages = await passagesFor(calls, page, signal);
  const all = [];
  for (const [passage, { ids, source }] of passages.entries()) {
    const { captured } = await calls.forward(ids, { capture: [point], signal, ...(source && { source }) });
    const read = /^encoder\./.test(point) ? (source ?? []) : ids;
    const responses = responsesOf(part, captured[point]).filter(({ position }) => !isSpecial(read[position]));
    all.push(...responses.map((one) => ({ ...one, passage })));
    tell((passage + 1) / passages.length);
  }
  const tokensOf = async (/** @type {number[]} */ ids = []) => {
    const texts = await calls.textsOf(ids);
    return ids.map((id, i) => ({ id, text: texts[i] }));
  };
  const texts = await Promise.all(passages.map(({ ids }) => tokensOf(ids)));
  const sources = await Promise.all(passages.map(({ source }) => tokensOf(source)));
  const own = /^encoder\./.test(point) ? sources : texts;
  const keys = /^encoder\.|cross_attn/.test(point) ? sources : texts;
  /** Responses by token. @type {Map<number, number>} */
  const times = new Map();
  return all
    .sort((a, b) => b.value - a.value)
    .filter(({ passage, position }) => {
      const { id } = own[passage][position];
      times.set(id, (times.get(id) ?? 0) + 1);
      return Number(times.get(id)) <= OFTEN;
    })
    .slice(0, RESPONSES)
    .map(({ value, passage, position, key }) => ({
      value,
      before: own[passage].slice(Math.max(0, position - BEFORE), position),
      token: own[passage][position],
      after: own[passage].slice(position + 1, position + 1 + AFTER),
      ...(key !== undefined && { key: keys[passage][key] }),
    }));
}

/**
 * How strongly a part responds at each position of a passage: a neuron's activation, or the largest weight of a head, the
 * first token's left out, where heads look that have nothing to do.
 * @param {Part} part
 * @param {import('glassformer').Tensor} tensor  activations, or the pattern
 * @returns {{ position: number, value: number, key?: number }[]}
 */
function responsesOf({ edit: { head, index = 0 } }, { data, shape }) {
  if (head === undefined)
    return Array.from({ length: shape[0] }, (_, position) => ({ position, value: data[position * shape[1] + index] }));
  const [, queries, keys] = shape;
  return Array.from({ length: queries }, (_, position) => {
    const row = data.subarray((head * queries + position) * keys, (head * queries + position + 1) * keys);
    let key = Math.min(1, keys - 1);
    for (let k = key + 1; k < keys; k++) if (row[k] > row[key]) key = k;
    return { position, value: row[key], key };
  });
}

/**
 * Which tokens a part makes likelier and unlikelier where its output goes straight to the head; null where the model has
 * none. A logit is half the difference between those of the output alone and of its opposite, which leaves out biases.
 * @param {Unit} unit
 */
export async function effectsOf(unit) {
  const { calls, page, part } = unit;
  const { config } = /** @type {import('../../../state/store/state.js').LoadedModel} */ (page.engine.model);
  if (!predicts(config) || /^encoder\./.test(part.edit.at)) return null;
  const direction = await outputOf(unit);
  if (!direction) return null;
  const at = `${blockPoint(config, config.nLayers - 1)}.hook_resid_post`;
  const logitsOf = async (/** @type {Float32Array} */ set) => {
    const { logits: out } = await calls.forward([page.text.tokens[0].id], { edits: [{ at, set }] });
    return /** @type {Float32Array} */ (out.data.slice(0, config.vocabSize));
  };
  const [plus, minus] = [await logitsOf(direction), await logitsOf(direction.map((x) => -x))];
  const logits = plus.map((x, id) => (x - minus[id]) / 2);
  const named = async (/** @type {Float32Array} */ of) => {
    const ids = await readable(unit, largestIn(of, CANDIDATES));
    return ids.map((id) => ({ id, logit: logits[id], share: 0 }));
  };
  const [promoted, suppressed] = [await named(logits), await named(logits.map((x) => -x))];
  const most = Math.max(...[...promoted, ...suppressed].map(({ logit }) => Math.abs(logit)), 1e-9);
  for (const one of [...promoted, ...suppressed]) one.share = Math.abs(one.logit) / most;
  return { promoted, suppressed };
}

/** Parts of characters and control characters, which many vocabularies have a token for each of. */
const UNREADABLE = /^[\p{Cc}\uFFFD]+$/u;

/**
 * The first of these tokens that have a text, in their order. @param {Unit} unit @param {number[]} ids */
async function readable({ calls, page }, ids) {
  await calls.spell(ids);
  const known = ids.filter((id) => {
    const text = page.text.words.get(id) ?? '';
    return text.trim() ? !UNREADABLE.test(text) : /[ \n]/.test(text);
  });
  return known.slice(0, TOKENS);
}

/**
 * What a part adds to the stream: a neuron its column of the down projection, a head what it writes at the selected token.
 * @param {Unit} unit
 * @returns {Promise<Float32Array | null>}
 */
async function outputOf({ calls, page, part }) {
  const { model } = page.engine,
    { text } = page,
    { at, head, index = 0 } = part.edit;
  if (head === undefined) {
    const { data, shape } = await /** @type {any} */ (model).api.matrix(at.replace('mlp.hook_post', 'ffn.down.weight'));
    return Float32Array.from({ length: shape[0] }, (_, row) => data[row * shape[1] + index]);
  }
  const point = at.replace('hook_z', 'hook_result');
  const tensor = (await calls.values([point]))[point];
  if (!tensor || text.cursor >= tensor.shape[0]) return null;
  const [, heads, width] = tensor.shape;
  return tensor.data.slice((text.cursor * heads + head) * width, (text.cursor * heads + head + 1) * width);
}

/**
 * Bits per token of the text, as it is and without a part; null where the model predicts none.
 * @param {Unit} unit
 * @param {AbortSignal} signal
 */
export async function lossWithout({ calls, page, part }, signal) {
  if (!predicts(page.engine.model?.config ?? {}) || page.text.tokens.length < 2) return null;
  const ids = page.text.tokens.map(({ id }) => id);
  const [whole, without] = [await calls.lossOf(ids, [], signal), await calls.lossOf(ids, [part.edit], signal)];
  return { whole: whole.mean, without: without.mean };
}
