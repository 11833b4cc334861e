// bad_inputs.js - the one table of wrong inputs: for every public call its argument and its options, and for each of
// them the values that must be refused
import { after } from 'node:test';
import {
  Tokenizer,
  completeConfig,
  countParameters,
  create,
  depth,
  estimate,
  load,
  train,
} from '../../web/lib/api/index.js';
import { SAMPLER } from '../../web/lib/engine/config/sampler_fields.js';
import { TRAIN_FIELDS } from '../../web/lib/train/train_fields.js';
import { collect, stories } from './helpers.js';

export const config = { vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 2, context_length: 64 };
/** The models of the calls below. @param {any} options  of create and load */
async function modelsWith(options) {
  const [plain, pair, encoder, told] = await Promise.all([
    create(config, { seed: 1, ...options }),
    create(
      { ...config, kind: 'encoder_decoder', n_encoder_layers: 1, position: 'sinusoidal' },
      { seed: 1, ...options },
    ),
    create({ ...config, kind: 'encoder' }, { seed: 1, ...options }),
    load(stories, options),
  ]);
  return { plain, pair, encoder, told };
}
/** The models of the calls below, in this thread and in workers, until the tests of the file have ended. */
export async function openModels() {
  const [here, there] = await Promise.all([false, true].map((worker) => modelsWith({ worker, threads: 1 })));
  after(() => {
    for (const place of [here, there]) for (const model of Object.values(place)) model.dispose();
  });
  return { here, there };
}

/**
 * What an argument or an option may be, given by what it may not be. `isList`: it takes a list, whose length is checked
 * before an entry is read. `isText`: it takes a text of any length.
 * @typedef {{values: any[], isList?: boolean, isText?: boolean}} Kind
 * @typedef {object} Call
 * @property {(m: any, a: any, o?: any) => any} call  m: the models; a: the argument; o: the options
 * @property {any} fine  an argument that is accepted
 * @property {string} name  of the argument in messages, a regular expression
 * @property {Kind} wrong  arguments
 * @property {Record<string, Kind>} [options]
 * @property {boolean} [isAlone]  it needs no model
 */

const SYMBOL = Symbol('odd');
const any = (...values) => ({ values });
const list = (...values) => ({ values, isList: true });
const number = (...more) =>
  any(SYMBOL, () => 1, 10n, { a: 1 }, Object.create(null), [], true, 'x', '1', NaN, -1, ...more);
/** A number that may be below 0. */
const signed = (...more) => any(...number(...more).values.filter((x) => x !== -1));
const count = (...more) => number(1.5, ...more);
/** What an option of train may not be. @param {import('../../web/lib/train/train_fields.js').TrainField} field */
const wrongOf = (field) => {
  if (field.type === 'flag') return flag;
  if (field.type === 'word') return any(5, {}, 'x', SYMBOL);
  return (field.type === 'whole' ? count : number)(2 * field.most);
};
export const odd = [SYMBOL, () => 1, 10n, { a: 1 }, new Date(0), new Map(), Object.create(null), NaN, 'x'];
const flag = any(...odd, 0, 1, null);
const dtype = any(5, {}, 'x', 'q9', 'constructor', SYMBOL, null);
const noSignal = any(5, 'x', {}, [], () => 1);
const notIds = list(
  ...[SYMBOL, () => 1, 10n, 5, true, null, { a: 1 }, { length: 1.5 }],
  ...[[1.5], [-1], [64e6], [NaN], [Infinity], ['x'], [[1]], [null], [, 1], [SYMBOL], [10n], [Object.create(null)]],
);
/** Where several sequences are taken, too. */
const notIdLists = list(
  ...notIds.values.filter((x) => !Array.isArray(x) || ['number', 'symbol', 'bigint'].includes(typeof x[0])),
);
const lists = [SYMBOL, () => 1, 10n, 5, true, 'x', { a: 1 }, { length: -1 }, Object.create(null)];
const mask = list(5, true, 'x', { a: 1 }, ['x'], [null, 1], [{}]);

const reads = { source: list(SYMBOL, 5, true, { a: 1 }, [-1], [[1], 'x'.repeat(1e6)]), signal: noSignal };
const typed = {
  pair: any(SYMBOL, 5, true, { a: 1 }, [5], [null]),
  tokenTypes: list(SYMBOL, 5, true, 'x', { a: 1 }, [-1], [0.5], ['x'], [[0.5]]),
};
const edit = (change) => [{ at: 'hook_embed', ...change }];
const sees = {
  capture: list(...lists, null, [5], [null], [['x']], ['hook_patern'], ['blocks.99.hook_resid_pre']),
  captureBudget: number(),
  edits: list(
    ...[...lists, [5], [null], ['x'], [[]], [{}], [{ at: 5 }], [{ at: 'nowhere', scale: 0 }]],
    ...[{}, { scale: 'x' }, { scale: NaN }, { scale: 1, head: 'x' }, { scale: 1, position: {} }].map(edit),
    ...[{ scale: 1, position: 0.5 }, { scale: 1, typo: 1 }, { set: 'x' }, { set: { length: -1 } }].map(edit),
    ...[{ set: ['x'] }].map(edit),
    ...[6, -1].map((head) => [{ at: 'blocks.0.attn.hook_z', head, scale: 0 }]),
  ),
};
const samples = {
  ...Object.fromEntries(
    SAMPLER.map(({ name, most, whole, aboveLeast }) => [
      name,
      // 1e-60 is 0 in single precision
      number(Infinity, null, 2 * most, ...(whole ? [1.5] : []), ...(aboveLeast ? [0, 1e-60] : [])),
    ]),
  ),
  presencePenalty: signed(-101, 101),
  frequencyPenalty: signed(-101, 101),
  logitBias: any(
    ...[5, 'x', true, [1], { a: 1 }, { 1: 'x' }, { 1: '2' }, { [-1]: 1 }, { 64: 1 }],
    ...[101, NaN, Infinity].map((bias) => ({ 1: bias })),
  ),
};
const generates = {
  ...reads,
  ...sees,
  ...samples,
  maxTokens: count(),
  minTokens: count(3),
  json: any(5, 'x', false, [], [1], { a: 1n, type: 'string' }, { type: 'text' }, { enum: [() => 1] }),
  grammar: any(5, true, {}, ['x'], 'root ::= (', 'start ::= "a"'),
  seed: count(2 ** 53),
  stop: list(5, true, {}, [''], [5], ''),
  logprobs: count(65),
  ignoreEos: flag,
  beams: count(0, 65),
  lengthPenalty: number(),
  addSpecialTokens: flag,
};
const { maxTokens, seed, temperature, stop, logprobs, ignoreEos, addSpecialTokens } = generates;

/** Options added to `base`; a value that is not an options object is returned unchanged. */
const withDefaults = (base, o) =>
  o !== null && typeof o === 'object' && !Array.isArray(o) && !ArrayBuffer.isView(o) ? { ...base, ...o } : o;
const inSession = (model, work) =>
  model.session().then(async (session) => {
    try {
      await work(session);
    } finally {
      await session.close();
    }
  });

const TEXT = 'the cat sat on the mat. the dog sat on the log. ';
const tiny = { d_model: 8, n_layers: 1, n_heads: 1, context_length: 16 };
const notConfigs = [5, null, [], SYMBOL, () => 1, 'nothing', { vocab_size: 'x' }, { ...config, n_heads: SYMBOL }];

export const CALLS = {
  encode: {
    call: (m, a, o) => m.told.encode(a, o),
    fine: 'text',
    name: 'text',
    wrong: any(...odd.slice(0, 8), 5, null),
    options: { addSpecialTokens },
  },
  decode: { call: (m, a) => m.told.decode(a), fine: [1], name: 'ids', wrong: list(...notIds.values, 'x', [2048]) },
  generate: {
    call: (m, a, o) => collect(m.plain.generate(a, withDefaults({ maxTokens: 1 }, o))),
    fine: [1],
    name: 'prompt',
    wrong: notIdLists,
    options: generates,
  },
  'generate several': {
    call: (m, a, o) => collect(m.plain.generate([[1], a], withDefaults({ maxTokens: 1 }, o))),
    fine: [1],
    name: 'prompt 1',
    wrong: any(5, [-1], { a: 1 }, [['x']]),
  },
  'a beam search': {
    call: (m, a) => collect(m.plain.generate(a, { beams: 2, maxTokens: 1 })),
    fine: [1],
    name: 'prompt',
    wrong: notIdLists,
  },
  forward: {
    call: (m, a, o) => m.plain.forward(a, o),
    fine: [1],
    name: 'input',
    wrong: notIdLists,
    options: { ...reads, ...sees, ...typed, mask, addSpecialTokens },
  },
  'values of an edit': {
    call: (m, a) => m.plain.forward([1], { edits: [{ at: 'blocks.0.hook_mlp_out', set: a }] }),
    fine: [0.5],
    name: 'set|edits|value',
    wrong: list(...lists.filter((x) => x !== 5), ['x'], [NaN], [1, 2, 3]),
  },
  'values added by an edit': {
    call: (m, a) => m.plain.forward([1], { edits: [{ at: 'blocks.0.hook_mlp_out', add: a }] }),
    fine: [0.5],
    name: 'add|edits|value',
    wrong: list(...lists.filter((x) => x !== 5), ['x'], [NaN], [1, 2, 3]),
  },
  embed: {
    call: (m, a, o) => m.encoder.embed(a, o),
    fine: [1],
    name: 'input',
    wrong: notIdLists,
    options: {
      mask,
      ...typed,
      pooling: any(...odd, 'max', 5, []),
      normalize: flag,
      truncate: flag,
      addSpecialTokens,
      signal: noSignal,
    },
  },
  distribution: {
    call: (m, a, o) => m.plain.distribution(a, o),
    fine: Array(config.vocab_size).fill(1),
    name: 'logits',
    wrong: list([1, 2], SYMBOL, 5, 'x', {}, [], ['x'], [10n], [SYMBOL], [1, '5']),
    options: {
      ...samples,
      seen: list(...notIds.values.filter((x) => x !== null)),
      generated: list(...notIds.values.filter((x) => x !== null)),
    },
  },
  logitLens: {
    call: (m, a, o) => m.plain.logitLens(a, o),
    fine: [1],
    name: 'input',
    wrong: notIds,
    options: { ...reads, top: count(), addSpecialTokens },
  },
  attribution: {
    call: (m, a, o) => m.plain.attribution(a, o),
    fine: [1],
    name: 'input',
    wrong: notIds,
    options: { ...reads, token: any(SYMBOL, {}, [], true, 1.5, -1), position: count(), addSpecialTokens },
  },
  explain: {
    call: (m, a, o) => m.plain.explain(a, withDefaults({ at: 'logits' }, o)),
    fine: [1],
    name: 'input',
    wrong: notIds,
    options: {
      ...reads,
      at: any(5, {}, 'nowhere', SYMBOL, null),
      position: count(),
      head: any({}, SYMBOL),
      index: count(),
      addSpecialTokens,
    },
  },
  trace: {
    call: (m, a, o) => m.plain.trace(a, o),
    fine: [1],
    name: 'input',
    wrong: notIds,
    options: { ...reads, addSpecialTokens },
  },
  session: {
    call: (m, a, o) => m.plain.session(o),
    fine: null,
    name: '',
    wrong: any(),
    options: { ...reads, ...sees, state: any(5, 'x', {}, [1], SYMBOL) },
  },
  weight: {
    call: (m, a) => m.plain.weight(a),
    fine: 'embed.weight',
    name: 'weight',
    wrong: any(5, {}, SYMBOL, null, 'nothing'),
  },
  'row of a weight': {
    call: (m, a) => m.plain.weight('embed.weight', a),
    fine: 0,
    name: 'row',
    wrong: count(64),
  },
  chat: {
    call: (m, a, o) => collect(m.told.chat(a, o)),
    fine: [{ role: 'user', content: 'x' }],
    name: 'messages',
    wrong: list(5, 'x', {}, [], [5], [{}], [{ role: 'user' }], [{ role: 'user', content: SYMBOL }]),
    options: {
      edits: list(...lists),
      captureBudget: sees.captureBudget,
      stop,
      ignoreEos,
      signal: noSignal,
      template: any(SYMBOL, [SYMBOL]),
    },
  },
  eval: {
    call: (m, a, o) => inSession(m.plain, (session) => session.eval(a, o)),
    fine: [1],
    name: 'input',
    wrong: notIds,
    options: { signal: noSignal },
  },
  'generate in a session': {
    call: (m, a, o) => inSession(m.plain, (session) => collect(session.generate(a, withDefaults({ maxTokens: 1 }, o)))),
    fine: [1],
    name: 'input',
    wrong: notIds,
    options: { maxTokens, seed, temperature, stop, logprobs, ignoreEos, addSpecialTokens, signal: noSignal },
  },
  rewind: {
    call: (m, a) => inSession(m.plain, (session) => session.rewind(a)),
    fine: 0,
    name: 'positions',
    wrong: count(),
  },
  'a source': {
    call: (m, a) => m.pair.forward([1], { source: a }),
    fine: [1],
    name: 'source',
    wrong: list(...notIds.values.filter((x) => x !== null)),
  },
  'the source of a session': {
    call: (m, a) => m.pair.session({ source: a }),
    fine: [1],
    name: 'source',
    wrong: list(...notIds.values.filter((x) => x !== null)),
  },
  'the source of a generation': {
    call: (m, a) => collect(m.pair.generate([1], { source: a, maxTokens: 1 })),
    fine: [1],
    name: 'source',
    wrong: list(5, [-1], [['x']], [64e6]),
  },
  'the source of a trace': {
    call: (m, a) => m.pair.trace([1], { source: a }),
    fine: [1],
    name: 'source',
    wrong: list(5, [-1], ['x']),
  },
  'a source mask': {
    call: (m, a) => m.pair.forward([1], { source: [1, 2], sourceMask: a }),
    fine: [1, 0],
    name: 'sourceMask',
    wrong: list(...mask.values, [1], [0, 0]),
  },

  create: {
    isAlone: true,
    call: (m, a, o) => create(a, o),
    fine: config,
    name: 'config|preset|d_model|vocab_size|field|n_heads',
    wrong: any(...notConfigs, { ...config, d_model: {} }),
    options: {
      seed,
      dtype: any(...dtype.values.filter((x) => x !== null)),
      contextLength: count(0),
      threads: count(),
      backend: any(5, {}, 'x', SYMBOL, 10n),
      kvDtype: any(5, 'x'),
      wasm: any(5, {}, true),
      worker: any(5, {}, [], null),
      signal: noSignal,
      onProgress: any(5, {}, 'x'),
      // create neither fetches nor reads anything
      switches: any({ causal: false }),
      cache: any('opfs'),
      sha256: any('a'.repeat(64)),
      hfEndpoint: any('x'),
      fetch: any(fetch),
    },
  },
  load: {
    isAlone: true,
    call: (m, a, o) => load(a, o),
    fine: stories,
    name: 'address|weights|config|tokenizer|source',
    wrong: any(
      ...[5, null, undefined, {}, true, SYMBOL, () => 1, [5], new Uint16Array(3), { length: 4e9 }],
      ...[{ weights: 5 }, { weights: [] }, { weights: ['x', 5] }, { weights: Object.create(null), config: {} }],
      { weights: new Uint8Array(3), config: 5 },
      { weights: new Uint8Array(3), tokenizer: 5 },
    ),
    options: {
      dtype: any(5, 'x'),
      backend: any('gpu', SYMBOL, 10n, Object.create(null)),
      kvDtype: any('int3'),
      contextLength: count(0),
      hfEndpoint: any({}, SYMBOL),
      cache: any(5, {}, 'x'),
      sha256: any(5, {}, 'x'),
      switches: any(5, 'x', [], { causal: 1 }, { causal: null }),
      fetch: any(5, {}, 'x'),
      onProgress: any(5),
      signal: noSignal,
      names: any(5),
    },
  },
  'Tokenizer.load': {
    isAlone: true,
    call: (m, a, o) => Tokenizer.load(a, o),
    fine: stories,
    name: 'tokenizer',
    wrong: any(5, null, [], true, SYMBOL, {}, { nothing: 1 }, { model: 5 }, { model: { type: 'BPE', vocab: 5 } }),
    options: { fetch: any(5), signal: noSignal, hfEndpoint: any({}) },
  },
  countParameters: {
    isAlone: true,
    call: (m, a) => countParameters(a),
    fine: config,
    name: 'config|preset|vocab_size|n_heads|typo',
    wrong: any(...notConfigs, { ...config, typo: 1 }),
  },
  completeConfig: {
    isAlone: true,
    call: (m, a) => completeConfig(a),
    fine: config,
    name: 'config|preset|vocab_size|n_heads',
    wrong: any(...notConfigs),
  },
  estimate: {
    isAlone: true,
    call: (m, a, o) => estimate(a, withDefaults({ contextLength: 8 }, o)),
    fine: config,
    name: 'config|preset',
    wrong: any(5, null, [], 'nothing'),
    options: { contextLength: any(...count().values, undefined), batch: count(), dtype, kvDtype: any(5, {}, 'x') },
  },
  train: {
    isAlone: true,
    call: (m, a, o) => collect(train(a, TEXT, withDefaults({ steps: 1, vocabSize: 257 }, o))),
    fine: tiny,
    name: 'config|preset|n_heads|vocab_size',
    wrong: any(...notConfigs),
    options: {
      ...Object.fromEntries(TRAIN_FIELDS.map((field) => [field.name, wrongOf(field)])),
      vocabSize: count(),
      tokenizer: any(5, true, SYMBOL, []),
      validation: { ...any({}, [], SYMBOL, 0, 1, NaN, true), isText: true },
      checkpoint: any(5, 'x', [], {}, new Uint8Array(0), new Uint8Array(100), new ArrayBuffer(8)),
      signal: noSignal,
      worker: any(5, {}, true),
    },
  },
  'data of train': {
    isAlone: true,
    call: (m, a) => collect(train(tiny, a, { steps: 1, vocabSize: 257 })),
    fine: TEXT,
    name: 'data',
    wrong: { ...any(5, null, undefined, {}, [], SYMBOL, new Uint16Array(4), { size: 4 }), isText: true },
  },
  depth: {
    isAlone: true,
    call: (m, a, o) => depth(a, o),
    fine: tiny,
    name: 'config|preset',
    wrong: any(5, null, [], SYMBOL, 'nothing'),
    options: { seed, tokens: count(1), signal: noSignal },
  },
};
