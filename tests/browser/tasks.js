// tasks.js - the longest tasks of a page's main thread in Chromium, in processor time of the thread, because wall-clock
// time grows on a busy machine.
import assert from 'node:assert/strict';

/**
 * @param {import('playwright-core').Browser} browser
 * @param {import('playwright-core').Page} page
 * @param {() => Promise<any>} work
 * @returns {Promise<{result: any, tasks: number[]}>} ms of each task meanwhile
 */
export async function ownTasks(browser, page, work) {
  await browser.startTracing(page, { categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline'] });
  const result = await work();
  const events = JSON.parse((await browser.stopTracing()).toString()).traceEvents;
  const main = events
    .filter((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain')
    .map((e) => `${e.pid} ${e.tid}`);
  const tasks = events
    .filter((e) => e.name === 'RunTask' && main.includes(`${e.pid} ${e.tid}`))
    .map((e) => (e.tdur ?? 0) / 1000);
  assert.ok(tasks.length > 20, `${tasks.length} tasks were traced`);
  return { result, tasks };
}
