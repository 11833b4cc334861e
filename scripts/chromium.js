// chromium.js - starts the system's Chromium through playwright-core, for browser tests and pictures
//
//   node scripts/chromium.js           prints its path; exit status 1 when there is none
//   node scripts/chromium.js shell     the same for its headless shell
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const shells = ['chromium-headless-shell', 'chrome-headless-shell'];
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const apps = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/**
 * A program's path: the first of the names on PATH, or of the further paths, that can be executed; null when there is
 * none.
 * @param {string[]} names
 * @param {string[]} [paths]
 * @returns {string | null}
 */
export function findProgram(names, paths = []) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const candidates = [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...paths];
  return (
    candidates.find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    }) ?? null
  );
}

/** The browser's path: that of $CHROMIUM, or the first of the usual names; null when there is none. */
export function findChromium() {
  const given = process.env.CHROMIUM;
  return given ? findProgram([given], [given]) : findProgram(names, apps);
}

/**
 * The path of Chromium's headless shell: the same engine without a browser around it, in two thirds of the processing
 * time. Null when there is none, or when $CHROMIUM names another browser.
 */
export function findShell() {
  const given = process.env.CHROMIUM;
  return given && given !== findProgram(names, apps) ? null : findProgram(shells);
}

// No sandbox, because root in a container cannot use it; no service that connects to other hosts.
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/**
 * @param {import('playwright-core').LaunchOptions & {shell?: boolean}} [options]  `shell`: the headless shell where there
 *   is one
 * @returns {Promise<import('playwright-core').Browser>}
 */
export function launch({ args = [], shell = false, ...options } = {}) {
  const executablePath = (shell && findShell()) || findChromium();
  if (!executablePath) throw new Error('Chromium is missing: run ./build.sh setup, or set CHROMIUM to its path');
  // Without a zygote, whose memory each process copies as it writes, a page opens in a tenth less processor time.
  const more = shell ? ['--no-zygote', ...args] : args;
  return chromium.launch({ executablePath, headless: true, args: [...flags, ...more], ...options });
}

/**
 * Chromium with an unpacked extension, in a profile of its own. The headless shell has no extensions.
 * @param {string} folder  of the extension
 * @returns {Promise<import('playwright-core').BrowserContext>}
 */
export function launchWithExtension(folder) {
  return chromium.launchPersistentContext('', {
    executablePath: findChromium() ?? undefined,
    headless: true,
    ignoreDefaultArgs: ['--disable-extensions'],
    args: [...flags, `--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = process.argv[2] === 'shell' ? findShell() : findChromium();
  if (path) console.log(path);
  else process.exitCode = 1;
}
