// engines.test.js - every behaviour of the server of faults, with the caches of every browser engine
import { ENGINES } from '../browser/drivers/browsers.js';
import { testInPages } from './pages.js';

for (const engine of ENGINES) testInPages(engine);
