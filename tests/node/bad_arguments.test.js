// bad_arguments.test.js - every public call with the wrong inputs of bad_inputs.js, and with values that are too large,
// change while they are read, or run code of their own: each is refused with a documented code and a message that
// names it, the same in this thread and from a worker, and the models work afterwards
//
// An array of three million edits was refused only after seconds, and one of 2^31 ids ended the process. `set: {
// length: 6e8 }` made the engine reserve 2^32 bytes, which is 0 in 32 bits: every later call overwrote its memory until
// it trapped.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { show } from '../../web/lib/base/errors.js';
import { Tokenizer, train } from '../../web/lib/api/index.js';
import { CALLS, odd, openModels } from './bad_inputs.js';
import { claims, collect, refusal, stories } from './helpers.js';

const logitsOf = async ({ plain }) => Buffer.from((await plain.forward([1, 2, 3])).logits.data.buffer).toString('hex');
const { here, there } = await openModels();
const logitsBefore = await logitsOf(here);

/** Entries of a list that a sentence may show. */
const SHOWN = 50;
// V8 joins the pieces of a repeated text only when a character of it is read
const LONG = 'x'.repeat(5e7);

/** Values that are not a list, or change while they are read, each made anew. */
const CHANGING = [
  () => ({ length: '3' }),
  () => ({ length: 2.5 }),
  () => ({ length: NaN }),
  () => ({ length: 6e8 }),
  () => ({ length: 2 ** 30 }),
  () => ({
    get length() {
      throw new Error('boom');
    },
  }),
  () => new BigInt64Array(3),
  () => new DataView(new ArrayBuffer(8)),
  () => [{ length: 1e9 }],
  () => 'x'.repeat(1e6),
  () => claims(3).value,
  () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    return proxy;
  },
  () =>
    new Proxy([], {
      get() {
        throw new Error('boom');
      },
    }),
  () => {
    let asked = 0; // a length that grows when it is read for the second time
    return new Proxy([1, 2, 3], { get: (target, key) => (key === 'length' ? (asked++ ? 1e9 : 3) : target[key]) });
  },
];

for (const [name, { call, fine, name: argument, wrong, options = {}, isAlone }] of Object.entries(CALLS)) {
  describe(name, () => {
    /** Wrong values of the argument and of each option: its name in messages, its kind, and the call with a value. */
    const slots = [
      { named: argument, kind: wrong, with: (m, value) => call(m, value, {}) },
      ...Object.entries(options).map(([option, kind]) => ({
        named: option === 'edits' ? 'edits|point' : option === 'capture' ? 'capture|point' : option,
        kind,
        with: (m, value) => call(m, fine, { [option]: value }),
      })),
    ];
    const places = () => (isAlone ? [here] : [here, there]);
    /** The same refusal in all places. */
    const refusedBy = async (make, what) => {
      const errors = [];
      for (const models of places()) errors.push(await refusal(() => make(models), what));
      const [{ code, message }] = errors;
      for (const error of errors) assert.deepEqual([error.code, error.message], [code, message]);
      assert.ok(!['crashed', 'out-of-memory', 'worker'].includes(code), `${code}: ${message}`);
      return message;
    };

    test('wrong values and unknown options are refused by name', async () => {
      for (const { named, kind, with: given } of slots)
        for (const value of kind.values) {
          const what = `${named}: ${show(value)}`;
          assert.match(await refusedBy((m) => given(m, value), what), new RegExp(named), what);
        }
      if (!slots[1]) return;
      assert.match(await refusedBy((m) => call(m, fine, { noSuchOption: 1 })), /noSuchOption/);
      if (!isAlone)
        for (const value of [5, 'x', [], true, new Uint8Array(3), Symbol('odd'), LONG])
          assert.match(await refusedBy((m) => call(m, fine, value)), /options/);
      assert.equal(await logitsOf(here), logitsBefore);
    });

    test('a text of 50 MB is refused and not repeated', async () => {
      for (const { named, kind, with: given } of slots) {
        if (!kind.values.length || kind.isText) continue;
        const message = await refusedBy((m) => given(m, LONG), named);
        assert.match(message, new RegExp(named));
        assert.ok(!message.includes('xx'), message);
      }
    });

    const listSlots = slots.filter(({ kind }) => kind.isList);
    if (!listSlots.length) return;
    test('a list of 2^31 entries is refused for their number, and at most the shown ones are read', async () => {
      for (const { named, with: given } of listSlots)
        for (const length of [2 ** 31, 2 ** 53 - 1]) {
          const made = [];
          const message = await refusedBy((m) => {
            made.push(claims(length));
            return given(m, made.at(-1).value);
          });
          for (const { seen } of made) assert.ok(seen.reads <= SHOWN, `${seen.reads} entries of ${named} were read`);
          assert.match(message, new RegExp(String(length)));
          assert.match(message, new RegExp(named));
        }
    });

    test('a list that changes while it is read is read once, or refused', async () => {
      for (const { with: given } of listSlots)
        for (const make of CHANGING) {
          const results = [];
          for (const models of places()) {
            const error = await Promise.resolve()
              .then(() => given(models, make()))
              .then(
                () => null,
                (e) => e,
              );
            if (error) await refusal(() => Promise.reject(error));
            assert.ok(!['crashed', 'out-of-memory'].includes(error?.code), error?.stack);
            results.push([error?.code, error?.message]);
          }
          for (const result of results) assert.deepEqual(result, results[0]);
          if (make === CHANGING.at(-1)) assert.doesNotMatch(results[0][1] ?? '', /1000000000/);
        }
      for (const models of places()) assert.equal(await logitsOf(models), logitsBefore);
    });
  });
}

test('a model without a tokenizer or chat template refuses text and chat', async () => {
  for (const { plain, told } of [here, there]) {
    for (const call of [
      () => plain.encode('x'),
      () => plain.decode([1]),
      () => plain.forward('x'),
      () => collect(plain.generate('x')),
    ])
      assert.equal((await refusal(call)).code, 'no-tokenizer');
    assert.equal((await refusal(() => collect(told.chat([{ role: 'user', content: 'x' }])))).code, 'no-chat-template');
  }
});

test('calls of a tokenizer', async () => {
  const tokenizer = await Tokenizer.load(stories);
  for (const value of [5, null, undefined, {}, Symbol('odd')])
    assert.match((await refusal(() => tokenizer.encode(value))).message, /text/);
  assert.match((await refusal(() => tokenizer.encode(LONG))).message, /50000000 characters, at most 16777216/);
  for (const value of [5, null, undefined, {}, 'x', Symbol('odd'), [-1], [1.5], ['x'], [1e9], [10n], ['5']]) {
    assert.match((await refusal(() => tokenizer.decode(value))).message, /ids|id of a token/);
    if (!Array.isArray(value) && value !== undefined)
      assert.match((await refusal(() => tokenizer.stream(value))).message, /ids/);
  }
  for (const call of [(list) => tokenizer.decode(list), (list) => tokenizer.stream(list)]) {
    const { value, seen } = claims(2 ** 31);
    assert.match((await refusal(() => call(value))).message, /ids has 2147483648 entries/);
    assert.equal(seen.reads, 0);
  }
  for (const call of [(o) => tokenizer.encode('x', o), (o) => tokenizer.decode([300], o)]) {
    for (const value of [5, 'x', []]) assert.match((await refusal(() => call(value))).message, /options/);
    assert.match((await refusal(() => call({ noSuchOption: 1 }))).message, /noSuchOption/);
  }
  for (const value of odd) {
    assert.equal(tokenizer.idToText(value), '');
    assert.equal(tokenizer.stream().push(value), '');
    assert.equal(tokenizer.knows(value), false);
    await refusal(() => new Tokenizer(value));
  }
  const model = { type: 'BPE', vocab: { ['x'.repeat(1000)]: 0 }, merges: [LONG] };
  assert.match((await refusal(() => Tokenizer.load({ model }))).message, /tokenizer/);
});

test('calls of a training run', async () => {
  const tiny = { d_model: 8, n_layers: 1, n_heads: 1, context_length: 16 };
  const run = train(tiny, 'the cat sat on the mat. '.repeat(3), { steps: 1, vocabSize: 257 });
  assert.equal((await refusal(() => run.config)).code, 'bad-state');
  await run.next();
  for (const value of [5, 'x', [], Symbol('odd')])
    assert.match((await refusal(() => run.files(value))).message, /options/);
  for (const call of [(o) => run.files(o), (o) => run.model(o)]) {
    for (const dtype of [5, {}, 'x', Symbol('odd')])
      assert.match((await refusal(() => call({ dtype }))).message, /dtype/);
    assert.match((await refusal(() => call({ noSuchOption: 1 }))).message, /noSuchOption/);
  }
  await refusal(() => run.model(null));
  await run.dispose();
  for (const call of [() => run.next(), () => run.files(), () => run.checkpoint(), () => run.model()])
    assert.equal((await refusal(call)).code, 'bad-state');
});
