// view_code.js - the views whose code is fetched when they are opened, or when everything else is there

/** @type {Record<string, () => Promise<{ default: import('svelte').Component }>>} */
export const VIEW_CODE = {
  inside: () => import('./inside/Inside.svelte'),
  count: () => import('./count/Count.svelte'),
  experiment: () => import('./experiment/Experiment.svelte'),
  train: () => import('./train/Train.svelte'),
  learn: () => import('./learn/Learn.svelte'),
  labs: () => import('./labs/LabsView.svelte'),
  features: () => import('./features/FeaturesView.svelte'),
};

/** An extra of the view Learn. */
export const CLAIMS_CODE = () => import('./claims/Tutorials.svelte');

/** The first screen beside and below the text; Inside shows the first two. What a phone has below the machine comes after
 * it: nothing is pushed away. */
export const MACHINE_CODE = () => import('./frame/MachineCard.svelte');
export const HEADS_CODE = () => MACHINE_CODE().then(() => import('./frame/HeadsCard.svelte'));
export const FOOT_CODE = () => MACHINE_CODE().then(() => import('./count/Foot.svelte'));
