// main_thread.test.js - the main thread of the built page in Chromium stays free while text is written and a model
// trains: no engine is created there. On an idle machine the longest task takes 16 to 50 ms, which is printed; a busy
// machine makes even the processor's own time 20 times longer, so no time is asserted.
import assert from 'node:assert/strict';
import { browser, pageTest } from './built_page.js';
import { STORY, openView, prepare, run } from './page_parts.js';
import { quiet } from './quiet.js';
import { ownTasks } from './tasks.js';
import { train, trained } from './training_parts.js';

/**
 * Runs before the page's scripts: window.longTasks has what blocked its thread, window.engines counts the instances of
 * binaries that were created there.
 */
const watchTasks = (page) =>
  page.addInitScript(() => {
    window.engines = 0;
    const { instantiate, instantiateStreaming, Instance } = WebAssembly;
    WebAssembly.instantiate = (...args) => (window.engines++, instantiate(...args));
    WebAssembly.instantiateStreaming = (...args) => (window.engines++, instantiateStreaming(...args));
    WebAssembly.Instance = class extends Instance {
      constructor(...args) {
        super(...args);
        window.engines++;
      }
    };
    window.longTasks = [];
    new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((e) => e.duration))).observe({
      type: 'longtask',
    });
  });

for (const [device, width, height, view] of [
  ['desktop', 1440, 2000, 'inside'],
  ['phone', 390, 844, 'write'],
]) {
  pageTest(
    `the main thread stays free while 512 tokens stream with attention: ${device}`,
    { hash: STORY, width, height, prepare: watchTasks },
    async ({ page }, t) => {
      await page.locator('#past').check();
      await prepare(page, 'Once upon a time', { tokens: 600 });
      await openView(page, view);
      await quiet(page);
      const {
        result: { wall, frames },
        tasks: own,
      } = await ownTasks(browser, page, async () => {
        await page.evaluate(() => {
          window.longTasks.length = 0;
          window.frames = [];
          let last = performance.now();
          const frame = (now) => {
            window.frames.push(now - last);
            last = now;
            window.asked = window.quiet.frame(frame);
          };
          window.asked = window.quiet.frame(frame);
        });
        if (view === 'write') {
          await run(page);
        } else {
          await page.locator('.strip').getByRole('button', { name: 'Run' }).click();
          // Stop is never drawn where the run ends before the first frame
          await quiet(page, () => {
            const strip = document.querySelector('.strip');
            return strip.querySelector('.line span:not(.given)') && !/Stop/.test(strip.textContent);
          });
        }
        return page.evaluate(() => {
          cancelAnimationFrame(window.asked);
          return { wall: window.longTasks, frames: window.frames.sort((a, b) => a - b) };
        });
      });
      await openView(page, 'write');
      await quiet(page);
      assert.equal(await page.locator('.tok').count(), 512);
      assert.match(
        await page.locator('.stream [aria-live]').textContent(),
        /^Stopped after .*: the end of the context/,
      );
      assert.ok(
        await page.locator('.text').evaluate((e) => e.scrollHeight <= e.clientHeight || e.scrollTop > 0),
        'the end of the text is out of sight',
      );
      const list = (tasks) =>
        tasks
          .filter((ms) => ms > 50)
          .map((ms) => `${Math.round(ms)} ms`)
          .join(', ') || 'none';
      const frame = (share) => Math.round(frames[Math.min(frames.length - 1, Math.floor(share * frames.length))]);
      t.diagnostic(
        `longest task ${Math.max(...own).toFixed(1)} ms of the thread's own time; above 50 ms: ${list(own)}; by the wall: ${list(wall)}; frames: median ${frame(0.5)}, 95 of 100 below ${frame(0.95)}, longest ${frame(1)} ms`,
      );
      assert.equal(await page.evaluate(() => window.engines), 0);
    },
  );
}

const TRAIN = { hash: STORY, view: 'train', prepare: watchTasks };
pageTest('the main thread stays free while a model trains', TRAIN, async ({ page }, t) => {
  await quiet(page);
  const { tasks: own } = await ownTasks(browser, page, async () => {
    await train(page, { steps: 120, every: 30 });
    await trained(page, /^Done/);
  });
  t.diagnostic(`longest task: ${Math.max(...own).toFixed(1)} ms of the thread's own time`);
  assert.equal(await page.evaluate(() => window.engines), 0);
});
