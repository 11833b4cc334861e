#!/usr/bin/env node
// make.js - trains the model `sorting`: ten numbers in order (web/lib/labs/sorting.js)
//
//   node weights/sorting/make.js [FOLDER]     default: this folder
//
// Writes the model's files and loss.csv.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LENGTH, trainSorting } from '../../web/lib/labs/sorting.js';
import { makeModel } from '../train_examples.js';

const folder = process.argv[2] ?? dirname(fileURLToPath(import.meta.url));
await makeModel(folder, trainSorting({}, { steps: 4000, validateEvery: 40 }, { seed: 1, most: LENGTH, held: 500 }));
