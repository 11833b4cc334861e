// bad_inputs.js - the one table of wrong inputs: for every public call its argument and its options, and for each of
// them the values that must be refused, with the code of the error and what its sentence must contain
import { after } from 'node:test';
import {
  Tokenizer,
  completeConfig,
  countParameters,
  Dictionary,
  create,
  depth,
  dictionary,
  estimate,
  load,
  scan,
  provenanceOf,
  toNpy,
  toNpz,
  toSafetensors,
  train,
} from '../../web/lib/api/index.js';
import { SAMPLER } from '../../web/lib/engine/config/sampler_fields.js';
import { TRAIN_FIELDS } from '../../web/lib/train/train_fields.js';
import { f32s, i32s, text, texts, u32, writeGguf } from './checkpoint_files.js';
import { collect, stories } from './helpers.js';

export const config = { vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 2, context_length: 64 };
const paired = { ...config, kind: 'encoder_decoder', n_encoder_layers: 1, position: 'sinusoidal' };

/**
 * The models of the calls below.
 * @param {any} options  of create and load
 * @param {any} [plain]  configuration of the decoder
 */
export async function modelsWith(options, plain = config) {
  const kinds = [plain, paired, { ...config, kind: 'encoder' }, { ...config, n_labels: 3, label_pooling: 'last' }];
  const made = kinds.map((each) => create(each, { seed: 1, ...options }));
  const [decoder, pair, encoder, labelled, told] = await Promise.all([...made, load(stories, options)]);
  return { plain: decoder, pair, encoder, labelled, told };
}
/** The models of the calls below, in this thread and in workers, until the tests of the file have ended. */
export async function openModels() {
  const [here, there] = await Promise.all([false, true].map((worker) => modelsWith({ worker, threads: 1 })));
  after(() => {
    for (const place of [here, there]) for (const model of Object.values(place)) model.dispose();
  });
  return { here, there };
}

/** A wrong value with its own code and words; other values have those of their table. */
export class Wrong {
  /** @param {string | string[]} code @param {RegExp} words @param {any} value */
  constructor(code, words, value) {
    Object.assign(this, { code, words, value });
  }
}
/** Wrong values with a code, and what the sentence contains. */
const as = (code, words, ...values) => values.map((value) => new Wrong(code, words, value));

/**
 * A public call.
 * @typedef {object} Call
 * @property {(m: any, a: any, o?: any) => any} call  m: the models; a: the argument; o: the options
 * @property {any} fine  an argument that is accepted
 * @property {RegExp} name  what a sentence about the argument contains
 * @property {any[]} wrong  arguments; `bad-argument` where no other code is given
 * @property {Record<string, any[]>} [options]  wrong values by name; `bad-option` where no other code is given
 * @property {boolean} [isAlone]  it needs no model
 */

const number = (...more) => ['x', '1', NaN, -1, true, [], {}, ...more];
/** A number that may be below 0. */
const signed = (...more) => number(...more).filter((x) => x !== -1);
const count = (...more) => number(1.5, ...more);
const flag = [0, 1, 'x', null, {}];
const dtype = [5, {}, 'q9', 'constructor'];
const signal = [5, 'x', {}, [], () => 1, new AbortController()];
const ones = (n) => new Array(n).fill(1);
/** What an option of train may not be. @param {import('../../web/lib/train/train_fields.js').TrainField} field */
const wrongOf = (field) => {
  if (field.type === 'flag') return flag;
  if (field.type === 'word') return [5, {}, 'x'];
  return (field.type === 'whole' ? count : number)(2 * field.most);
};

const notLists = [5, true, {}, { length: 1.5 }, () => 1];
const noIds = as(
  'bad-token',
  /at index \d+; token ids are whole numbers from 0 to 63/,
  [-1],
  [5, 64],
  [1.5],
  [NaN],
  [null],
);
const tooMany = as('context-full', /65 tokens, but the context holds only 64/, ones(65), new Int32Array(65));
const empty = as('empty-prompt', /empty|at least one/, [], new Int32Array(0));
const noText = as('no-tokenizer', /tokenizer/, 'text');
const moreIds = as('bad-token', /token ids are whole numbers/, ['x'], [[1]], [, 1], [10n], new Float32Array([0.5]));
const notIds = [null, ...notLists, ...noIds, ...moreIds, ...tooMany, ...empty, ...noText];
/** Where several sequences are taken, too. */
const notIdLists = [
  ...[null, ...notLists, ...noIds, ...tooMany, ...empty, ...noText],
  ...as('bad-argument', /5000 sequences, at most 4096/, new Array(5000).fill([1])),
  ...as('bad-token', / 1 holds -1 at index 0/, [[1], [-1]]),
  ...as('context-full', / 1 has 65 tokens/, [[1], ones(65)]),
  ...as('empty-prompt', /empty|at least/, [[1, 2], []]),
];
const lists = [5, true, 'x', {}, { length: -1 }];
const mask = [5, true, 'x', {}, ['x'], [null, 1], [1, 'x'], [{}], ones(5000)];

const badArgument = (...values) => as('bad-argument', /the source is/, ...values);
const notSource = [
  ...badArgument(5, true, { a: 1 }, () => 1),
  ...noIds,
  ...as('bad-token', /whole numbers/, [[1], [64]]),
  ...tooMany,
  ...as('empty-prompt', /source/, []),
];
/** Options that only an encoder_decoder has: other models refuse each value. */
const reads = { source: [[1], ...badArgument(5, true, {})], signal };
const typed = {
  pair: [5, true, {}, [5], [null]],
  tokenTypes: [5, true, 'x', {}, [-1], [0.5], ['x'], [[0.5]]],
};
const edit = (change) => [{ at: 'blocks.0.hook_mlp_out', ...change }];
const noPoint = (name, ...values) => as('unknown-point', new RegExp(name), ...values);
const sees = {
  capture: [
    ...[...lists, null, [5], [null], [['x']], new Array(16385).fill('x')],
    ...noPoint('patern', ['hook_patern']),
    ...noPoint('blocks.99', ['blocks.99.hook_resid_pre']),
  ],
  captureBudget: number(),
  edits: [
    ...[...lists, [5], [null], ['x'], [{}], [{ at: 5 }], new Array(65537).fill(edit({ scale: 1 })[0])],
    ...[{}, { scale: 'x' }, { scale: NaN }, { scale: 1, head: 'x' }, { scale: 1, position: {} }].map(edit),
    ...[{ scale: 1, position: 0.5 }, { scale: 1, typo: 1 }, { set: 'x' }, { set: ['x'] }, { add: 'x' }].map(edit),
    ...[{ scale: 1, head: -1 }, { scale: 1, head: 2 ** 32 }, { add: new Float32Array(3e6) }].map(edit),
    ...[{ set: { shape: [2, 2], data: [1] } }, { apply: 5 }].map(edit),
    ...as('bad-option', /more changes than 262144/, new Array(65536).fill({ at: '*', scale: 1 })),
    ...as('bad-argument', /3 values|finite|NaN/, edit({ set: [1, 2, 3] }), edit({ add: [NaN] })),
    ...as('bad-argument', /head/, [{ at: 'blocks.0.attn.hook_z', head: 6, scale: 0 }]),
    ...noPoint('nowhere', [{ at: 'nowhere', scale: 0 }]),
  ],
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
  logitBias: [
    ...[5, 'x', true, [1], { a: 1 }, { 1: 'x' }, { 1: '2' }, { [-1]: 1 }, { 64: 1 }, new Map([['x', 1]])],
    ...[101, NaN, Infinity].map((bias) => ({ 1: bias })),
  ],
};
const generates = {
  ...reads,
  ...sees,
  ...samples,
  maxTokens: count(),
  minTokens: count(3),
  json: [5, 'x', false, [], [1], { enum: [() => 1] }],
  grammar: [5, true, {}, ['x']],
  seed: count(2 ** 53),
  stop: [5, true, {}, [''], [5], ''],
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
const pairs = { ...tiny, kind: 'encoder_decoder', position: 'sinusoidal' };
const loop = { ...config };
loop.self = loop;
/** Nested, n levels. */
const nested = (n) => (n ? { deep: nested(n - 1) } : {});
const notConfigs = [
  ...as('bad-argument', /config|object/, 5, null),
  ...as('bad-argument', /preset "nothing"/, 'nothing'),
  ...as('bad-config', /config|vocab_size/, { vocab_size: 'x' }, { ...config, n_heads: Symbol('x') }),
  ...as('bad-config', /contains itself/, loop),
  ...as('bad-config', /nested deeper than 64/, { ...config, nested: nested(100) }),
  ...as('bad-config', /d_model 30.*n_heads 4/, { ...config, d_model: 30, n_heads: 4 }),
  ...as('bad-config', /ffn.*gelu_erf/, { ...config, ffn: 'gelu' }),
  ...as('bad-config', /typo/, { ...config, typo: 1 }),
  ...as('bad-config', /n_layers/, { ...config, n_layers: undefined }),
];
/** Without the rows of a vocabulary, which training brings. */
const notTrained = notConfigs.filter(({ words }) => !/vocab/.test(words));
/** Wrong vocabularies in the form of tokenizer.json. */
const bpe = (model, more = {}) => ({
  model: { type: 'BPE', vocab: { a: 0, b: 1, ab: 2 }, merges: [], ...model },
  ...more,
});
const templateOf = (single) => ({ type: 'TemplateProcessing', single, pair: [], special_tokens: {} });
const malformed = [
  [{ version: '1.0' }, /no model/],
  [bpe({ merges: ['a c'] }), /"c"/],
  [bpe({ merges: ['b a'] }), /"ba"/],
  [bpe({ merges: ['a b c'] }), /two tokens/],
  [bpe({ merges: [['a', 'b', 'c']] }), /two tokens/],
  [bpe({ merges: 'ab' }), /merges/],
  [bpe({ merges: ['a b'], continuing_subword_prefix: '##' }), /the token "a", which|the token/],
  [bpe({ dropout: 0.1 }), /dropout is 0\.1/],
  [bpe({ fuse_unk: 1 }), /the model BPE: fuse_unk is 1, expected true or false/],
  [bpe({ vocab: { a: -1 } }), /id -1/],
  [bpe({ vocab: { a: 0.5 } }), /0\.5/],
  [bpe({ vocab: { a: 0, b: 0 } }), /two tokens/],
  [bpe({ vocab: { a: 1e9 } }), /1000000000/],
  [bpe({ vocab: {} }), /empty/],
  [bpe({ vocab: ['a'] }), /not an object/],
  [{ model: { type: 'WordPiece', vocab: { a: 0 } } }, /unknown token "\[UNK\]"/],
  [{ model: { type: 'WordLevel', vocab: ['a'] } }, /not an object/],
  [{ model: { type: 'Wordy', vocab: { a: 0 } } }, /"Wordy" is not supported, expected one of BPE, Unigram/],
  [{ model: { type: 'Unigram', vocab: [['a']] } }, /scores/],
  [
    bpe({}, { pre_tokenizer: { type: 'Split', pattern: { Regex: '((((' }, behavior: 'Isolated' } }),
    /regular expression/i,
  ],
  [bpe({}, { pre_tokenizer: { type: 'Split', pattern: { String: 'b' }, behavior: 5 } }), /behavior is 5, expected Iso/],
  [bpe({}, { pre_tokenizer: { type: 'Split', pattern: 'b', behavior: 'Removed' } }), /pattern is "b"/],
  [bpe({}, { pre_tokenizer: { type: 'Split', pattern: { Regex: '(a)\\1' }, behavior: 'Removed' } }), /\\1 is not/],
  [bpe({}, { pre_tokenizer: { type: 'UnicodeScripts' } }), /"UnicodeScripts" is not supported, expected one of Bert/],
  [bpe({}, { pre_tokenizer: { type: 'FixedLength', length: 0 } }), /length is 0, expected a whole number from 1/],
  [bpe({}, { pre_tokenizer: { type: 'Sequence', pretokenizers: [null] } }), /Sequence: one is null/],
  [
    bpe({}, { pre_tokenizer: { type: 'Metaspace', add_prefix_space: false, prepend_scheme: 'first' } }),
    /add_prefix_space is false, and prepend_scheme is "first"/,
  ],
  [bpe({}, { normalizer: { type: 'Replace', pattern: { String: 'b' } } }), /content is undefined, expected a text/],
  [bpe({}, { normalizer: { type: 'Precompiled', precompiled_charsmap: '?' } }), /is not base64/],
  [bpe({}, { normalizer: { type: 'Precompiled', precompiled_charsmap: 'AAAA' } }), /has 3 bytes/],
  [
    bpe({}, { decoder: { type: 'Strip', content: 'ab', start: 1, stop: 0 } }),
    /content is "ab", expected one character/,
  ],
  [bpe({}, { post_processor: { type: 'BertProcessing', sep: ['x'], cls: ['y', 1] } }), /sep is \["x"\], expected/],
  [bpe({}, { post_processor: templateOf([{ Sequence: { id: 'B', type_id: 0 } }]) }), /of one text has a second one/],
  [bpe({}, { post_processor: templateOf([{ SpecialToken: { id: 'z', type_id: 0 } }]) }), /token "z" .* no list of ids/],
  [bpe({}, { added_tokens: [{ id: 3, content: 'x', lstrip: 1 }] }), /"x" has lstrip 1, expected true or false/],
  [
    bpe({}, { normalizer: { type: 'Lowercase' }, added_tokens: ['x', 'X'].map((content, id) => ({ id, content })) }),
    /"x" and "X" are the same when they are normalised/,
  ],
  [bpe({}, { decoder: { type: 'Guess' } }), /Guess/],
  [bpe({}, { added_tokens: [{ id: 3 }] }), /no content/],
  [bpe({}, { added_tokens: 5 }), /added_tokens/],
];
/** A vocabulary in a GGUF, with other values of one key. */
const inGguf = (key, value) =>
  writeGguf(
    {
      'tokenizer.ggml.model': text('gpt2'),
      'tokenizer.ggml.tokens': texts(['a', 'b', 'ab']),
      'tokenizer.ggml.merges': texts(['a b']),
      [`tokenizer.ggml.${key}`]: value,
    },
    [],
  );
/** Pairs are ranked by score; with a NaN among them there is no order. */
const scored = (scores) =>
  writeGguf(
    {
      'tokenizer.ggml.model': text('llama'),
      'tokenizer.ggml.tokens': texts(['<unk>', '<s>', '</s>', 'a', 'b', 'ab']),
      ...(scores && { 'tokenizer.ggml.scores': scores }),
    },
    [],
  );
const notVocabularies = [
  ...as('bad-tokenizer', /tokenizer/, {}, { nothing: 1 }, { model: 5 }, { model: { type: 'BPE', vocab: 5 } }),
  ...as('bad-tokenizer', /tokenizer/, { model: { type: 'BPE', vocab: { x: 0 }, merges: ['x'.repeat(1e6)] } }),
  ...malformed.flatMap(([object, words]) => as(['bad-tokenizer', 'unsupported'], words, object)),
  ...as('unsupported', /./, inGguf('model', text('rwkv'))),
  ...as('bad-tokenizer', /./, ...['bert', 'llama'].map((name) => inGguf('model', text(name)))),
  ...as('bad-tokenizer', /./, inGguf('token_type', i32s([1])), inGguf('bos_token_id', u32(3))),
  ...as('bad-tokenizer', /./, inGguf('merges', texts(['ab'])), inGguf('tokens', i32s([1]))),
  ...as('bad-tokenizer', /ggml\.scores has no number at index 4$/, scored(f32s([0, 0, 0, -1, NaN, -2]))),
  ...as('bad-tokenizer', /at index 0/, scored(f32s(new Array(6).fill(NaN)))),
  ...as('bad-tokenizer', /ggml\.scores has no number at index 5$/, scored(texts([...'00000', 'high']))),
  ...[5, 7].flatMap((n) => as('bad-tokenizer', new RegExp(`${n} entries for 6`), scored(f32s(new Array(n).fill(0))))),
  ...as('bad-tokenizer', /ggml\.scores has 0 entries for 6 tokens/, scored(null)),
];
const places = {
  threads: count(0, 65),
  backend: ['gpu', {}],
  kvDtype: [5, 'int3'],
  contextLength: count(0),
  signal,
  onProgress: [5, {}, 'x'],
  wasm: [5, {}, true],
};
/** What a metric may not be. */
const metrics = [
  ...[5, 'x', {}, [], null, { token: 5, typo: 1 }],
  ...as('bad-token', /token holds/, { token: 64 }, { token: -1 }, { token: 1, minus: 64 }),
  ...as('bad-option', /position/, ...[9, 'x', 1.5].map((position) => ({ token: 5, position }))),
];
/** @type {Record<string, Call>} */
export const CALLS = {
  encode: {
    call: (m, a, o) => m.told.encode(a, o),
    fine: 'text',
    name: /text/,
    wrong: [5, null, {}, [1], 'x'.repeat(2e7)],
    options: { addSpecialTokens },
  },
  decode: {
    call: (m, a) => m.told.decode(a),
    fine: [1],
    name: /ids/,
    wrong: [5, null, {}, 'x', ...as('bad-token', /0 to 2047/, [-1], [2048], [1.5], ['5'], [[1]])],
  },
  generate: {
    call: (m, a, o) => collect(m.plain.generate(a, withDefaults({ maxTokens: 1 }, o))),
    fine: [1],
    name: /prompt/,
    wrong: notIdLists,
    options: generates,
  },
  'a text': {
    call: (m, a) => m.told.forward(a),
    fine: 'A',
    name: /input/,
    wrong: [
      ...as('empty-prompt', /empty/, ''),
      ...as('context-full', /tokens, but the context holds only 256/, 'word '.repeat(400)),
      ...as('context-full', /characters, a context of 256 positions/, 'x'.repeat(1e5)),
    ],
  },
  'a text in a form': {
    call: (m, a, o) => collect(m.told.generate(a, withDefaults({ maxTokens: 1 }, o))),
    fine: 'A',
    name: /prompt/,
    wrong: [],
    options: {
      json: [{ type: 'text' }, { enum: [] }],
      grammar: ['root ::= (', 'start ::= "a"'],
    },
  },
  'a beam search': {
    call: (m, a) => collect(m.plain.generate(a, { beams: 2, maxTokens: 1 })),
    fine: [1],
    name: /prompt/,
    wrong: [5, {}, ...noIds],
  },
  forward: {
    call: (m, a, o) => m.plain.forward(a, o),
    fine: [1],
    name: /input/,
    wrong: notIdLists,
    options: { ...reads, ...sees, ...typed, mask, addSpecialTokens },
  },
  embed: {
    call: (m, a, o) => m.encoder.embed(a, o),
    fine: [1],
    name: /input/,
    wrong: notIdLists,
    options: {
      mask,
      ...typed,
      pooling: [5, 'most', [], ['mean', 'most']],
      normalize: flag,
      truncate: flag,
      addSpecialTokens,
      signal,
    },
  },
  classify: {
    call: (m, a, o) => m.labelled.classify(a, o),
    fine: [1],
    name: /input/,
    wrong: notIdLists,
    options: { edits: sees.edits, mask, activation: [5, {}, 'relu'], truncate: flag, addSpecialTokens, signal },
  },
  loss: {
    call: (m, a, o) => m.plain.loss(a, o),
    fine: [1, 2],
    name: /input/,
    wrong: [...notIdLists, ...as('bad-argument', /is one token: a loss needs one that follows it/, [1])],
    options: { ...reads, edits: sees.edits, perToken: flag, addSpecialTokens },
  },
  tokens: {
    call: (m, a, o) => m.told.tokens(a, o),
    fine: 'text',
    name: /ids/,
    wrong: [5, null, {}, true, ...as('bad-token', /0 to 2047/, [-1], [2048], [1.5], ['5'])],
    options: { alone: flag, addSpecialTokens },
  },
  complete: {
    call: (m, a, o) => m.plain.complete(a, withDefaults({ maxTokens: 1 }, o)),
    fine: [1],
    name: /prompt/,
    wrong: [5, null, {}, ...noIds, ...tooMany, ...empty],
    options: { maxTokens, seed, temperature, stop },
  },
  matrix: {
    call: (m, a) => m.plain.matrix(a),
    fine: 'final_norm.weight',
    name: /weight/,
    wrong: [5, {}, null, undefined, ...as('bad-argument', /weight "nothing"/, 'nothing')],
  },
  ...Object.fromEntries(
    Object.entries({
      layer: (m, a) => m.plain.circuit(a, 0, 'OV'),
      head: (m, a) => m.plain.circuit(0, a, 'OV'),
    }).map(([of, call]) => [
      `${of} of circuit`,
      { call, fine: 0, name: /./, wrong: as('bad-option', new RegExp(of), null, ...count(2)) },
    ]),
  ),
  'kind of circuit': {
    call: (m, a) => m.plain.circuit(0, 0, a),
    fine: 'OV',
    name: /circuit is .*, expected 'OV' or 'QK'/,
    wrong: [5, {}, null, undefined, 'ov', 'constructor'],
  },
  headScores: {
    call: (m, a, o) => m.plain.headScores(o),
    fine: null,
    name: /./,
    wrong: [],
    options: { signal, edits: sees.edits },
  },
  sweep: {
    call: (m, a, o) => m.plain.sweep(a, [], withDefaults({ metric: { token: 1 } }, o)),
    fine: [1, 2],
    name: /input/,
    wrong: notIdLists,
    options: { ...reads, metric: metrics, addSpecialTokens },
  },
  'edits of sweep': {
    call: (m, a) => m.plain.sweep([1, 2], a, { metric: { token: 1 } }),
    fine: [[]],
    name: /editSets/,
    wrong: [
      ...as('bad-option', /editSets/, ...lists, null, [5], [[5]], [[{}]], { at: '*', each: 'row' }),
      ...as('bad-token', /input from holds 64/, { at: '*.hook_z', each: 'head', from: [64] }),
      ...noPoint('nowhere', [[{ at: 'nowhere', scale: 0 }]]),
    ],
  },
  gradients: {
    call: (m, a, o) => m.plain.gradients(a, withDefaults({ of: 'loss', at: ['embed.weight'] }, o)),
    fine: [1, 2],
    name: /input/,
    wrong: notIdLists,
    options: {
      of: metrics,
      at: [...lists, null, [], [5], ...noPoint('nowhere', ['nowhere'])],
      signal,
      addSpecialTokens,
    },
  },
  attributionPatching: {
    call: (m, a, o) =>
      m.plain.attributionPatching(a, withDefaults({ of: { token: 1 }, at: ['*.hook_z'], from: [2, 1] }, o)),
    fine: [1, 2],
    name: /input/,
    wrong: notIdLists,
    options: {
      of: metrics,
      from: [
        ...as('bad-option', /from has 1 tokens, the input has 2/, [1]),
        ...as('bad-argument', /input from/, 5, {}),
        ...as('bad-token', /input from holds/, [64]),
        ...as('empty-prompt', /input from/, []),
      ],
      check: flag,
    },
  },
  integratedGradients: {
    call: (m, a, o) => m.plain.integratedGradients(a, withDefaults({ of: { token: 1 }, steps: 1 }, o)),
    fine: [1, 2],
    name: /input/,
    wrong: notIds,
    options: { of: metrics, steps: [null, ...count(0, 4097)], addSpecialTokens },
  },
  pathPatching: {
    call: (m, a, o) =>
      m.plain.pathPatching(
        a,
        withDefaults(
          { from: [2, 1], senders: ['*.hook_z'], receivers: ['blocks.1.hook_resid_post'], metric: { token: 1 } },
          o,
        ),
      ),
    fine: [1, 2],
    name: /input/,
    wrong: notIdLists,
    options: {
      metric: metrics,
      from: [...as('bad-argument', /input from/, 5, {}), ...as('empty-prompt', /input from/, [])],
      senders: [...lists, null, [], [5], [{ at: '*.hook_z', each: 1 }], ...noPoint('nowhere', ['nowhere'])],
      receivers: [...lists, null, [], ...noPoint('nowhere', ['nowhere'])],
      throughMlps: flag,
      signal,
      addSpecialTokens,
    },
  },
  provenance: { call: (m, a, o) => m.plain.provenance(o), fine: null, name: /./, wrong: [], options: { signal } },
  'model of scan': {
    isAlone: true,
    call: (m, a) => collect(scan(a, [[1, 2]], { at: 'blocks.1.hook_resid_post' })),
    fine: null,
    name: /model/,
    wrong: [5, null, undefined, {}, 'x'],
  },
  scan: {
    call: (m, a, o) => collect(scan(m.plain, a, withDefaults({ at: 'blocks.1.hook_resid_post' }, o))),
    fine: [[1, 2]],
    name: /texts|text 0/,
    wrong: [5, null, {}, ...as('bad-token', /text 0 holds/, [[64]], [[-1]]), ...as('no-tokenizer', /./, ['x'])],
    options: {
      at: [5, null, [], ...noPoint('nowhere', 'nowhere')],
      statistic: [5, 'median', ['mean', 5]],
      values: flag,
      index: [-1, 1.5, 'x', ['x']],
      from: [-1, 1.5, 'x'],
      top: count(0, 1001),
      bins: count(0, 10001),
      range: [5, [1], [2, 1], ['a', 'b']],
      batch: count(0),
      addSpecialTokens,
      signal,
    },
  },
  addAdapter: {
    call: (m, a, o) => m.plain.addAdapter(a, o),
    fine: stories,
    name: /address|source|adapter/,
    wrong: [5, null, {}, true, new Uint8Array(3), ...as('bad-option', /source/, undefined)],
    options: { scale: number().filter((x) => x !== -1), signal },
  },
  setAdapter: {
    call: (m, a) => m.plain.setAdapter(a),
    fine: null,
    name: /adapter is .*, expected what addAdapter returned/,
    wrong: [5, 'x', {}, undefined, 1.5],
  },
  'model of dictionary': {
    isAlone: true,
    call: (m, a) => collect(dictionary(a, TEXT, { at: 'blocks.0.hook_resid_post' })),
    fine: null,
    name: /model is .*, expected a loaded model/,
    wrong: [5, null, undefined, {}, 'x'],
  },
  dictionary: {
    call: (m, a, o) => collect(dictionary(m.told, a, withDefaults({ at: 'blocks.0.hook_resid_post' }, o))),
    fine: TEXT,
    name: /text/,
    wrong: [5, null, {}, [5], '', []],
    options: {
      at: [5, {}, ...noPoint('nowhere', 'nowhere')],
      size: count(0, 1e12),
      k: count(0, 4097),
      tokenTable: flag,
      tokens: count(0, 15),
      epochs: count(0),
      batch: count(0),
      lr: number(11),
      decay: number(2),
      seed,
      threads: count(0, 65),
      signal,
    },
  },
  'Dictionary.load': {
    isAlone: true,
    call: (m, a) => Dictionary.load(a),
    fine: null,
    name: /expected a folder or the files of one/,
    wrong: [5, null, undefined, {}, true, ...as('not-found', /no such folder/, '/nowhere/')],
  },
  distribution: {
    call: (m, a, o) => m.plain.distribution(a, o),
    fine: ones(config.vocab_size),
    name: /logits/,
    wrong: [[1, 2], 5, 'x', {}, [], ['x'], ones(65), [...ones(63), '5']],
    options: Object.fromEntries([
      ...Object.entries(samples),
      ...['seen', 'generated'].map((name) => [name, [...as('bad-argument', /list/, 5, {}, 'x'), ...noIds]]),
    ]),
  },
  logitLens: {
    call: (m, a, o) => m.plain.logitLens(a, o),
    fine: [1],
    name: /input/,
    wrong: notIds,
    options: { ...reads, top: count(), addSpecialTokens },
  },
  attribution: {
    call: (m, a, o) => m.plain.attribution(a, o),
    fine: [1],
    name: /input/,
    wrong: notIds,
    options: {
      ...reads,
      token: [{}, [], ...as('bad-token', /token/, true, 1.5, -1, 64)],
      position: signed(1.5, 99, -99),
      addSpecialTokens,
    },
  },
  explain: {
    call: (m, a, o) => m.plain.explain(a, withDefaults({ at: 'logits' }, o)),
    fine: [1],
    name: /input/,
    wrong: notIds,
    options: {
      ...reads,
      at: [{}, ...noPoint('nowhere', 'nowhere')],
      position: signed(1.5, 99, -99),
      head: [{}],
      index: count(),
      addSpecialTokens,
    },
  },
  trace: {
    call: (m, a, o) => m.plain.trace(a, o),
    fine: [1],
    name: /input/,
    wrong: notIds,
    options: { ...reads, addSpecialTokens },
  },
  session: {
    call: (m, a, o) => m.plain.session(o),
    fine: null,
    name: /./,
    wrong: [],
    options: { ...reads, ...sees, state: [5, 'x', {}, [1]] },
  },
  weight: {
    call: (m, a) => m.plain.weight(a),
    fine: 'final_norm.weight',
    name: /weight/,
    wrong: [5, {}, null, ...as('bad-argument', /weight "nothing"/, 'nothing')],
  },
  'row of a weight': {
    call: (m, a) => m.plain.weight('embed.weight', a),
    fine: 0,
    name: /row/,
    wrong: [...as('bad-option', /row/, ...count()), ...as('bad-option', /embed.weight is 64, .*0 to 63$/, 64)],
  },
  chat: {
    call: (m, a, o) => collect(m.told.chat(a, o)),
    fine: [{ role: 'user', content: 'x' }],
    name: /messages/,
    wrong: [5, 'x', {}, [], [5], [{}], [{ role: 'user', content: 5 }]],
    options: { edits: lists, captureBudget: sees.captureBudget, stop, ignoreEos, signal, template: [Symbol('x')] },
  },
  prompt: {
    call: (m, a, o) => m.told.prompt(a, o),
    fine: [{ role: 'user', content: 'x' }],
    name: /messages/,
    wrong: [5, null, 'x', {}, [], [5], [{}], [{ role: 'user', content: 5 }]],
    options: { template: [Symbol('x')], tools: [5, 'x', {}, [5], [{}]], continue: flag },
  },
  eval: {
    call: (m, a, o) => inSession(m.plain, (session) => session.eval(a, o)),
    fine: [1],
    name: /input/,
    wrong: notIds,
    options: { signal },
  },
  'generate in a session': {
    call: (m, a, o) => inSession(m.plain, (session) => collect(session.generate(a, withDefaults({ maxTokens: 1 }, o)))),
    fine: [1],
    name: /input/,
    wrong: [5, null, {}, ...noIds, ...tooMany],
    options: { maxTokens, seed, temperature, stop, logprobs, ignoreEos, addSpecialTokens, signal },
  },
  rewind: {
    call: (m, a) => inSession(m.plain, (session) => session.rewind(a)),
    fine: 0,
    name: /positions/,
    wrong: as('bad-option', /position/, ...count(1)),
  },
  ...Object.fromEntries(
    Object.entries({
      forward: (m, source) => m.pair.forward([1], { source }),
      session: (m, source) => m.pair.session({ source }),
      generate: (m, source) => collect(m.pair.generate([1], { source, maxTokens: 1 })),
      trace: (m, source) => m.pair.trace([1], { source }),
    }).map(([name, call]) => [`the source of ${name}`, { call, fine: [1], name: /source/, wrong: notSource }]),
  ),
  'a source mask': {
    call: (m, a) => m.pair.forward([1], { source: [1, 2], sourceMask: a }),
    fine: [1, 0],
    name: /sourceMask/,
    wrong: as('bad-option', /sourceMask/, ...mask, [1], [0, 0]),
  },

  create: {
    isAlone: true,
    call: (m, a, o) => create(a, o),
    fine: config,
    name: /config/,
    wrong: [...notConfigs, ...as('out-of-memory', /memory/, 'llama3-70b')],
    // create neither fetches nor reads anything
    options: {
      ...places,
      seed,
      dtype,
      worker: [5, {}, [], null],
      switches: [{ causal: false }],
      cache: ['opfs'],
      sha256: ['a'.repeat(64)],
      hfEndpoint: ['x'],
      fetch: [fetch],
    },
  },
  load: {
    isAlone: true,
    call: (m, a, o) => load(a, o),
    fine: stories,
    name: /address|weights|config|tokenizer/,
    wrong: [
      ...[5, null, undefined, {}, true, () => 1, [5], new Uint16Array(3)],
      ...[{ weights: 5 }, { weights: [] }, { weights: ['x', 5] }, { weights: new Uint8Array(3), config: 5 }],
      ...[{ weights: new Uint8Array(3), tokenizer: 5 }, 'x'.repeat(1e5)],
      ...as('not-found', /no config\.json/, [new Blob(['GGUF'])]), // a Blob has no name
      ...as('network', /^http:\/\/\[: /, 'http://['),
      ...as('truncated', /./, new Uint8Array(0), { weights: new Uint8Array(0), config }),
    ],
    options: {
      ...places,
      dtype,
      hfEndpoint: [{}],
      cache: [5, {}, 'x'],
      sha256: [5, {}, 'x', 'a'.repeat(63)],
      switches: [5, 'x', [], { causal: 1 }, { causal: null }, { caused: true }],
      fetch: [5, {}, 'x'],
      names: [5],
      adapters: [5, 'x', {}, [5], [{}], new Array(65).fill({ source: stories })],
    },
  },
  'Tokenizer.load': {
    isAlone: true,
    call: (m, a, o) => Tokenizer.load(a, o),
    fine: stories,
    name: /tokenizer/,
    wrong: [...[5, null, [], true], ...notVocabularies],
    options: { fetch: [5], signal, hfEndpoint: [{}] },
  },
  countParameters: {
    isAlone: true,
    call: (m, a) => countParameters(a),
    fine: config,
    name: /config/,
    wrong: notConfigs,
  },
  completeConfig: {
    isAlone: true,
    call: (m, a) => completeConfig(a),
    fine: config,
    name: /config/,
    wrong: notConfigs,
  },
  estimate: {
    isAlone: true,
    call: (m, a, o) => estimate(a, withDefaults({ contextLength: 8 }, o)),
    fine: config,
    name: /config/,
    wrong: notConfigs,
    options: {
      contextLength: as('bad-argument', /contextLength/, ...count(0)),
      batch: as('bad-argument', /batch/, ...count(0)),
      dtype: as('bad-argument', /dtype/, ...dtype),
      kvDtype: as('bad-argument', /kvDtype/, 5, {}, 'x'),
    },
  },
  train: {
    isAlone: true,
    call: (m, a, o) => collect(train(a, TEXT, withDefaults({ steps: 1, vocabSize: 257 }, o))),
    fine: tiny,
    name: /config/,
    wrong: [
      ...notTrained,
      ...as('unsupported', /without mlm_head/, { ...tiny, kind: 'encoder' }),
      ...as('bad-config', /d_model is missing/, { n_layers: 2 }),
    ],
    options: {
      ...Object.fromEntries(TRAIN_FIELDS.map((field) => [field.name, wrongOf(field)])),
      batchTokens: [...count(), ...as('bad-option', /is 8, less than one sequence of the context, 16/, 8)],
      microTokens: [...count(), ...as('bad-option', /is 0, expected a whole number from 1/, 0)],
      dropout: number(1),
      vocabSize: [...count(), ...as('bad-option', /is 100, expected a whole number from 257/, 100)],
      tokenizer: as('bad-argument', /tokenizer/, []),
      validation: [
        ...[{}, NaN, true, ...as('bad-option', /a share between 0 and 1/, 0, 1, 1.5)],
        ...[...as('bad-argument', /validation/, []), ...as('bad-argument', /no text/, '')],
      ],
      checkpoint: [
        ...as('bad-option', /expected bytes from run.checkpoint/, 5, 'x', [], {}),
        ...as('bad-file', /checkpoint.* not written by this package/, ...[0, 3, 100].map((n) => new Uint8Array(n))),
      ],
      signal,
      worker: [5, {}, true],
      teacher: as('bad-option', /teacher is .*, expected a loaded model/, 5, {}),
      teacherShare: [...number(2), ...as('bad-option', /given without a teacher/, 0.5)],
    },
  },
  'data of train': {
    isAlone: true,
    call: (m, a) => collect(train(tiny, a, { steps: 1, vocabSize: 257 })),
    fine: TEXT,
    name: /data is .*, expected a text/,
    wrong: [
      ...[5, null, undefined, {}, [], new Uint16Array(4), { size: 4 }],
      ...as('bad-argument', /no text to learn from/, '', ' \n<|endoftext|>\n '),
    ],
  },
  'pairs of train': {
    isAlone: true,
    call: (m, a) => collect(train(pairs, a, { steps: 1, vocabSize: 257 })),
    fine: 'a\tb\n',
    name: /pair/,
    wrong: [
      ...as('bad-argument', /pair 1 has no tab/, TEXT),
      ...as('bad-argument', /pair 2 has no source before its tab/, 'a\tb\n\tb\n'),
      ...as('bad-argument', /pair 2 has no target behind its tab/, 'a\tb\na\t\n'),
    ],
  },
  depth: {
    isAlone: true,
    call: (m, a, o) => depth(a, o),
    fine: tiny,
    name: /config/,
    wrong: notConfigs,
    options: { seed, tokens: count(1), signal },
  },
  toNpy: {
    isAlone: true,
    call: (m, a) => toNpy(a),
    fine: { shape: [1], data: [1] },
    name: /shape, data/,
    wrong: [[2], [-1, -1], ['1']].map((shape) => ({ shape, data: [1] })),
  },
  toNpz: {
    isAlone: true,
    call: (m, a) => toNpz(a),
    fine: {},
    name: /expected an object/,
    wrong: [undefined, 5],
  },
  provenanceOf: {
    isAlone: true,
    call: (m, a) => provenanceOf(a),
    fine: {},
    name: /expected an object|an address has at most/,
    wrong: [undefined, 5],
  },
  toSafetensors: {
    isAlone: true,
    call: (m, a) => toSafetensors(a),
    fine: {},
    name: /expected an object/,
    wrong: [undefined, 5],
  },
};
