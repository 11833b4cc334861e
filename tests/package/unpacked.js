// unpacked.js - the packed tarball in the node_modules of a folder, with links to other packages of this repository
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param {string} folder
 * @param {string[]} links  packages of node_modules
 * @returns {string} the package's folder
 */
export function unpacked(folder, links) {
  const home = join(folder, 'node_modules/glassformer');
  const [{ filename }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: top,
      encoding: 'utf8',
    }),
  );
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  mkdirSync(home, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', home, '--strip-components=1']);
  for (const name of links) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(top, 'node_modules', name), link);
  }
  return home;
}
