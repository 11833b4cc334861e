// processes.js - child processes that end together with this process, also when it is killed
import { spawn } from 'node:child_process';

/**
 * The shell reads from a pipe whose write end this process has. When this process ends, even by SIGKILL, the read
 * returns and the shell kills the whole process group. It also does so when the program ends by itself.
 */
const GUARD = '{ "$@" </dev/null; kill -9 -$$; } & read -r end; kill -9 -$$';

/**
 * Start a program in a new process group, which also contains the processes that it starts.
 * @param {string} program
 * @param {string[]} args
 * @param {Record<string, string>} [env]  added to this process's
 * @returns {{child: import('node:child_process').ChildProcess, release(): void, stop(): Promise<void>}} the program's
 *   stdout, stderr and descriptor 3 are pipes of the child. After release this process may end without waiting for the
 *   group; stop ends the group and resolves when it is gone
 */
export function startGroup(program, args, env = {}) {
  const child = spawn('/bin/sh', ['-c', GUARD, 'sh', program, ...args], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
    child.once('error', resolve);
  });
  child.stdin?.on('error', () => {}); // the group ended first
  return {
    child,
    release() {
      child.unref();
      for (const pipe of child.stdio) /** @type {any} */ (pipe)?.unref?.();
    },
    async stop() {
      child.ref();
      child.stdin?.end();
      await ended;
    },
  };
}
