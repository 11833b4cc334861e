// lab_figures.js - runs labs as they are recorded, with seed 1, and writes the figures that the page draws before a visitor
// has run one: web/page/views/labs/recorded/NAME_figures.json
//
//   node scripts/lab_figures.js [NAME ...]   without names all of them, which takes ten minutes on two cores
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { load } from '../web/lib/api/index.js';
import { LABS, openLab, runLab } from '../web/lib/apps/labs/labs.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const DIGITS = 4; // of each number: more cannot be seen

/** @param {string} _ @param {any} value */
const shortened = (_, value) => (typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value);

for (const name of process.argv.length > 2 ? process.argv.slice(2) : LABS) {
  const lab = await openLab(name);
  const model = lab.model ? await load(`${top}weights/${lab.model}`) : undefined;
  /** @type {Map<string, import('../web/lib/apps/labs/labs.js').Figure>} */
  const figures = new Map();
  for await (const report of runLab(name, { model, seed: 1 }))
    for (const figure of report.figures) figures.set(figure.id, figure);
  model?.dispose();
  const text = JSON.stringify([...figures.values()], shortened);
  writeFileSync(`${top}web/page/views/labs/recorded/${name}_figures.json`, `${text}\n`);
  console.log(`${name}: ${figures.size} figures, ${text.length} characters`);
}
