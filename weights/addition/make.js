#!/usr/bin/env node
// make.js - trains the model `addition`: a + b modulo 113, from three tenths of all pairs (web/lib/labs/addition.js)
//
//   node weights/addition/make.js [FOLDER]     default: this folder
//
// Writes the model's files and loss.csv.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { train } from '../../web/lib/index.js';
import { CONFIG, OPTIONS, additionOf } from '../../web/lib/labs/addition.js';
import { makeModel } from '../train_examples.js';

const { taught, held, vocabulary } = additionOf(113);
const options = {
  ...OPTIONS,
  seed: 1,
  steps: 2000,
  batchTokens: 3 * taught.length,
  validation: held,
  validateEvery: 20,
};
const folder = process.argv[2] ?? dirname(fileURLToPath(import.meta.url));
await makeModel(folder, train(CONFIG, { examples: taught, vocabulary }, options));
