// webkit.js - starts WebKitGTK's MiniBrowser for the browser tests: WebKitWebDriver under Xvfb, controlled by HTTP
// requests
//
// The protocol is https://www.w3.org/TR/webdriver2/. A driver has one session, and a session has one current window, so
// calls are queued.
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { findProgram } from '../../../scripts/chromium.js';
import { PATIENCE, sleep } from '../../patience.js';
import { startGroup } from './processes.js';

/** Longest evaluation in ms; below the five minutes after which Node's fetch fails. */
const SCRIPT_MS = 280_000;

/**
 * Find MiniBrowser, which distributions install beside the library: /usr/lib/x86_64-linux-gnu/webkit2gtk-4.1 in Debian,
 * /usr/libexec in Fedora.
 */
function findMiniBrowser() {
  const parents = ['/usr/libexec', '/usr/lib', '/usr/lib64'].filter((folder) => existsSync(folder));
  const multiarch = existsSync('/usr/lib')
    ? readdirSync('/usr/lib')
        .filter((name) => name.endsWith('-linux-gnu'))
        .map((name) => join('/usr/lib', name))
    : [];
  return [...multiarch, ...parents]
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.startsWith('webkit2gtk-4.'))
        .sort()
        .reverse()
        .map((name) => join(folder, name, 'MiniBrowser')),
    )
    .find((path) => existsSync(path));
}

/** @returns {{driver: string, xvfb: string, miniBrowser: string, missing: null} | {missing: string}} */
export function findWebKit() {
  const driver = findProgram(['WebKitWebDriver']),
    xvfb = findProgram(['Xvfb']),
    miniBrowser = findMiniBrowser();
  if (driver && xvfb && miniBrowser) return { driver, xvfb, miniBrowser, missing: null };
  const parts = [
    [driver, 'WebKitWebDriver'],
    [miniBrowser, 'MiniBrowser'],
    [xvfb, 'Xvfb'],
  ]
    .filter(([path]) => !path)
    .map(([, name]) => name);
  return { missing: `WebKit is missing (no ${parts.join(', no ')}): apt-get install webkit2gtk-driver xvfb.` };
}

/**
 * Find a port that is free at the moment.
 * @returns {Promise<number>}
 */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
      .once('error', reject)
      .listen(0, '127.0.0.1', () => {
        const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
        server.close(() => resolve(port));
      });
  });
}

/**
 * Start an X server on the first free display.
 * @param {string} program
 */
async function startDisplay(program) {
  const group = startGroup(program, [
    '-displayfd',
    '3',
    '-screen',
    '0',
    '1600x2400x24',
    '-nolisten',
    'tcp',
    '-noreset',
  ]);
  const pipe = /** @type {import('node:stream').Readable} */ (group.child.stdio[3]);
  let text = '';
  const display = await new Promise((resolve, reject) => {
    pipe.on('data', (data) => {
      text += data;
      if (text.includes('\n')) resolve(`:${text.trim()}`);
    });
    group.child.once('exit', () => reject(new Error('Xvfb ended before it had a display')));
  });
  group.release();
  return { ...group, display };
}

/**
 * Start a driver and wait until it answers. If another process takes the chosen port first, another port is tried.
 * @param {string} program
 * @param {Record<string, string>} env
 */
async function startDriver(program, env) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(),
      group = startGroup(program, [`--port=${port}`], env);
    let ended = false,
      said = '';
    group.child.once('exit', () => {
      ended = true;
    });
    for (const pipe of [group.child.stdout, group.child.stderr])
      pipe?.on('data', (data) => {
        said += data;
      });
    for (let i = 0; i < 1200 && !ended; i++) {
      const answer = await fetch(`http://127.0.0.1:${port}/status`).catch(() => null);
      if (answer?.ok && !ended) {
        group.release();
        return { ...group, port };
      }
      await sleep(50);
    }
    await group.stop();
    if (attempt === 3) throw new Error(`WebKitWebDriver does not answer: ${said.trim() || 'it printed nothing'}`);
  }
}

/** One session of a driver: its commands, and the windows that it opens. */
class Session {
  /** The last queued work. @type {Promise<any>} */
  last = Promise.resolve();
  /** The path of the session, after `begin`. */
  path = '';

  /** @param {number} port  of the driver */
  constructor(port) {
    this.port = port;
  }

  /**
   * @param {string} method
   * @param {string} path  after that of the session
   * @param {object} [body]
   */
  async call(method, path, body) {
    const response = await fetch(`http://127.0.0.1:${this.port}${this.path}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    });
    const { value } = /** @type {any} */ (await response.json());
    if (value?.error) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  }

  /**
   * Run calls one after the other, because the session has one current window.
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  queued(work) {
    const mine = this.last.then(work);
    this.last = mine.catch(() => {});
    return mine;
  }

  /**
   * @param {string} handle  of the window in which the calls of `work` run
   * @param {() => Promise<any>} work
   */
  inWindow(handle, work) {
    return this.queued(async () => {
      await this.call('POST', '/window', { handle });
      return work();
    });
  }

  /**
   * Start the browser.
   * @param {string} binary
   */
  async begin(binary) {
    const args = ['--automation', '--javascript-can-open-windows-automatically=true'];
    const { sessionId, capabilities } = await this.call('POST', '/session', {
      capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': { binary, args } } },
    });
    this.path = `/session/${sessionId}`;
    this.version = `WebKitGTK ${capabilities.browserVersion}`;
    await this.call('POST', '/timeouts', { script: SCRIPT_MS, pageLoad: PATIENCE });
    this.first = await this.call('GET', '/window');
  }

  /**
   * Open a page in a new window, because a popup has no toolbar: with one MiniBrowser cannot be as narrow as a phone.
   * @param {string} url
   * @param {{width?: number, height?: number}} [size]
   * @returns {Promise<import('./browsers.js').Page>}
   */
  async open(url, { width = 1440, height = 900 } = {}) {
    await this.call('POST', '/window', { handle: this.first });
    const before = await this.call('GET', '/window/handles');
    await this.call('POST', '/execute/sync', {
      script: `window.open('about:blank', '_blank', 'popup,width=${width},height=${height}')`,
      args: [],
    });
    const handle = (await this.call('GET', '/window/handles')).find(
      (/** @type {string} */ each) => !before.includes(each),
    );
    if (!handle) throw new Error('MiniBrowser did not open a window');
    await this.call('POST', '/window', { handle });
    await this.call('POST', '/window/rect', { width, height });
    await this.call('POST', '/url', { url });
    return this.page(handle);
  }

  /**
   * @param {string} handle
   * @returns {import('./browsers.js').Page}
   */
  page(handle) {
    /** @type {import('./browsers.js').Page['evaluate']} */
    const evaluate = (work, ...args) =>
      this.inWindow(handle, async () => {
        const { value, thrown } = await this.call('POST', '/execute/async', {
          args: [args],
          script: `
            const [args, done] = arguments;
            Promise.resolve()
              .then(() => (${work})(...args))
              .then((value) => done({ value }), (e) => done({ thrown: String(e && e.message || e) }));`,
        });
        if (thrown !== undefined) throw new Error(thrown);
        return value;
      });
    return {
      evaluate,
      resize: (width, height) => this.inWindow(handle, () => this.call('POST', '/window/rect', { width, height })),
      screenshot: async () => Buffer.from(await this.inWindow(handle, () => this.call('GET', '/screenshot')), 'base64'),
      complaints: () => evaluate(() => /** @type {any} */ (window).complaints ?? []),
      close: () => this.inWindow(handle, () => this.call('DELETE', '/window')),
    };
  }
}

/**
 * @param {{sharedMemory?: boolean}} [options]
 * @returns {Promise<import('./browsers.js').Browser>}
 */
export async function launchWebKit({ sharedMemory = true } = {}) {
  const found = findWebKit();
  if (found.missing !== null) throw new Error(found.missing);
  const screen = await startDisplay(found.xvfb);
  /** @type {Awaited<ReturnType<typeof startDriver>> | undefined} */
  let driver;
  const stop = async () => {
    await driver?.stop();
    await screen.stop();
  };
  try {
    driver = await startDriver(found.driver, {
      DISPLAY: screen.display,
      GDK_BACKEND: 'x11',
      LP_NUM_THREADS: '0', // Mesa draws in the thread that asks for it: waking its others takes longer
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
      ...(sharedMemory && { JSC_useSharedArrayBuffer: '1' }),
    });
    const session = new Session(driver.port);
    await session.begin(found.miniBrowser);
    return {
      version: session.version ?? '',
      open: (url, size) => session.queued(() => session.open(url, size)),
      async close() {
        await session.queued(() => session.call('DELETE', '')).catch(() => {});
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
