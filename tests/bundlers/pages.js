// pages.js - opens a fixture's page in Chromium and returns its result and the browser's errors and warnings; a proxy
// that adds headers to any server
import { createServer, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { PATIENCE } from '../patience.js';
import { launch, launchWithExtension } from '../../scripts/chromium.js';

const ISOLATION = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'cross-origin',
};

/**
 * A proxy that adds the headers of cross-origin isolation. Web sockets pass through.
 * @param {string} target  address
 * @returns {Promise<{url: string, close(): Promise<void>}>}
 */
export async function isolated(target) {
  const { hostname, port, host, origin } = new URL(target);
  const forwarded = (/** @type {import('node:http').IncomingMessage} */ { headers }) => ({
    ...headers,
    host,
    ...(headers.origin && { origin }),
  });
  const server = createServer((request, response) => {
    const inner = httpRequest(
      { hostname, port, path: request.url, method: request.method, headers: forwarded(request) },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...ISOLATION });
        answer.pipe(response);
      },
    );
    inner.on('error', () => response.destroy());
    request.pipe(inner);
  });
  server.on('upgrade', (request, socket, head) => {
    const inner = connect(Number(port), hostname, () => {
      const headers = Object.entries(forwarded(request))
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('');
      inner.write(`${request.method} ${request.url} HTTP/1.1\r\n${headers}\r\n`);
      inner.write(head);
      inner.pipe(socket);
      socket.pipe(inner);
    });
    for (const one of [inner, socket])
      one
        .on('error', () => {
          inner.destroy();
          socket.destroy();
        })
        .on('close', () => {
          inner.destroy();
          socket.destroy();
        });
  });
  return listen(server);
}

/**
 * @param {import('node:http').Server} server
 * @returns {Promise<{url: string, close(): Promise<void>}>}
 */
export async function listen(server) {
  const sockets = new Set();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, 'localhost', () => resolve(undefined));
  });
  return {
    url: `http://localhost:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/`,
    async close() {
      for (const socket of sockets) socket.destroy(); // including upgraded connections
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

/** What development servers and browsers print that is no complaint. */
const NOISE = [/Download the React DevTools/, /favicon\.ico/];

/** One Chromium, started when it is first needed. */
export class Pages {
  /** @type {Promise<import('playwright-core').Browser> | undefined} */
  #browser;

  /**
   * Open a page and wait for the text of its <output>.
   * @param {string} address
   * @param {{timeout?: number, frame?: string, extension?: string,
   *   until?: (page: import('playwright-core').Page) => Promise<void>}} [options]  frame: selector of the frame that
   *   holds the <output>; extension: folder of the one whose page it is; until: what is done and awaited instead,
   *   without a result
   * @returns {Promise<{result: any, complaints: string[], failed: string[], requests: string[]}>} failed: requests
   *   without an answer or with an error's status
   */
  async visit(address, { timeout = PATIENCE, frame, extension, until } = {}) {
    const context = extension ? await launchWithExtension(extension) : await this.#newContext(),
      page = await context.newPage();
    context.setDefaultTimeout(timeout);
    const complaints = /** @type {string[]} */ ([]),
      failed = /** @type {string[]} */ ([]),
      requests = /** @type {string[]} */ ([]),
      aborted = /** @type {string[]} */ ([]);
    const complain = (/** @type {string} */ text) => {
      if (!NOISE.some((pattern) => pattern.test(text))) complaints.push(text);
    };
    page.on('console', (message) => {
      const { url } = message.location();
      if (
        ['error', 'warning'].includes(message.type()) &&
        !/^Failed to load resource/.test(message.text()) &&
        !NOISE.some((pattern) => pattern.test(url))
      )
        complain(message.text());
    });
    page.on('pageerror', (error) => complain(String(error.stack ?? error)));
    context.on('request', (request) => requests.push(request.url()));
    context.on('response', (response) => {
      if (response.status() >= 400 && !/favicon\.ico/.test(response.url()))
        failed.push(`${response.status()} ${response.url()}`);
    });
    context.on('requestfailed', (request) => {
      const why = request.failure()?.errorText;
      if (why === 'net::ERR_ABORTED') aborted.push(request.url());
      else failed.push(`${why} ${request.url()}`);
    });
    // Vite 5 finds what a worker imports only when the page runs: it then bundles its dependencies anew, deletes those
    // of before and reloads the page, whose requests until then count no more.
    page.on('framenavigated', (navigated) => {
      if (navigated === page.mainFrame()) failed.length = 0;
    });
    try {
      await page.goto(address, { waitUntil: 'domcontentloaded' });
      const output = frame ? page.frameLocator(frame).locator('output') : page.locator('output');
      if (until) await until(page);
      else await output.filter({ hasText: /\S/ }).waitFor({ state: 'attached' });
      const text = until ? null : await output.textContent();
      // Disposing of a model ends helpers that still import their script, which Chromium sometimes prints as an error.
      const isEnded = (/** @type {string} */ complaint) =>
        complaint.includes("execute 'importScripts'") && aborted.some((url) => complaint.includes(url));
      return {
        result: JSON.parse(text ?? 'null'),
        complaints: complaints.filter((each) => !isEnded(each)),
        failed,
        requests,
      };
    } catch (error) {
      throw new Error(`${address}: ${error.message}\n${[...complaints, ...failed].join('\n')}`, { cause: error });
    } finally {
      await context.close();
    }
  }

  async #newContext() {
    this.#browser ??= launch({ shell: true });
    return (await this.#browser).newContext();
  }

  async close() {
    await (await this.#browser)?.close();
  }
}
