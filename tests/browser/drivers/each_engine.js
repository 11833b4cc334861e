// each_engine.js - the same tests in every browser engine; an engine that is missing is skipped with the reason
import { after, before, describe, test } from 'node:test';
import { ENGINES, openBrowser, whyMissing } from './browsers.js';

/** @typedef {import('./browsers.js').Engine} Engine */

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
      own.browser = await openBrowser(engine);
    });
    tests(own);
    after(() => own.browser?.close()); // after what the tests close
  });
}

/** @param {Parameters<typeof inEngine>[1]} tests */
export function inEachEngine(tests) {
  for (const engine of ENGINES) inEngine(engine, tests);
}
