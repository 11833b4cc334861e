// lora_options.js - checks what train is given to train an adapter (LoRA) for a loaded model, and makes the order of it
//
// Hu et al. 2021, arXiv:2106.09685, as PEFT defines it (peft/tuners/lora/layer.py).
import { completeConfig } from '../engine/config/config.js';
import { fail, show } from '../base/errors.js';
import { unchecked, checkedOptions, entriesOf, LIMITS, number, tooMany } from '../base/checks.js';
import { numberInRange } from '../run/generation_options.js';
import { planOf } from './examples.js';

/** @import { Model } from '../api/model.js' */
/** @import { Module } from '../files/adapters/model_modules.js' */
/**
 * What is trained of a loaded model.
 * @typedef {object} LoraOptions
 * @property {number} [rank]   of the product B A; default: that of `from`, else 8
 * @property {number} [alpha]  the product is multiplied by alpha / rank; default: that of `from`, else twice the rank
 * @property {readonly string[] | 'all-linear'} [modules]  ends of their names, such as 'q_proj' or 'c_attn'; default:
 *   those of `from`, else those with queries or values
 * @property {import('../api/index.js').Source} [from]  an adapter to begin with, as in the option `adapters` of load;
 *   default: A uniform in +-1/sqrt(in), B 0
 */
/**
 * An adapter that a run trains. `modules` in the order of the factors.
 * @typedef {{model: Model, rank: number, alpha: number, modules: Module[]}} Lora
 */

/** @type {import('../base/checks.js').OptionCheck} */
const names = (value, name) => {
  if (value === 'all-linear') return value;
  const list = Array.isArray(value) ? entriesOf(value, LIMITS.names, tooMany(`lora.${name}`, LIMITS.names)) : null;
  return list?.length && list.every((x) => typeof x === 'string' && x)
    ? list
    : fail('bad-option', `lora.${name} is ${show(value)}, expected a list of names or 'all-linear'`);
};
/** The option `lora` of train. @type {import('../base/checks.js').OptionCheck} */
export const loraOption = (value, name) => {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    fail('bad-option', `${name} is ${show(value)}, expected { rank, alpha, modules, from }`);
  const checks = { rank: number, alpha: number, modules: names, from: unchecked };
  const { rank, alpha, ...rest } = checkedOptions(name, value, checks);
  if (rank !== undefined) numberInRange('lora.rank', rank, 1, 1024, true);
  if (alpha !== undefined) numberInRange('lora.alpha', alpha, 0, 1e6);
  return { rank, alpha, ...rest };
};

/** Options that say something of a new model. */
const OF_NEW_MODELS = ['vocabSize', 'tokenizer', 'average', 'initStd', 'muonLr', 'momentum'];

/**
 * What depends on model and data, of a run that trains an adapter.
 * @param {any} model
 * @param {any} data
 * @param {Record<string, any>} o
 * @param {Record<string, number>} options  by their names in C
 * @param {(text: unknown, what: string) => Promise<string[]>} storiesOf
 */
export async function ofLora(model, data, o, options, storiesOf) {
  if (typeof model?.adapt !== 'function')
    fail('bad-argument', `expected a loaded model, for which { lora } trains an adapter, found ${show(model)}`);
  const own = completeConfig(model.config);
  if (own.kind !== 'decoder')
    fail('unsupported', `adapters are trained for decoders, this model is of kind ${own.kind}`);
  const wrong = o.muon ? 'muon' : OF_NEW_MODELS.find((name) => o[name] !== undefined && o[name] !== null);
  if (wrong) fail('bad-option', `${wrong} is no option of an adapter, whose factors are trained by AdamW`);
  const lora = await adapterOf(model, o.lora);
  const { batch_tokens: batch } = options;
  const most = Math.min(own.context_length, batch);
  const windows = async (/** @type {any} */ text, /** @type {string} */ what) =>
    windowsOf(model, await storiesOf(text, what), most);
  const examples = data?.examples ?? (await windows(data, 'data'));
  const { validation: held } = o;
  const isListed = held === null || typeof held === 'number' || Array.isArray(held);
  const validation = isListed ? held : await windows(held, 'validation');
  const isOpen = typeof examples === 'function' || Array.isArray(validation); // longer ones may come
  const plan = planOf({ examples }, options, validation, ({ context_length: longest }) => {
    const shorter = Math.min(own.context_length, isOpen ? batch : longest);
    return { ...own, context_length: own.position === 'learned' ? own.context_length : shorter };
  });
  const tokenizer = await model.tokenizer;
  return {
    ...plan,
    options: { ...plan.options, muon: 0 },
    tokenizer: tokenizer?.toText() ?? plan.tokenizer,
    ...lora,
  };
}

/**
 * The modules that are trained, and what they begin with.
 * @param {Model} model
 * @param {Record<string, any>} o  the option lora
 */
async function adapterOf(model, { rank, alpha, modules: chosen, from }) {
  /** @type {Module[]} */
  const all = await model.adapt('modules', from);
  const started = all.filter(({ start }) => start);
  const modules = from && !chosen ? started : all.filter(({ name, weights }) => isChosen(name, weights, chosen));
  const missing = Array.isArray(chosen) && chosen.find((end) => !modules.some(({ name }) => endsIn(name, end)));
  if (missing || !modules.length) {
    const ends = [...new Set(all.map(({ name }) => name.slice(name.lastIndexOf('.') + 1)))];
    fail('bad-option', `lora.modules has ${show(missing)}, the model has ${ends.join(', ') || 'none'}`);
  }
  const [first] = started.map(({ start }) => /** @type {NonNullable<Module['start']>} */ (start));
  const r = rank ?? first?.r ?? 8;
  const scale = alpha === undefined ? (first?.factor ?? 2) : alpha / r;
  if (started.some(({ start }) => start?.r !== r || (alpha === undefined && start?.factor !== scale)))
    fail('bad-option', `lora.from has other ranks or factors than ${r} and ${scale}`);
  if (from && modules.some(({ start }) => !start))
    fail('bad-option', 'lora.modules has modules that the adapter in lora.from lacks');
  return {
    lora: {
      rank: r,
      scale,
      modules: modules.map(({ entry, weights, shape }) => ({ entry, count: weights.length, shape })),
      dtypes: model.parameters.rows.map(({ dtype }) => dtype),
      factors: from ? modules.flatMap(({ start }) => (start ? [start.a, start.b] : [])) : null,
    },
    adapter: { model, rank: r, alpha: scale * r, modules },
  };
}

const endsIn = (/** @type {string} */ name, /** @type {string} */ end) => name === end || name.endsWith(`.${end}`);

/** @param {string} name @param {string[]} weights @param {string[] | 'all-linear' | undefined} chosen */
const isChosen = (name, weights, chosen) =>
  chosen === 'all-linear' ||
  (chosen ? chosen.some((end) => endsIn(name, end)) : weights.some((weight) => /\.attn\.[qv]\./.test(weight)));

/**
 * The windows of a text: each story with the model's tokens before and after it, in pieces of the context, the first
 * token of a later piece being the last of the one before.
 * @param {Model} model
 * @param {string[]} stories
 * @param {number} most  tokens of a window
 */
async function windowsOf(model, stories, most) {
  const tokenizer = await model.tokenizer;
  if (!tokenizer) return fail('no-tokenizer', 'this model came without a tokenizer: give { examples } of token ids');
  const [end] = model.special.eos;
  return stories.flatMap((story) => {
    const ids = [...tokenizer.encode(story), ...(end === undefined ? [] : [end])];
    const windows = [];
    for (let at = 0; at + 1 < ids.length; at += Math.max(1, most - 1)) windows.push(ids.slice(at, at + most));
    return windows;
  });
}
