// generate.js - makes the files of web/lib that repeat tables of the C sources
//
//   node scripts/generate.js      writes them; ./build.sh wasm runs this first
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatted, top } from './c_tables.js';
import * as configFields from './config_fields.js';
import * as dtypes from './dtypes.js';
import * as rosterRows from './roster_rows.js';

/**
 * Path and text of each, as the sources of this tree give them.
 * @returns {Promise<[file: string, text: string][]>}
 */
export const generated = () =>
  Promise.all(
    [configFields, dtypes, rosterRows].map(async ({ TARGET, text }) => [TARGET, await formatted(TARGET, text())]),
  );

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [file, text] of await generated()) writeFileSync(join(top, file), text);
