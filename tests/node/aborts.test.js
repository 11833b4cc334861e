// aborts.test.js - every call whose signal is aborted rejects with the signal's reason and frees what it opened
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { unlessAborted, untilAborted } from '../../web/lib/base/event_loop.js';
import { EngineSession } from '../../web/lib/engine/engine_session.js';
import { Tokenizer, create, load } from '../../web/lib/api/index.js';
import { CALLS, MOMENTS, failureOf, openTable } from '../browser/engines/abort_table.js';
import { serve, stories } from './helpers.js';

for (const worker of [false, true])
  describe(worker ? 'in a worker' : "in the caller's thread", () => {
    let table;
    before(async () => {
      table = await openTable(load, stories, worker);
    });
    after(() => table.model.dispose());
    for (const moment of Object.keys(MOMENTS))
      for (const name of CALLS)
        test(`${name}, aborted ${moment}`, async () => assert.equal(await failureOf(table, name, moment), null));
  });

test('a promise that is awaited until an abort rejects also when the signal was aborted before', () =>
  assert.rejects(untilAborted(new Promise(() => {}), AbortSignal.abort(new Error('before'))), /before/));

// These passes went on, of which there may be one for each of many edits.
test('an abort ends the passes that give edits their means', async (t) => {
  const model = await load(stories);
  const controller = new AbortController();
  const run = EngineSession.prototype.eval;
  const { mock } = t.mock.method(EngineSession.prototype, 'eval', function counted(...args) {
    if (mock.callCount() === 2) controller.abort('enough');
    return run.apply(this, args);
  });
  const edits = Array.from({ length: 40 }, () => ({ at: 'blocks.0.hook_mlp_out', mean: 'Once upon a time' }));
  const asked = model.forward('Once', { edits, signal: controller.signal });
  assert.equal(await asked.catch((reason) => reason), 'enough');
  assert.equal(mock.callCount(), 3);
  model.dispose();
});

// A load waited for the binary, although its signal was aborted.
for (const worker of [false, true])
  test(`a binary that never arrives does not hold an aborted call${worker ? ', in a worker' : ''}`, async () => {
    const server = await serve((_, response) => response.writeHead(200).write('\0asm'));
    const controller = new AbortController();
    const options = { wasm: server.url, worker, signal: controller.signal };
    const calls = [load(stories, options), create({ vocab_size: 9, d_model: 8, n_layers: 1, n_heads: 1 }, options)];
    setTimeout(() => controller.abort('enough'), 500);
    for (const { reason } of await Promise.allSettled(calls)) assert.equal(reason, 'enough');
    server.close();
  });

// In the caller's thread a load waited for the answer, and Tokenizer.load in any case.
test('a fetch that ignores the signal does not hold an aborted call', async () => {
  for (const open of [load, Tokenizer.load]) {
    const controller = new AbortController();
    let answer, cancelled;
    const fetch = () => {
      setTimeout(() => controller.abort('enough'));
      return new Promise((resolve) => (answer = resolve));
    };
    const asked = open('https://files.test/a.gguf', { fetch, signal: controller.signal });
    assert.equal(await asked.catch((reason) => reason), 'enough');
    answer(new Response(new ReadableStream({ cancel: () => (cancelled = true) })));
    await new Promise(setImmediate);
    assert.ok(cancelled, 'the late answer is not read');
  }
});

// An empty session has no memory of its own, by which the table could see that it is closed.
test('what an aborted call has opened is undone before it rejects', async () => {
  const reason = new Error('not wanted any more');
  const undone = [];
  await assert.rejects(
    unlessAborted(Promise.resolve(7), AbortSignal.abort(reason), async (value) => void undone.push(value)),
    (error) => error === reason,
  );
  assert.deepEqual(undone, [7]);
});
