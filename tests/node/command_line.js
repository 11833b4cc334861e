// command_line.js - runs the command line as a process, with a folder for its files
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../temporary.js';
import { top } from './helpers.js';

export const CLI = join(top, 'web/lib/apps/cli/cli.js');

export const folder = temporaryFolder('cli');

/**
 * @param {string[]} args
 * @param {{input?: string, env?: Record<string, string>}} [o]
 * @returns {Promise<{code: number, out: string, err: string}>}
 */
export function runWith(args, { input = '', env = {} } = {}) {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [CLI, ...args],
      { env: { ...process.env, XDG_CACHE_HOME: join(folder, 'xdg'), ...env } },
      (error, out, err) => resolve({ code: error?.code ?? 0, out, err }),
    );
    child.stdin?.end(input);
  });
}

/** @param {...string} args */
export const run = (...args) => runWith(args);

/**
 * Run command lines one after another in one process, which costs less than a process for each.
 * @param {string[][]} lists  of arguments
 * @returns {Promise<{code: number, out: string, err: string}[]>}
 */
export async function runMany(lists) {
  const program = join(top, 'tests/node/command_lines.js');
  const env = { ...process.env, XDG_CACHE_HOME: join(folder, 'xdg') };
  const { stdout } = await promisify(execFile)(process.execPath, [program, CLI, JSON.stringify(lists)], { env });
  return JSON.parse(stdout);
}
