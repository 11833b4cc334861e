#!/usr/bin/env node
// make.js - trains the model `addition`: a + b modulo 113, from three tenths of all pairs (web/lib/labs/addition.js)
//
//   node weights/addition/make.js [FOLDER]     default: this folder
//
// Writes the model's files and loss.csv.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { train } from '../../web/lib/index.js';
import { CONFIG, OPTIONS, additionOf } from '../../web/lib/labs/addition.js';

const { taught, held, vocabulary } = additionOf(113);
const folder = process.argv[2] ?? dirname(fileURLToPath(import.meta.url));
const options = {
  ...OPTIONS,
  steps: 2000,
  batchTokens: 3 * taught.length,
  validation: held,
  validateEvery: 20,
  seed: 1,
};
const run = train(CONFIG, { examples: taught, vocabulary }, options);
const curve = ['step,loss,accuracy,held_out_loss,held_out_accuracy'];
for await (const { step, loss, accuracy, validation } of run) {
  if (!validation) continue;
  curve.push([step, ...[loss, accuracy, validation.nats, validation.accuracy].map((x) => x.toPrecision(5))].join());
  if (step % 100 === 0) console.log(curve.at(-1));
}
mkdirSync(folder, { recursive: true });
for (const { name, bytes } of await run.files()) writeFileSync(join(folder, name), bytes);
writeFileSync(join(folder, 'loss.csv'), `${curve.join('\n')}\n`);
await run.dispose();
