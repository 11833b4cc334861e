// sums.js - prints the SHA-256 sums of the wasm files and compares them with scripts/wasm.sha256
//
//   node scripts/sums.js [--record]     --record: also write them (only with the pinned toolchain)
//
// `sha256sum -c scripts/wasm.sha256` reads the same file.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('..', import.meta.url));
const record = join(top, 'scripts/wasm.sha256');

/**
 * The lines that `sha256sum web/lib/api/wasm/*.wasm` prints for the built files.
 * @returns {string}
 */
export function builtSums() {
  const folder = 'web/lib/api/wasm';
  const names = readdirSync(join(top, folder)).filter((name) => name.endsWith('.wasm'));
  const sum = (name) => createHash('sha256').update(readFileSync(join(top, folder, name)));
  return names
    .sort()
    .map((name) => `${sum(name).digest('hex')}  ${folder}/${name}\n`)
    .join('');
}

/**
 * The recorded lines.
 * @returns {string}
 */
export const recordedSums = () => (existsSync(record) ? readFileSync(record, 'utf8') : '');

/**
 * The compiler that made the files, and whether its packages are those that scripts/toolchain.sh pins.
 * @returns {{name: string, pinned: boolean}}
 */
export function toolchain() {
  const stamp = join(top, 'build/stamps/toolchain');
  const name = existsSync(stamp) ? readFileSync(stamp, 'utf8').trim() : 'an unknown toolchain';
  return { name: name.replace(/^pinned: /, ''), pinned: name.startsWith('pinned: ') };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { name, pinned } = toolchain(),
    sums = builtSums(),
    same = sums === recordedSums();
  process.stdout.write(sums);
  if (process.argv[2] === '--record' && !pinned) {
    console.error(`build.sh: ${name} is not the toolchain that scripts/toolchain.sh pins; nothing was recorded.`);
    process.exit(1);
  } else if (process.argv[2] === '--record') {
    writeFileSync(record, sums);
    console.log('recorded in scripts/wasm.sha256');
  } else if (same) {
    console.log('These are the sums recorded in scripts/wasm.sha256.');
  } else if (pinned) {
    console.log('They differ from scripts/wasm.sha256. After a change of src, run `./build.sh wasm --record`.');
  } else {
    console.log(
      `They differ from scripts/wasm.sha256, which is for the pinned toolchain; these files are from ${name}.`,
    );
  }
}
