// clock.test.js - speeds and times with a clock that ticks in whole milliseconds, as in Firefox and WebKit. The clock
// is mocked: it advances by the same amount at each reading, so nothing here depends on the speed of this machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meanSpeed, stepMs } from '../../web/page/state/base/speed.js';
import { untilEnd } from './helpers.js';

const real = performance.now.bind(performance);
/** ms between two readings, the current time, and how the clock rounds it. */
let pace = 0.137,
  time = 0,
  rounded = (ms) => ms;
performance.now = () => rounded((time += pace));
const exact = (ms) => ms,
  whole = Math.floor;

// imported after the clock is mocked, because they measure its tick once
rounded = whole;
const { Rate, clockTick, perSecond } = await import('../../web/lib/base/clock.js');
const { load } = await import('../../web/lib/api/index.js');
const { Yielder } = await import('../../web/lib/base/event_loop.js');
const top = new URL('../..', import.meta.url).pathname;

/**
 * Do the same work with the exact and with the rounded clock, starting at the same time.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<{fine: T, coarse: T}>}
 */
async function twice(work) {
  const results = [];
  for (const how of [exact, whole]) {
    rounded = how;
    time = 0.5;
    results.push(await work());
  }
  return { fine: results[0], coarse: results[1] };
}
const near = (a, b, share) => assert.ok(Math.abs(a - b) <= share * b, `${a}, expected ${b} within ${100 * share} %`);

test('the tick of a clock is measured, also when two readings are equal', () => {
  assert.equal(clockTick(), 1);
  assert.deepEqual([perSecond(20, 10), perSecond(20, 9), perSecond(0, 50), perSecond(5, 0)], [2000, 0, 0, 0]);
});

test("a rate is computed from as few spans as the clock's tick allows", () => {
  const rate = new Rate();
  assert.deepEqual(
    [0, 1, 0, 0].map((ms) => rate.add(8, ms)),
    [0, 0, 0, 0],
  );
  for (let i = 0; i < 8; i++) assert.equal(rate.add(8, 1), 0);
  assert.equal(rate.add(8, 1), (12 * 8 * 1000) / 10, 'the span that began before the first tick is not counted');
  assert.equal(rate.add(50, 25), 2000, 'one long span alone');
});

test('generate: the speed of many steps is correct, of too few steps is 0, and is never NaN or infinite', async () => {
  const model = await untilEnd(load(`${top}weights/stories-1m.gguf`));
  const write = async (options) => {
    const steps = model.generate('Once upon a time', { temperature: 0, ignoreEos: true, ...options }),
      ms = [];
    for (;;) {
      const { done, value } = await steps.next();
      if (done) return { ms, ...value };
      ms.push(value.ms);
    }
  };
  const { fine, coarse } = await twice(() => write({ maxTokens: 200 }));
  assert.ok(
    fine.ms.every((ms) => ms > 0 && ms < 1),
    'this clock makes no step a tick long',
  );
  assert.deepEqual([...new Set(coarse.ms)].sort(), [0, 1]);
  assert.ok(fine.tokensPerSecond > 1100, `${fine.tokensPerSecond}`);
  near(coarse.tokensPerSecond, fine.tokensPerSecond, 0.1);
  near(coarse.decodeMs, fine.decodeMs, 0.1);
  assert.equal(
    coarse.decodeMs,
    coarse.ms.reduce((a, b) => a + b, 0),
  );
  for (const options of [{ maxTokens: 1 }, { maxTokens: 4 }, { maxTokens: 3, beams: 2 }]) {
    const few = await write(options);
    assert.equal(few.tokensPerSecond, 0);
    assert.ok(
      [few.prefillMs, few.decodeMs, ...few.ms].every((ms) => Number.isFinite(ms) && ms >= 0),
      JSON.stringify(few),
    );
  }
  rounded = whole;
  const many = model.generate(['One', 'Two'], { maxTokens: 2 });
  let end;
  do {
    end = await many.next();
  } while (!end.done);
  assert.equal(end.value.tokensPerSecond, 0);
});

test('generate: the last token is not run through the model, whatever the stop reason', async () => {
  const model = await untilEnd(load(`${top}weights/stories-1m.gguf`)),
    ids = await model.encode('Once upon a time'),
    room = model.config.contextLength - ids.length;
  rounded = exact;
  for (const [maxTokens, reason] of [
    [200, 'maxTokens'],
    [room, 'maxTokens'],
    [room + 1, 'contextFull'],
  ]) {
    const steps = model.generate(ids, { temperature: 0, ignoreEos: true, maxTokens });
    let n = 0,
      end;
    for (end = await steps.next(); !end.done; end = await steps.next()) n++;
    assert.deepEqual([end.value.stopReason, n], [reason, Math.min(maxTokens, room)]);
    assert.equal(Math.round((end.value.tokensPerSecond * end.value.decodeMs) / 1000), n - 1, 'passes');
  }
});

test('Yielder yields once every 15 ms, and not more often', async () => {
  const before = pace;
  rounded = exact;
  pace = 1;
  const yielder = new Yielder(),
    turns = [];
  for (let check = 1; check <= 80; check++) {
    const wait = yielder.yieldIfDue();
    if (wait) turns.push(check);
    await wait;
  }
  assert.deepEqual(turns, [15, 30, 45, 60, 75]);
  pace = before;
});

test('trace: the time of operations shorter than a tick is measured over several passes', async () => {
  const model = await untilEnd(load(`${top}weights/stories-1m.gguf`));
  const { fine, coarse } = await twice(() => model.trace('Once upon a time, there was a little girl'));
  assert.deepEqual(
    coarse.map(({ ms, ...row }) => row),
    fine.map(({ ms, ...row }) => row),
    'bytes and FLOPs are of one pass',
  );
  const sum = (rows) => rows.reduce((n, r) => n + r.ms, 0);
  assert.ok(fine.every((r) => r.ms < 0.5));
  near(sum(coarse), sum(fine), 0.05);
  for (const op of new Set(fine.map((r) => r.op))) {
    // the sum over all layers, as the page shows it
    const of = (rows) => sum(rows.filter((r) => r.op === op));
    assert.ok(
      of(coarse) > 0.3 * of(fine) && of(coarse) < 2 * of(fine),
      `${op}: ${of(coarse)} ms, by a fine clock ${of(fine)} ms`,
    );
  }
});

test('the page: the time of a step is computed from steps of 0 and 1 ms', () => {
  // 0.3 ms per step, rounded to whole ms
  const steps = (ms, n) => Array.from({ length: n }, (_, i) => Math.floor((i + 1) * ms) - Math.floor(i * ms));
  near(stepMs(steps(0.3, 64)), 0.3, 0.1);
  near(stepMs(steps(0.73, 64)), 0.73, 0.1);
  near(stepMs(steps(3.4, 12)), 3.4, 0.1);
  assert.equal(stepMs(steps(0.3, 20)), 0, 'six ticks are too few');
  assert.deepEqual([stepMs([]), stepMs([0, 0, 0]), stepMs([1])], [0, 0, 0]);
  assert.equal(stepMs([35]), 35, 'a slow step alone');
  near(stepMs([...steps(0.3, 60), 40, 12]), 0.3, 0.1); // interrupted twice
  near(stepMs(Array.from({ length: 20 }, (_, i) => 0.3 + (i % 3) / 100)), 0.31, 0.05); // a fine clock
  assert.deepEqual([meanSpeed([]), meanSpeed([0, Infinity, NaN]), meanSpeed([0, 100, 300])], [0, 0, 150]);
});

test('all readings came from the mocked clock', () => {
  const before = time;
  performance.now();
  assert.equal(time, before + pace);
  assert.ok(real() > 0);
});
