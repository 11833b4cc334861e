// fixtures.js - the list of all fixtures
import { bundlers } from './fixtures/bundlers.js';
import { frameworks } from './fixtures/frameworks.js';
import { recipes } from './fixtures/recipes.js';
import { runtimes } from './fixtures/runtimes.js';
import { unbundled } from './fixtures/static.js';
import { typescript } from './fixtures/typescript.js';
import { vite } from './fixtures/vite.js';
import { webpackLike } from './fixtures/webpack.js';

/** @type {import('./suite.js').Fixture[]} */
export const fixtures = [
  ...unbundled,
  ...bundlers,
  ...vite,
  ...webpackLike,
  ...frameworks,
  ...runtimes,
  ...typescript,
  ...recipes,
];
