// projects.js - temporary projects with the packed package installed, and the programs that run in them
import { spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PATIENCE, sleep } from '../patience.js';
import { startGroup } from '../browser/drivers/processes.js';

const here = fileURLToPath(new URL('.', import.meta.url)),
  top = join(here, '../..');

/** A package that a registry does not give: the fixture is skipped. */
export class Unavailable extends Error {}

/** A command that failed; the message holds all that it printed. */
export class CommandFailed extends Error {}

/** Programs must not ask, colour, report usage or look for updates. */
const QUIET = {
  CI: '1',
  NO_COLOR: undefined,
  FORCE_COLOR: undefined,
  NODE_OPTIONS: undefined,
  NODE_ENV: undefined,
  NEXT_TELEMETRY_DISABLED: '1',
  NUXT_TELEMETRY_DISABLED: '1',
  DO_NOT_TRACK: '1',
  npm_config_update_notifier: 'false',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_prefer_offline: 'true',
  npm_config_loglevel: 'error',
  DENO_NO_UPDATE_CHECK: '1',
};

/**
 * Run a command line and wait for its end.
 * @param {string} command
 * @param {string} cwd
 * @param {{path?: string, env?: Record<string, string>, timeout?: number}} [options] path: a folder before all others
 *   of PATH
 * @returns {Promise<string>} stdout and stderr together
 */
export function runCommand(command, cwd, { path, env = {}, timeout = 600_000 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment(cwd, path, env),
    });
    let output = '',
      late = false;
    const timer = setTimeout(() => {
      late = true;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        /* it has ended */
      }
    }, timeout);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (data) => {
        output += data;
      });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(output);
      else
        reject(
          new CommandFailed(
            `${command}: ${late ? `not done in ${timeout / 1000} s` : `exit status ${code ?? signal}`}\n${output}`,
          ),
        );
    });
  });
}

/**
 * @param {string} cwd
 * @param {string | undefined} path
 * @param {Record<string, string>} env
 */
function environment(cwd, path, env) {
  const folders = [path, join(cwd, 'node_modules/.bin'), join(cwd, '../../node_modules/.bin'), process.env.PATH].filter(
    Boolean,
  ); // the second one is in a workspace's root
  const all = { ...process.env, ...QUIET, ...env, PATH: folders.join(delimiter) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/**
 * Start a server and wait until it answers.
 * @param {string} command  {port} is replaced
 * @param {string} cwd
 * @param {{path?: string, env?: Record<string, string>, timeout?: number}} [options]
 * @returns {Promise<{url: string, output(): string, stop(): Promise<void>}>}
 */
export async function startServer(command, cwd, { path, env = {}, timeout = PATIENCE } = {}) {
  const port = await freePort(),
    url = `http://localhost:${port}/`;
  const line = command.replaceAll('{port}', String(port));
  const all = environment(cwd, path, env);
  const cleared = Object.keys(QUIET)
    .filter((name) => !(name in all))
    .map((name) => `-u ${name}`)
    .join(' ');
  const group = startGroup('/bin/sh', ['-c', `cd "$PROJECT" && exec env ${cleared} ${line}`], { ...all, PROJECT: cwd });
  let output = '',
    ended = false;
  for (const stream of [group.child.stdout, group.child.stderr])
    stream?.setEncoding('utf8').on('data', (data) => {
      output += data;
    });
  group.child.on('exit', () => {
    ended = true;
  });
  const began = Date.now();
  for (;;) {
    try {
      const response = await fetch(url, { headers: { accept: 'text/html' } });
      await response.arrayBuffer();
      break;
    } catch {
      if (ended || Date.now() - began > timeout) {
        await group.stop();
        throw new CommandFailed(`${line}: ${ended ? 'it ended' : `no answer in ${timeout / 1000} s`}\n${output}`);
      }
      await sleep(200);
    }
  }
  return { url, output: () => output, stop: () => group.stop() };
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
      .on('error', reject)
      .listen(0, () => {
        const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
        server.close(() => resolve(port));
      });
  });
}

/** Everything of one run below one temporary folder: the tarball, Nodes of other versions, projects. */
export class Workshop {
  folder = mkdtempSync(join(tmpdir(), 'glassformer-bundlers-'));
  /** @type {Promise<string> | undefined} */
  #tarball;
  /** A project with the package alone. @type {Promise<string> | undefined} */
  #bare;
  /** @type {Map<string, Promise<string>>} */
  #nodes = new Map();
  #projects = 0;

  /** @returns {Promise<string>} its path */
  tarball() {
    this.#tarball ??= runCommand(
      `npm pack --json --ignore-scripts --pack-destination ${JSON.stringify(this.folder)}`,
      top,
    ).then((output) => join(this.folder, JSON.parse(output.slice(output.indexOf('[')))[0].filename));
    return this.#tarball;
  }

  /**
   * Install another version of Node from npm.
   * @param {string} version  exact
   * @returns {Promise<string>} the folder of its program
   */
  node(version) {
    let ready = this.#nodes.get(version);
    if (!ready) {
      ready = this.#installNode(version);
      this.#nodes.set(version, ready);
    }
    return ready;
  }

  /** @param {string} version */
  async #installNode(version) {
    const prefix = process.platform === 'darwin' && process.arch === 'arm64' ? 'bin-' : '';
    const name = `node-${prefix}${process.platform}-${process.arch}`;
    const folder = join(this.folder, `node-${version}`);
    write(folder, { 'package.json': '{ "private": true }' });
    await install(folder, [`${name}@${version}`]);
    return join(folder, 'node_modules', name, 'bin');
  }

  /**
   * Install the package alone, once for all projects that need no other.
   * @returns {Promise<string>} the folder
   */
  #packageAlone() {
    this.#bare ??= (async () => {
      const folder = join(this.folder, 'bare');
      write(folder, { 'package.json': '{ "private": true }' });
      await install(folder, [await this.tarball()]);
      return folder;
    })();
    return this.#bare;
  }

  /**
   * Create a project with its files and packages, including glassformer.
   * @param {{packages?: string[], files: Record<string, string>, workspace?: string, path?: string}} fixture workspace:
   *   the folder of the application in a repository whose packages are in its root
   * @returns {Promise<{folder: string, remove(): void}>} the application's folder
   */
  async project({ packages = [], files, workspace, path }) {
    const root = join(this.folder, `project-${++this.#projects}`),
      app = workspace ? join(root, workspace) : root;
    const named = { name: 'app', version: '1.0.0', private: true, type: 'module' };
    if (workspace)
      write(root, { 'package.json': JSON.stringify({ name: 'root', private: true, workspaces: [workspace] }) });
    write(app, { 'package.json': JSON.stringify(named), ...files });
    copyFileSync(join(here, 'check.js'), join(app, 'check.js'));
    if (packages.length || path || workspace) await install(root, [await this.tarball(), ...packages], path, workspace);
    else cpSync(join(await this.#packageAlone(), 'node_modules'), join(root, 'node_modules'), { recursive: true });
    return { folder: app, remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }) };
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * @param {string} folder
 * @param {string[]} packages
 * @param {string} [path]
 * @param {string} [workspace]
 */
async function install(folder, packages, path, workspace) {
  const where = workspace ? ` -w ${workspace}` : '',
    list = packages.map((name) => JSON.stringify(name)).join(' ');
  const command = `npm install --no-audit --no-fund --prefer-offline --loglevel error${where} ${list}`;
  try {
    await runCommand(command, folder, { path });
  } catch (error) {
    if (
      /\b(?:E404|ETARGET|ENOVERSIONS|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|E50\d|EBADPLATFORM)\b/.test(
        error.message,
      )
    ) {
      const missing = packages.filter((name) => !name.startsWith('/')).join(', ');
      throw new Unavailable(
        `npm could not install ${missing}: ${/npm error (?:code )?.*/.exec(error.message)?.[0] ?? error.message}`,
      );
    }
    throw error;
  }
}

/**
 * @param {string} folder
 * @param {Record<string, string>} files
 */
function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
