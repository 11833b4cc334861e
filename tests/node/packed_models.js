// packed_models.js - the models of tests/golden/families.bin and classifiers.bin, which one file of int8 values holds
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { safetensors } from './checkpoint_files.js';
import { top } from './helpers.js';

/**
 * The models of a file. int8 is in units of 1/64, as the script that wrote the file says.
 * @param {string} file  in tests/golden
 * @returns {{name: string, config: any, source: any, runs: any[]}[]}
 */
export function packedModels(file) {
  const bytes = readFileSync(join(top, 'tests/golden', file));
  const body = 4 + bytes.readUInt32LE(0);
  const about = JSON.parse(bytes.toString('utf8', 4, body));
  let at = body;
  const take = (n) => bytes.subarray(at, (at += n));
  return about.models.map(({ name, config, tensors, runs }) => {
    const weights = {};
    for (const [key, shape] of tensors) {
      const n = shape.reduce((a, b) => a * b, 1);
      const data = Float32Array.from(new Int8Array(take(n)), (x) => x / 64);
      weights[key] = { shape, data };
    }
    const source = { config: new Blob([JSON.stringify(config)]), weights: new Blob([safetensors(weights)]) };
    const outputs = runs.map(({ out: [key, shape], ...run }) => {
      const data = take(4 * shape[0] * shape[1]);
      return { ...run, key, shape, data: new Float32Array(Uint8Array.from(data).buffer) };
    });
    return { name, config, source, runs: outputs };
  });
}
