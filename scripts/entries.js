// entries.js - the files that dist/ must contain; it also has the chunks that index.js and cli.js share

export const binaries = ['simd', 'simd-threads', 'relaxed', 'relaxed-threads', 'train', 'train-threads'].map(
  (name) => `glassformer-${name}.wasm`,
);

/** Entries that use the package through its public calls, by their modules in web/lib. */
export const apps = {
  'ai-sdk': 'apps/clients/ai_sdk',
  openai: 'apps/clients/openai',
  react: 'apps/clients/react',
  vue: 'apps/clients/vue',
  labs: 'apps/labs/labs',
  elements: 'apps/elements/elements',
};

export const entries = [
  ...[
    'index',
    'inline',
    'worker',
    'worker_more',
    'worker_files',
    'worker_rest',
    'train_worker',
    ...Object.keys(apps),
  ].map((name) => `${name}.js`),
  ...['glassformer.iife.js', 'glassformer.js', 'cli.js'],
  ...['worker', 'worker_more', 'worker_files', 'engine', 'train'].map((name) => `embedded_${name}.js`),
  'THIRD_PARTY_LICENSES.txt',
  ...binaries.map((name) => `wasm/${name}`),
];
