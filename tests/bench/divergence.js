// divergence.js - how far the types of weights and caches move the probabilities of a model: for each, the mean of the
// Kullback-Leibler divergence from the same file with weights, activations and cache in f32
//
//   node tests/bench/divergence.js FILE.gguf TEXT.txt [--tokens 64]
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { load } from '../../web/lib/api/index.js';

/** Weights in other types are rounded a second time where the file is quantised. */
const CHOICES = [
  { kvDtype: 'f32' },
  {},
  { kvDtype: 'q8_0' },
  { dtype: 'f32', kvDtype: 'f16' },
  { dtype: 'f16' },
  { dtype: 'q8_0' },
  { dtype: 'q5_0' },
  { dtype: 'q4_0' },
];

const largest = (/** @type {Float32Array} */ row) => row.reduce((a, b) => Math.max(a, b), -Infinity);
const bestOf = (/** @type {Float32Array} */ row) => row.indexOf(largest(row));

/** The logarithm of a row's sum of exponentials. @param {Float32Array} row */
function normOf(row) {
  const most = largest(row);
  return most + Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0));
}

/** KL(p || q) of two rows of logits. @param {Float32Array} p @param {Float32Array} q */
function divergence(p, q) {
  const [a, b] = [normOf(p), normOf(q)];
  return p.reduce((sum, x, i) => sum + Math.exp(x - a) * (x - a - q[i] + b), 0);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tokens: { type: 'string', default: '64' } },
});
const [file, textFile] = positionals;
if (!file || !textFile) throw new Error('A model and a text are needed: divergence.js FILE.gguf TEXT.txt');
const text = readFileSync(textFile, 'utf8').slice(0, 1 << 14);

/** The logits of each position, and the bytes of the weights. @param {object} options */
async function run(options) {
  const model = await load(file, { worker: false, contextLength: Number(values.tokens), ...options });
  const ids = (await model.encode(text)).slice(0, Number(values.tokens));
  const { logits } = await model.forward(ids);
  const { bytes } = model.parameters;
  model.dispose();
  const size = logits.shape[1];
  return { bytes, rows: ids.map((_, i) => logits.data.subarray(i * size, (i + 1) * size)) };
}

const { rows: exact } = await run({ dtype: 'f32', kvDtype: 'f32' });
for (const options of CHOICES) {
  const { rows, bytes } = await run(options);
  const best = rows.filter((row, i) => bestOf(row) === bestOf(exact[i]));
  const mean = rows.reduce((sum, row, i) => sum + divergence(exact[i], row), 0) / rows.length;
  const { dtype = 'as stored', kvDtype = 'default' } = /** @type {any} */ (options);
  console.log(
    `weights ${dtype}, cache ${kvDtype}: mean KL ${mean.toExponential(1)}, same best token ${best.length} of ${rows.length}, ${(bytes / 1e6).toFixed(0)} MB`,
  );
}
