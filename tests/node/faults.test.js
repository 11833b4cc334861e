// faults.test.js - cache: 'file', while the server fails in every way of tests/faults
import { test } from 'node:test';
import { temporaryFolder } from '../temporary.js';
import { load } from '../../web/lib/api/index.js';
import { checkFaults, idsOf } from '../faults/matrix.js';

const cacheDir = temporaryFolder('faults');
const through = (/** @type {string} */ url, /** @type {object} */ options) =>
  load(url, { cache: 'file', cacheDir, ...options }).then(
    async (model) => ({ ids: await idsOf(model) }),
    ({ code, message }) => ({ code, message }),
  );

test('a server that fails gives the right tokens or one sentence, and leaves the copy', () => checkFaults([through]));
test('the same for two loads at once', () => checkFaults([through, through]));
