// holding.js - keeps questions of the built page to its engine waiting, so that a test can act in the meantime

/**
 * What keeps questions to the engine waiting: `hold('trace')`, `release()`; `spoil('trace')` makes the next fail.
 * @param {string} hash
 */
export const holding = (hash) => ({
  hash,
  prepare: (page) =>
    page.addInitScript(() => {
      const post = Worker.prototype.postMessage;
      const kept = [];
      let name = '',
        bad = '';
      window.spoil = (method) => {
        bad = method;
      };
      window.hold = (method) => {
        name = method;
      };
      window.held = () => kept.length;
      window.release = () => {
        name = '';
        for (const [worker, ...args] of kept.splice(0)) post.apply(worker, args);
      };
      Worker.prototype.postMessage = function (...args) {
        if (name && args[0]?.method === name) kept.push([this, ...args]);
        else if (bad && args[0]?.method === bad) {
          bad = '';
          post.call(this, { ...args[0], method: 'nothing that it could do' });
        } else post.apply(this, args);
      };
    }),
});
/** Questions of this method wait from now on. */
export const hold = (page, method) => page.evaluate((method) => window.hold(method), method);
/** One waits. */
export const held = (page) => page.waitForFunction(() => window.held() > 0);
/** None waits any more. */
export const release = (page) => page.evaluate(() => window.release());
