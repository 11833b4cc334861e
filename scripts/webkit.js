// webkit.js - starts WebKitGTK's MiniBrowser for the browser tests: WebKitWebDriver under Xvfb, controlled by HTTP
// requests
//
// The protocol is https://www.w3.org/TR/webdriver2/. A driver has one session, and a session has one current window, so
// calls are queued.
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { startGroup } from './processes.js';

/** Longest evaluation in ms; below the five minutes after which Node's fetch fails. */
const SCRIPT_MS = 280_000;

/**
 * @param {string} name
 * @returns {string | undefined}
 */
function onPath(name) {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

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
  const driver = onPath('WebKitWebDriver'),
    xvfb = onPath('Xvfb'),
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
    for (let i = 0; i < 200 && !ended; i++) {
      const answer = await fetch(`http://127.0.0.1:${port}/status`).catch(() => null);
      if (answer?.ok && !ended) {
        group.release();
        return { ...group, port };
      }
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
    await group.stop();
    if (attempt === 3) throw new Error(`WebKitWebDriver does not answer: ${said.trim() || 'it printed nothing'}`);
  }
}

/**
 * @param {{sharedMemory?: boolean}} [options]
 * @returns {Promise<import('./browsers.js').Browser>}
 */
export async function launchWebKit({ sharedMemory = true } = {}) {
  const found = findWebKit();
  if (found.missing !== null) throw new Error(found.missing);
  const { driver: driverPath, xvfb, miniBrowser } = found;
  const screen = await startDisplay(xvfb);
  /** @type {Awaited<ReturnType<typeof startDriver>> | undefined} */
  let driver;
  const close = async () => {
    await driver?.stop();
    await screen.stop();
  };
  try {
    driver = await startDriver(driverPath, {
      DISPLAY: screen.display,
      GDK_BACKEND: 'x11',
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
      ...(sharedMemory && { JSC_useSharedArrayBuffer: '1' }),
    });
    const { port } = driver;
    /** @type {Promise<any>} */
    let last = Promise.resolve();
    /**
     * @param {string} method
     * @param {string} path
     * @param {object} [body]
     */
    const call = async (method, path, body) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        ...(body && { body: JSON.stringify(body) }),
      });
      const { value } = /** @type {any} */ (await response.json());
      if (value?.error) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
      return value;
    };
    /**
     * Run calls one after the other, because the driver has one current window.
     * @template T
     * @param {() => Promise<T>} work
     * @returns {Promise<T>}
     */
    const queued = (work) => {
      const mine = last.then(work);
      last = mine.catch(() => {});
      return mine;
    };
    const { sessionId, capabilities } = await call('POST', '/session', {
      capabilities: {
        alwaysMatch: {
          'webkitgtk:browserOptions': {
            binary: miniBrowser,
            args: ['--automation', '--javascript-can-open-windows-automatically=true'],
          },
        },
      },
    });
    const session = `/session/${sessionId}`;
    await call('POST', `${session}/timeouts`, { script: SCRIPT_MS, pageLoad: 60_000 });
    const first = await call('GET', `${session}/window`);
    return {
      version: `WebKitGTK ${capabilities.browserVersion}`,
      open: (url, { width = 1440, height = 900 } = {}) =>
        queued(async () => {
          // A new window, because it has no toolbar: with a toolbar MiniBrowser cannot be as narrow as a phone.
          await call('POST', `${session}/window`, { handle: first });
          const before = await call('GET', `${session}/window/handles`);
          await call('POST', `${session}/execute/sync`, {
            script: `window.open('about:blank', '_blank', 'popup,width=${width},height=${height}')`,
            args: [],
          });
          const handle = (await call('GET', `${session}/window/handles`)).find(
            (/** @type {string} */ each) => !before.includes(each),
          );
          if (!handle) throw new Error('MiniBrowser did not open a window');
          const inWindow = (/** @type {() => Promise<any>} */ work) =>
            queued(async () => {
              await call('POST', `${session}/window`, { handle });
              return work();
            });
          await call('POST', `${session}/window`, { handle });
          await call('POST', `${session}/window/rect`, { width, height });
          await call('POST', `${session}/url`, { url });
          /** @type {import('./browsers.js').Page['evaluate']} */
          const evaluate = (work, ...args) =>
            inWindow(async () => {
              const { value, thrown } = await call('POST', `${session}/execute/async`, {
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
            resize: (w, h) => inWindow(() => call('POST', `${session}/window/rect`, { width: w, height: h })),
            screenshot: async () => Buffer.from(await inWindow(() => call('GET', `${session}/screenshot`)), 'base64'),
            complaints: () => evaluate(() => /** @type {any} */ (window).complaints ?? []),
            close: () => inWindow(() => call('DELETE', `${session}/window`)),
          };
        }),
      async close() {
        await queued(() => call('DELETE', session)).catch(() => {});
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
