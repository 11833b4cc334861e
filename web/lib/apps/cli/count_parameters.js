// count_parameters.js - the command `count`: parameters, bytes and operations of a configuration
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fail, messageOf } from '../../base/errors.js';
import { load, countParameters, estimate, PRESETS } from '../../api/index.js';

/**
 * @param {string} name preset or file
 * @returns {Promise<import('../../api/index.js').ConfigInput>}
 */
async function configOf(name) {
  if (Object.hasOwn(PRESETS, name)) return /** @type {import('../../api/index.js').Preset} */ (name);
  const file = name.endsWith('/') ? `${name}config.json` : name;
  if (!existsSync(file)) fail('not-found', `${name}: neither a file nor a preset (${Object.keys(PRESETS).join(', ')})`);
  if (!file.endsWith('.json')) {
    const model = await load(file);
    try {
      return model.config;
    } finally {
      model.dispose();
    }
  }
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    return fail('bad-config', `${file}: not JSON: ${messageOf(error)}`);
  }
}

/**
 * Print the parameters of a configuration, part by part.
 * @param {string} name preset or file
 * @param {boolean} json
 */
export async function count(name, json) {
  const config = await configOf(name);
  const table = countParameters(config);
  const contextLength = 1024;
  const cost = estimate(config, { contextLength, kvDtype: 'f16' });
  if (json) return console.log(JSON.stringify({ ...table, estimate: { contextLength, ...cost } }, null, 1));
  /** @type {Map<string, {tensors: number, count: number}>} */
  const parts = new Map();
  for (const row of table.rows) {
    const key =
      row.stack === 'encoder' && table.rows.some((r) => r.stack === 'decoder')
        ? `encoder ${row.component}`
        : row.component;
    const part = parts.get(key) ?? { tensors: 0, count: 0 };
    parts.set(key, { tensors: part.tensors + 1, count: part.count + row.count });
  }
  const n = (/** @type {number} */ x) => x.toLocaleString('en-US').padStart(18);
  for (const [part, { tensors, count: sum }] of parts) {
    const tied = part === 'head' && sum === 0 ? '  shared with the embedding' : '';
    const name = part.replace(/_/g, ' ').padEnd(26);
    const percent = ((100 * sum) / table.total).toFixed(2).padStart(8);
    console.log(`${name}${String(tensors).padStart(6)} tensors${n(sum)}${percent} %${tied}`);
  }
  console.log(`${'total'.padEnd(26)}${String(table.rows.length).padStart(6)} tensors${n(table.total)}`);
  if (table.active < table.total) console.log(`${'used by one token'.padEnd(40)}${n(table.active)}`);
  console.log(`${'without embeddings'.padEnd(40)}${n(table.nonEmbedding)}`);
  console.log(`${'bytes in f32'.padEnd(40)}${n(table.bytes)}`);
  console.log(`${`kv cache of ${contextLength} tokens in f16, bytes`.padEnd(40)}${n(cost.kvBytes)}`);
  console.log(`${`FLOPs a token at ${contextLength} tokens`.padEnd(40)}${n(cost.flopsPerToken)}`);
}
