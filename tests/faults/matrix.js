// matrix.js - loads a file through a cache while its server fails: the tokens are right, or an error says in one sentence
// what is wrong, and the copy that was stored before is intact
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CODES, load } from '../../web/lib/api/index.js';
import { golden } from '../node/helpers.js';
import { FAULTS, startFaults } from './fault_server.js';

/** Ids that a load generates, or its error. @typedef {{ids?: number[], code?: string, message?: string}} Outcome */
/** Loads an address through a cache. @typedef {(url: string, options: object) => Promise<Outcome>} Load */

/** How many behaviours are tested at a time: most of the time they wait. */
const AT_ONCE = 6;

const files = ['q8_0', 'q4_0'].map((name) => readFileSync(join(golden, `gguf_llama_${name}/model.gguf`)));

/** The ids that every load generates; its source also runs in a page. @param {any} model */
export async function idsOf(model) {
  const ids = [];
  for await (const { id } of model.generate([5], { maxTokens: 4, temperature: 0, ignoreEos: true })) ids.push(id);
  model.dispose();
  return ids;
}

/**
 * What one behaviour of the server leads to.
 * @param {Awaited<ReturnType<typeof startFaults>>} server
 * @param {string} name  of the behaviour
 * @param {string} path  of a file that no cache contains
 * @param {Load[]} loads  which run at once: threads or tabs with one cache
 * @param {number[][]} expected  ids of the two files
 */
async function check(server, name, path, loads, [want, newer]) {
  const url = server.url.slice(0, -1) + path;
  const fault = FAULTS[name];
  const refused = ({ code, message }, /** @type {string} */ when) => {
    assert.ok(code && code in CODES && code !== 'internal', `${name}, ${when}: ${code} ${message}`);
    assert.match(String(message), /^[^\n]{10,600}$/, `${name}, ${when}`);
  };
  server.serve(path, files[0], fault);
  for (const outcome of await Promise.all(loads.map((each) => each(url, {})))) {
    if (!outcome.ids) refused(outcome, 'first load');
    else assert.deepEqual(outcome.ids, want, `${name}, first load`);
    const mayDiffer = fault.fails === 'either' || loads.length > 1;
    if (!mayDiffer) assert.equal(!outcome.ids, fault.fails, `${name}, first load: ${outcome.code} ${outcome.message}`);
  }
  server.serve(path, files[0]);
  assert.deepEqual((await loads[0](url, {})).ids, want, `${name}, then a server that works`);
  // With the checksum of a newer file the copy is not used. It stays where that file cannot be had.
  server.serve(path, files[1], fault);
  const sha256 = createHash('sha256').update(files[1]).digest('hex');
  const second = await loads[0](url, { sha256 });
  if (!second.ids) refused(second, 'second file');
  else assert.deepEqual(second.ids, newer, `${name}, second file`);
  server.stop(path);
  const isStored = name !== '206 of the whole file, unasked';
  const offline = await loads[0](url, {});
  assert.deepEqual(offline.ids, second.ids && isStored ? newer : want, `${name}, then offline: ${offline.message}`);
}

/**
 * Test behaviours of a server.
 * @param {Load[]} loads
 * @param {string[]} [names]
 */
export async function checkFaults(loads, names = Object.keys(FAULTS)) {
  const expected = [];
  for (const bytes of files) expected.push(await idsOf(await load(bytes)));
  const server = await startFaults();
  const left = names.map((name, i) => ({ name, path: `/${i}-${Math.random()}/m.gguf` }));
  const failures = /** @type {string[]} */ ([]);
  const work = async () => {
    for (let each; (each = left.shift());)
      await check(server, each.name, each.path, loads, expected).catch((error) => failures.push(error.message));
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    server.close();
  }
  assert.deepEqual(failures, []);
}
