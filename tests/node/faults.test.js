// faults.test.js - cache: 'file', while the server fails in every way of tests/faults
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load } from '../../web/lib/index.js';
import { checkFaults, idsOf } from '../faults/matrix.js';

const cacheDir = mkdtempSync(join(tmpdir(), 'glassformer-faults-'));
after(() => rmSync(cacheDir, { recursive: true, force: true }));

const through = (/** @type {string} */ url, /** @type {object} */ options) =>
  load(url, { cache: 'file', cacheDir, ...options }).then(
    async (model) => ({ ids: await idsOf(model) }),
    ({ code, message }) => ({ code, message }),
  );

test('a server that fails gives the right tokens or one sentence, and leaves the copy', () => checkFaults([through]));
test('the same for two loads at once', () => checkFaults([through, through]));
