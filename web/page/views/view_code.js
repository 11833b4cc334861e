// view_code.js - the views whose code is fetched when they are opened, or when everything else is there

/**
 * One import however many ask at the same time, and again after it failed: WebKit resolves the second of two concurrent
 * imports of one module before the module has run.
 * @template T
 * @param {() => Promise<T>} load
 */
function once(load) {
  /** @type {Promise<T> | undefined} */
  let asked;
  return () =>
    (asked ??= load().catch((cause) => {
      asked = undefined;
      throw cause;
    }));
}

/** @type {Record<string, () => Promise<{ default: import('svelte').Component }>>} */
export const VIEW_CODE = {
  // after the cards above it, which would push it away
  inside: once(async () => (await Promise.all([import('./inside/Inside.svelte'), HEADS_CODE()]))[0]),
  count: once(() => import('./count/Count.svelte')),
  experiment: once(() => import('./experiment/Experiment.svelte')),
  train: once(() => import('./train/Train.svelte')),
  learn: once(() => import('./learn/Learn.svelte')),
  labs: once(() => import('./labs/LabsView.svelte')),
  features: once(() => import('./features/FeaturesView.svelte')),
};

/** An extra of the view Learn. */
export const CLAIMS_CODE = once(() => import('./claims/Tutorials.svelte'));

/** The first screen beside and below the text; Inside shows the first two. What a phone has below the machine comes after
 * it: nothing is pushed away. */
export const MACHINE_CODE = once(() => import('./frame/MachineCard.svelte'));
export const HEADS_CODE = once(() => MACHINE_CODE().then(() => import('./frame/HeadsCard.svelte')));
export const FOOT_CODE = once(() => MACHINE_CODE().then(() => import('./count/ParameterColumns.svelte')));
