// record_depth.js - measures what the depth laboratory opens with, and writes it for the page:
// web/page/views/experiment/recorded_depth.json. It needs dist/ (./build.sh package).
//
//   node scripts/record_depth.js
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FIRST_DEPTH, measureAll } from '../web/page/views/experiment/depth_measurement.js';

const DIGITS = 4;
const found = await measureAll(FIRST_DEPTH, new AbortController().signal, () => {});
const shortened = (_, value) => (typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value);
const json = JSON.stringify(found, shortened);
const file = fileURLToPath(new URL('../web/page/views/experiment/recorded_depth.json', import.meta.url));
writeFileSync(file, `${json}\n`);
console.log(`${json.length} characters`);
