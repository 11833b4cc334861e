// fetch.js - npm packages that only the benchmark uses, and only when it is asked to: they are no dependencies of the
// project, and are kept in the benchmark's cache.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** onnxruntime-web is 130 MB, of which a page loads 14 MB. */
export const ONNXRUNTIME = '1.30.0';
/** The tests compare texts with wllama 2, which is therefore a dependency. */
export const WLLAMA3 = '3.8.1';

/**
 * The folder of a package, which is downloaded when it is missing.
 * @param {string} cache @param {string} name @param {string} version
 */
export function fetchPackage(cache, name, version) {
  const folder = join(cache, `${name}-${version}`);
  if (!existsSync(folder)) {
    console.error(`downloading ${name} ${version} from the npm registry into ${cache}`);
    const part = `${folder}.${process.pid}.part`; // renamed when it is complete
    mkdirSync(part, { recursive: true });
    try {
      execFileSync(
        'npm',
        ['install', '--prefix', part, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`],
        { stdio: ['ignore', 'ignore', 'inherit'] },
      );
      renameSync(part, folder);
    } finally {
      rmSync(part, { recursive: true, force: true });
    }
  }
  return join(folder, 'node_modules', name);
}

/** The path of another version of Node. */
export function fetchNode(cache, version) {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  return join(fetchPackage(cache, `node-${system}-${process.arch}`, version), 'bin/node');
}
