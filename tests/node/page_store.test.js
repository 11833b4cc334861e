// page_store.test.js - the page's store draws panels in an order that leaves none empty
import assert from 'node:assert/strict';
import { before, test } from 'node:test';

/** Frames and views of a browser, by hand. */
const frames = /** @type {(() => void)[]} */ ([]);
/** @type {(entries: {target: any, isIntersecting: boolean}[]) => void} */
let see;
const frame = () => {
  for (const run of frames.splice(0)) run();
};
before(() => {
  Object.assign(globalThis, {
    requestAnimationFrame: (/** @type {() => void} */ run) => frames.push(run),
    IntersectionObserver: class {
      constructor(/** @type {typeof see} */ call) {
        see = call;
      }
      observe() {}
    },
    MessageChannel: class {
      port1 = {};
      port2 = { postMessage() {} };
    },
  });
});

for (const key of ['model', 'stack']) {
  test(`a panel is built before it is filled: a new ${key} while the panel was out of view`, async () => {
    const { createStore } = await import('../../web/page/state/store.js');
    const store = createStore(/** @type {any} */ ({ status: 'ready', pace: 'fast' })),
      root = /** @type {any} */ ({});
    /** @type {string[]} */
    const drawn = [];
    store.watch(/** @type {any} */ ([key]), (s) => {
      if (s[key]) drawn.push('built');
    });
    store.watch(
      /** @type {any} */ (['patterns', key]),
      (s) => {
        if (s[key]) drawn.push('filled');
      },
      { root },
    );
    frame(); // the second panel is out of view and waits
    store.set(/** @type {any} */ ({ [key]: 'new' }));
    see([{ target: root, isIntersecting: true }]);
    frame();
    assert.deepEqual(drawn, ['built', 'filled']);
    store.set(/** @type {any} */ ({ patterns: null }));
    frame();
    assert.deepEqual(drawn, ['built', 'filled', 'filled']);
    assert.deepEqual(frames, []);
  });
}
