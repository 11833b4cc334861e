// patience.js - waiting for what comes at last, shared by the tests of all folders
import assert from 'node:assert/strict';

/** How long what a test waits for may take, in ms: only what never comes takes that long, however busy the machine is. */
export const PATIENCE = 240_000;

/** @param {number} ms */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Wait until this holds. The timer keeps the process alive meanwhile.
 * @param {() => any} holds  or a promise of it
 * @param {string | (() => string)} [what]  for the message
 */
export async function until(holds, what = String(holds)) {
  for (const end = Date.now() + PATIENCE; !(await holds()); await sleep(5))
    assert.ok(Date.now() < end, `this never came: ${typeof what === 'string' ? what : what()}`);
}
