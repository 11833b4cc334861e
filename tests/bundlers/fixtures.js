// fixtures.js - all fixtures
import { bundlers } from './fixtures/bundlers.js';
import { vite } from './fixtures/vite.js';
import { webpackLike } from './fixtures/webpack.js';

/** @type {import('./suite.js').Fixture[]} */
export const fixtures = [...bundlers, ...vite, ...webpackLike];
