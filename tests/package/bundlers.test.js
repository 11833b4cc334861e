// bundlers.test.js - the quick fixtures of tests/bundlers; `./build.sh test bundlers` runs all of them
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fixtures } from '../bundlers/fixtures.js';
import { Suite } from '../bundlers/suite.js';

const suite = new Suite();
after(() => suite.close());

for (const fixture of fixtures.filter(({ quick }) => quick)) {
  test(`${fixture.name}: the packed package gives the same results as this tree's library`, async (t) => {
    await suite.run(fixture, ({ mode, problems, skipped, ...row }) => {
      if (skipped) return t.skip(skipped);
      assert.deepEqual(problems, [], mode);
      t.diagnostic(`${mode}: ${row.from}, threads: ${row.threads}, ${row.seconds} s`);
    });
  });
}
