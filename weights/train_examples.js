// train_examples.js - runs a training to its end, and writes the model's files and loss.csv
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {string} folder
 * @param {import('../web/lib/index.js').Training} run  disposed at the end
 * @param {(name: string, bytes: Uint8Array) => Uint8Array} [stored]  the bytes that are written of a file
 */
export async function makeModel(folder, run, stored = (_, bytes) => bytes) {
  const curve = ['step,loss,accuracy,held_out_loss,held_out_accuracy'];
  for await (const { step, loss, accuracy, validation } of run) {
    if (!validation) continue;
    curve.push([step, ...[loss, accuracy, validation.nats, validation.accuracy].map((x) => x.toPrecision(5))].join());
    if (step % 100 === 0) console.log(curve.at(-1));
  }
  mkdirSync(folder, { recursive: true });
  for (const { name, bytes } of await run.files()) writeFileSync(join(folder, name), stored(name, bytes));
  writeFileSync(join(folder, 'loss.csv'), `${curve.join('\n')}\n`);
  await run.dispose();
}
