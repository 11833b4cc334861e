// inquiry.test.js - the page's calls about its text use the current text
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trace, wantLogits } from '../../web/page/state/calls/ask_model.js';
import { createRuntime } from '../../web/page/state/store/runtime.js';
import { initialState } from '../../web/page/state/store/state.js';

/**
 * A store, and a model whose results identify the calls: logits are [number of tokens, last token], summed over earlier
 * evals.
 */
function made(ids, kind = 'decoder') {
  const asked = { traces: [], sessions: [] };
  let broken = false;
  const api = {
    memory: null,
    async trace(tokens, more) {
      asked.traces.push([tokens, more]);
      if (broken) throw new Error('no');
      return [asked.traces.length];
    },
    async session() {
      const session = {
        read: [],
        closed: false,
        async rewind(n) {
          session.read.length = n;
        },
        async eval(more) {
          if (broken) throw new Error('no');
          session.read.push(...more);
          return { data: Float32Array.from(session.read), length: session.read.length };
        },
        async close() {
          session.closed = true;
        },
      };
      asked.sessions.push(session);
      return session;
    },
  };
  const state = initialState();
  Object.assign(state.engine, { model: { api, config: { kind } } });
  state.text.source = 'a';
  const errors = [];
  const runtime = {
    ...createRuntime({ state, set: () => {} }),
    reads: () => ({ source: state.text.source }),
    fail: (e) => errors.push(e.message),
  };
  /** Another text is there. */
  const becomes = (list) => {
    runtime.turn++;
    Object.assign(state.text, { tokens: list.map((id) => ({ id })), logits: new Map() });
  };
  becomes(ids);
  return {
    inquiry: { wantLogits: (position) => wantLogits(runtime, position), trace: () => trace(runtime) },
    state,
    asked,
    errors,
    becomes,
    breaks: (now) => {
      broken = now;
    },
  };
}

test('logits on demand belong to the current text, whatever was computed before', async () => {
  const { inquiry, state, asked, errors, becomes, breaks } = made([1, 2, 3, 4]);
  const at = async (position) => {
    await inquiry.wantLogits(position);
    return Array.from(state.text.logits.get(position) ?? []);
  };
  assert.deepEqual(await at(3), [1, 2, 3, 4]);
  assert.deepEqual(await at(1), [1, 2]);
  becomes([1, 7]);
  assert.deepEqual(await at(1), [1, 7]);
  becomes([9, 8, 7]);
  assert.deepEqual(await at(2), [9, 8, 7]);
  assert.equal(asked.sessions.length, 1);
  state.text.source = 'b';
  becomes([9, 8, 7]);
  assert.deepEqual(await at(2), [9, 8, 7]);
  assert.deepEqual(
    asked.sessions.map((s) => s.closed),
    [true, false],
    'another source is another session',
  );
  becomes([5, 6]);
  breaks(true);
  assert.deepEqual(await at(1), []);
  assert.deepEqual(errors, ['no']);
  breaks(false);
  assert.deepEqual(await at(1), [5, 6]);
});

test('an answer that arrives after the text has changed is dropped', async () => {
  const { inquiry, state, becomes } = made([1, 2]);
  const late = inquiry.wantLogits(1);
  becomes([3, 4]);
  await late;
  assert.equal(state.text.logits.size, 0);
});

test('a trace is measured once per text, source and model, and again after a failure', async () => {
  const { inquiry, state, asked, becomes, breaks } = made([1, 2], 'encoder_decoder');
  /** Whether a trace was measured, in several passes of which the fastest counts. */
  const measures = async () => {
    const before = asked.traces.length;
    await inquiry.trace();
    const passes = asked.traces.length - before;
    assert.ok(passes === 0 || passes >= 3);
    return passes > 0;
  };
  assert.equal(await measures(), true);
  assert.equal(await measures(), false);
  state.text.source = 'b';
  assert.equal(await measures(), true);
  becomes([1, 2, 3]);
  assert.equal(await measures(), true);
  state.engine.model = { ...state.engine.model, api: { ...state.engine.model.api } };
  assert.equal(await measures(), true);
  assert.equal(await measures(), false);
  becomes([4]);
  breaks(true);
  await assert.rejects(inquiry.trace(), /no/);
  breaks(false);
  assert.equal(await measures(), true);
});
