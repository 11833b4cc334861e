// view_code.js - the views whose code is fetched when they are opened, or when everything else is there

/** @type {Record<string, () => Promise<{ default: import('svelte').Component }>>} */
export const VIEW_CODE = {
  inside: () => import('./inside/Inside.svelte'),
  count: () => import('./count/Count.svelte'),
  experiment: () => import('./experiment/Experiment.svelte'),
  train: () => import('./train/Train.svelte'),
  learn: () => import('./learn/Learn.svelte'),
  labs: () => import('./labs/LabsView.svelte'),
};

/** An extra of the view Learn. */
export const CLAIMS_CODE = () => import('./claims/Tutorials.svelte');

/** What several views show below their first row. */
export const LOWER_CODE = () => import('./frame/Lower.svelte');
export const ANATOMY_CODE = () => import('./inside/anatomy/Anatomy.svelte');
