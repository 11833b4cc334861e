// store.js - the one state of the page: read by every component, written through `set`.
//
// Changes made in one turn of the event loop are announced together, in the next animation frame: a thousand tokens a
// second cost a component at most one drawing per frame.

/** @typedef {import('./state.js').State} State */
/** Some values of some groups. @typedef {{ [Group in keyof State]?: Partial<State[Group]> }} Patch */

const FAST_MS = 45; // at full speed: between two frames drawn, at least
const FAST_SHARE = 4; // and so many times what a frame takes, so that most of the machine is left to the engine
const FAST_MOST = 400;

/**
 * Plans one call of `announce` in the next animation frame; while text streams at full speed, later.
 * @param {State} state
 * @param {() => void} announce
 */
function createPlan({ engine }, announce) {
  let frame = 0;
  /** @type {any} */
  let timer = 0; // at full speed: until the next frame
  let cost = 0; // ms that the last frames took, layout and painting included

  const painted = new MessageChannel();
  painted.port1.onmessage = ({ data }) => {
    cost += (performance.now() - data - cost) / 2;
  };

  function draw() {
    frame = 0;
    painted.port2.postMessage(performance.now()); // received when the browser has drawn this frame
    announce();
  }

  return () => {
    const fast = engine.status === 'running' && engine.pace === 'fast';
    if (frame || (timer && fast)) return;
    clearTimeout(timer);
    timer = 0;
    if (!fast) {
      frame = requestAnimationFrame(draw);
      return;
    }
    // At full speed every frame drawn is a token not written.
    timer = setTimeout(
      () => {
        timer = 0;
        frame = requestAnimationFrame(draw);
      },
      Math.min(FAST_MOST, Math.max(FAST_MS, FAST_SHARE * cost)),
    );
  };
}

/** @param {State} state */
export function createStore(state) {
  /** Callbacks of components, by group and key of what they read: 'text.tokens'. @type {Map<string, Set<() => void>>} */
  const subscribers = new Map();
  const changed = new Set();
  function announce() {
    const keys = [...changed];
    changed.clear();
    for (const key of keys) for (const update of subscribers.get(key) ?? []) update();
  }
  const plan = createPlan(state, announce);

  return {
    state,
    /** Write some values and announce them in the next frame. A value that is changed in place is set to itself.
     * @param {Patch} patch */
    set(patch) {
      for (const [group, values] of Object.entries(patch)) {
        Object.assign(state[group], values);
        for (const key of Object.keys(values)) changed.add(`${group}.${key}`);
      }
      plan();
    },
    /** Announce at once what was set. */
    flush: announce,
    /**
     * Call `update` in each frame in which this value was set.
     * @param {string} key  'text.tokens'
     * @param {() => void} update
     * @returns {() => void} ends the subscription
     */
    subscribe(key, update) {
      const list = subscribers.get(key) ?? new Set();
      subscribers.set(key, list.add(update));
      return () => list.delete(update);
    },
  };
}

/** @typedef {ReturnType<typeof createStore>} Store */
