// quiet.js - waits until a page is idle: no pending frame, short timer or message, no pending call to a worker, and no
// part whose code is still fetched.
// Tests wait for this before they read the page. A fixed time would be too short on a busy machine, and a page that has
// not started to react shows old values.
import { PATIENCE, sleep } from '../patience.js';

/** Runs in a page before its scripts: counts what is scheduled. */
function count() {
  const real = { frame: window.requestAnimationFrame.bind(window), timer: window.setTimeout.bind(window) };
  const frames = new Set(),
    timers = new Set(),
    calls = new Set();
  let messages = 0;

  window.requestAnimationFrame = (work) => {
    const id = real.frame((now) => {
      frames.delete(id);
      work(now);
    });
    frames.add(id);
    return id;
  };
  const { cancelAnimationFrame, clearTimeout } = window;
  window.cancelAnimationFrame = (id) => {
    frames.delete(id);
    cancelAnimationFrame.call(window, id);
  };
  window.setTimeout = (work, ms = 0, ...args) => {
    const id = real.timer(() => {
      timers.delete(id);
      work(...args);
    }, ms);
    if (ms <= 1000) timers.add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    timers.delete(id);
    clearTimeout.call(window, id);
  };

  // a message to itself, with which the page yields to input events
  window.MessageChannel = class extends MessageChannel {
    constructor() {
      super();
      const { port1, port2 } = this,
        post = port2.postMessage.bind(port2);
      let own = 0; // a port that was transferred to a worker also brings messages that were not posted here
      port1.addEventListener('message', () => {
        if (!own) return;
        own--;
        messages--;
      });
      port2.postMessage = (...args) => {
        own++;
        messages++;
        post(...args);
      };
    }
  };

  // calls to the library's workers (model_caller.js), except streams, which may pause at any token
  const { postMessage } = Worker.prototype;
  /** By worker: the questions that wait, by their numbers. @type {WeakMap<Worker, Map<number | string, object>>} */
  const waiting = new WeakMap();
  Worker.prototype.postMessage = function (message, ...rest) {
    let asked = waiting.get(this);
    if (!asked) {
      waiting.set(this, (asked = new Map()));
      const settle = (id) => {
        calls.delete(asked.get(id));
        asked.delete(id);
      };
      const end = () => {
        for (const id of asked.keys()) settle(id);
      };
      this.addEventListener('message', ({ data }) => {
        if (data?.ready) settle('hello');
        else if (data?.id !== undefined && ('value' in data || 'error' in data)) settle(data.id);
      });
      this.addEventListener('error', end);
      const { terminate } = this;
      this.terminate = () => {
        end();
        terminate.call(this);
      };
    }
    const id = message?.hello ? 'hello' : message?.method && !message.stream ? message.id : null;
    if (id !== null) {
      const call = {};
      asked.set(id, call);
      calls.add(call);
    }
    return postMessage.call(this, message, ...rest);
  };

  /** Parts whose code is still fetched (Lazy.svelte). */
  const parts = () => document.querySelectorAll('[data-fetching]').length;
  const busy = () => frames.size + timers.size + messages + calls.size + parts() > 0;
  /** Observers of size and sight are heard at the end of a frame; a page that is not in front draws none. */
  const drawn = () =>
    Promise.race([
      new Promise((done) => {
        real.frame(() => real.frame(done));
      }),
      new Promise((done) => {
        real.timer(done, 3000);
      }),
    ]);
  window.quiet = {
    frame: real.frame,
    now: async () => {
      await drawn();
      if (busy()) return false;
      await drawn();
      return !busy();
    },
    state: () => ({ frames: frames.size, timers: timers.size, messages, calls: calls.size, parts: parts() }),
  };
}

/** @param {import('playwright-core').Page} page  before its first address */
export const watchQuiet = (page) => page.addInitScript(count);

/**
 * @param {import('playwright-core').Page} page  of `watchQuiet`
 * @param {(() => boolean) | string} [condition]  that has to hold in the page at that moment, too
 */
export async function quiet(page, condition = () => true) {
  const end = Date.now() + PATIENCE;
  const holds = typeof condition === 'string' ? condition : `(${condition})()`;
  while (!(await page.evaluate(`window.quiet.now().then((now) => now && (${holds}))`))) {
    if (Date.now() > end)
      throw new Error(
        `the page did not come to rest within ${PATIENCE / 1000} s: ${JSON.stringify(await page.evaluate(() => window.quiet.state()))}, ${condition}`,
      );
    await sleep(20);
  }
}
