// aborts.test.js - every call whose signal is aborted rejects with the signal's reason and frees what it opened
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { load } from '../../web/lib/index.js';
import { CALLS, MOMENTS, failureOf, openTable } from '../browser/engines/abort_table.js';
import { stories } from './helpers.js';

for (const worker of [false, true])
  describe(worker ? 'in a worker' : "in the caller's thread", () => {
    let table;
    before(async () => {
      table = await openTable(load, stories, worker);
    });
    after(() => table.model.dispose());
    for (const moment of Object.keys(MOMENTS))
      for (const name of CALLS)
        test(`${name}, aborted ${moment}`, async () => assert.equal(await failureOf(table, name, moment), null));
  });
