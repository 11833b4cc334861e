// aborts.test.js - every call whose signal is aborted rejects with the signal's reason and frees what it opened
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { load } from '../../web/lib/index.js';
import { collect, stories } from './helpers.js';

const text = 'Once upon a time there was a little girl who lived near the sea';
/** When the signal is aborted, relative to the call. */
const moments = {
  before: null,
  synchronously: (abort) => abort(),
  'in a microtask': (abort) => queueMicrotask(abort),
  'after 0 ms': (abort) => setTimeout(abort, 0),
};
/** The calls of a model that take a signal. */
const calls = {
  forward: (model, o) => model.forward(text, o),
  'forward of several': (model, o) => model.forward([text, text], o),
  logitLens: (model, o) => model.logitLens(text, o),
  attribution: (model, o) => model.attribution(text, o),
  explain: (model, o) => model.explain(text, { at: 'blocks.0.attn.hook_q', ...o }),
  trace: (model, o) => model.trace(text, o),
  generate: (model, o) => collect(model.generate(text, { maxTokens: 200, ...o })),
  beams: (model, o) => collect(model.generate(text, { maxTokens: 60, beams: 3, ...o })),
};

const occupied = (model) => model.memory.regions.filter(({ name }) => name !== 'free');

for (const worker of [false, true])
  describe(worker ? 'in a worker' : "in the caller's thread", () => {
    let model;
    let idle;
    before(async () => {
      model = await load(stories, { worker });
      for (const call of Object.values(calls)) await call(model, {}); // loads every file
      await (await model.session()).close();
      idle = occupied(model);
    });
    after(() => model.dispose());

    /** Abort a call at a moment. It rejects with the reason, or its answer, which is returned, came before the abort. */
    async function aborted(call, when) {
      const controller = new AbortController();
      const reason = new Error('not wanted any more');
      const abort = () => controller.abort(reason);
      if (!when) abort();
      const answer = call({ signal: controller.signal });
      when?.(abort);
      try {
        const value = await answer;
        assert.ok(!controller.signal.aborted, 'it resolved after the abort');
        return value;
      } catch (error) {
        return void assert.equal(error, reason);
      }
    }

    for (const [moment, when] of Object.entries(moments)) {
      for (const [name, call] of Object.entries(calls))
        test(`${name}, aborted ${moment}`, () => aborted((o) => call(model, o), when));
      test(`session, aborted ${moment}, leaves no session`, async () => {
        for (let i = 0; i < 20; i++) await (await aborted((o) => model.session(o), when))?.close();
        await (await model.session()).close();
        assert.deepEqual(occupied(model), idle);
      });
      test(`eval, aborted ${moment}, leaves the session as it was`, async () => {
        const session = await model.session();
        const expected = Array.from(await session.eval([1, 2, 3]));
        await session.rewind(2);
        await aborted((o) => session.eval(new Array(200).fill(5), o), when);
        assert.equal(session.length, 2);
        assert.deepEqual(Array.from(await session.eval([3])), expected);
        await session.close();
      });
    }
  });
