// generate.js - makes the files of web/lib that repeat tables of the C sources; ./build.sh wasm runs it first
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { top } from './c_tables.js';
import * as configFields from './config_fields.js';
import * as dtypes from './dtypes.js';
import * as rosterRows from './roster_rows.js';
import * as samplerFields from './sampler_fields.js';
import * as trainFields from './train_fields.js';

for (const { TARGET, text } of [configFields, dtypes, rosterRows, samplerFields, trainFields])
  writeFileSync(join(top, TARGET), text());
