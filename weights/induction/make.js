#!/usr/bin/env node
// make.js - trains the model `induction`: two layers of attention that continue what they have seen before. It is the
// first model of the lab of that name (web/lib/labs/induction_lab.js), with seed 1.
//
//   node weights/induction/make.js [FOLDER]     default: this folder
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runLab } from '../../web/lib/labs/labs.js';

const folder = process.argv[2] ?? dirname(fileURLToPath(import.meta.url));
const run = runLab('induction', { seed: 1 });
let report = await run.next();
for (; !report.done; report = await run.next()) console.log(report.value.doing);
mkdirSync(folder, { recursive: true });
for (const { name, bytes } of report.value.trained ?? []) writeFileSync(join(folder, name), bytes);
for (const { claim, measured } of report.value.claims) console.log(`${claim}: ${measured}`);
