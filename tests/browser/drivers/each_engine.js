// each_engine.js - the same tests in every browser engine; an engine that is missing is skipped with the reason. Files of
// tests that share a process share its browsers.
import { after, before, describe, test } from 'node:test';
import { ENGINES, openBrowser, whyMissing } from './browsers.js';

/** @typedef {import('./browsers.js').Engine} Engine */

/** @type {Map<Engine, ReturnType<typeof openBrowser>>} */
const browsers = new Map();
after(async () => {
  for (const browser of browsers.values()) await (await browser).close();
});

/** The browser of this process, which is closed after its last test. @param {Engine} engine */
export function browserOf(engine) {
  const browser = browsers.get(engine) ?? openBrowser(engine);
  browsers.set(engine, browser);
  return browser;
}

/**
 * @param {Engine} engine
 * @param {(own: {engine: Engine, browser: import('./browsers.js').Browser}) => void} tests  declares them; the browser is
 *   open while they run
 */
export function inEngine(engine, tests) {
  const missing = whyMissing(engine);
  if (missing) return void test(engine, { skip: missing }, () => {});
  describe(engine, () => {
    const own = { engine, browser: /** @type {any} */ (null) };
    before(async () => {
      own.browser = await browserOf(engine);
    });
    tests(own);
  });
}

/** @param {Parameters<typeof inEngine>[1]} tests */
export function inEachEngine(tests) {
  for (const engine of ENGINES) inEngine(engine, tests);
}
