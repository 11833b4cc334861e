// serve.js - a static web server for one folder, reachable from this machine only
//
//   node scripts/serve.js FOLDER [--port N] [--open]
//
// Sends the two headers that allow a page shared memory, so that the engine can use threads. Answers range requests.
// Answers 304 to a client whose copy of a file has not changed (ETag).
// Sends FILE.br or FILE.gz (precompress.js) instead of FILE to clients that accept the encoding. Tests import `serve`.
import { createReadStream, existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.woff': 'font/woff',
};

/** Precompressed copies: content coding and file name extension, the preferred one first. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
];

/**
 * Whether an Accept-Encoding header permits a content coding (RFC 9110, 12.5.3): listed, or covered by `*`, with a
 * weight above 0.
 * @param {string} header
 * @param {string} coding
 */
export function accepts(header, coding) {
  /** @type {Map<string, number>} */
  const weights = new Map();
  for (const entry of header.toLowerCase().split(',')) {
    const [name, ...parameters] = entry.split(';').map((part) => part.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, q === undefined ? 1 : Number(q.slice(2)));
  }
  return (weights.get(coding) ?? weights.get('*') ?? 0) > 0;
}

/**
 * The file at a path, by its real path; null where that is outside the folder.
 * @param {string} root
 * @param {string} path  of a file that exists
 * @returns {{file: string, size: number, changed: number} | null}
 */
function fileIn(root, path) {
  const file = realpathSync(path);
  const found = statSync(file);
  return file.startsWith(root + sep) && found.isFile() ? { file, size: found.size, changed: found.mtimeMs } : null;
}

/**
 * The precompressed copies of a file that exist.
 * @param {string} root  folder in which they must be
 * @param {string} file
 */
function copiesOf(root, file) {
  return ENCODINGS.flatMap(([coding, extension]) => {
    const copy = existsSync(file + extension) ? fileIn(root, file + extension) : null;
    return copy ? [{ coding, ...copy }] : [];
  });
}

/**
 * A file, and its precompressed copies.
 * @typedef {{file: string, size: number, changed: number, copies: ReturnType<typeof copiesOf>}} Found
 */

/** Hosts that are answered: another name may be resolved to this machine by a page (DNS rebinding). */
const LOCAL = /^(?:localhost|\d+(?:\.\d+){3}|\[[\da-f:.]+\])(?::\d+)?$/i;

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * The file that a URL means; null where there is none, or where it is outside its folder.
 * @param {{path: string, root: string}[]} mounts
 * @param {string} url
 * @returns {Found | null}
 */
function findFile(mounts, url) {
  try {
    const path = decodeURIComponent(new URL(url, 'http://localhost').pathname);
    const mount = mounts.find((each) => path.startsWith(each.path));
    if (!mount) return null;
    const { root } = mount;
    const found = fileIn(root, join(root, path.slice(mount.path.length), path.endsWith('/') ? 'index.html' : ''));
    return found && { ...found, copies: copiesOf(root, found.file) };
  } catch {
    return null;
  }
}

/**
 * The bytes that a Range header asks for: first and last, and the status of the answer. Without the header, or where
 * If-Range names another version, all bytes.
 * @param {import('node:http').IncomingHttpHeaders} asked
 * @param {string} etag
 * @param {number} size
 */
function rangeOf(asked, etag, size) {
  const whole = { start: 0, end: size - 1, status: 200 };
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(asked.range ?? '') ?? [];
  if ((asked['if-range'] ?? etag) !== etag || (!from && !to)) return whole;
  const start = from ? Number(from) : Math.max(0, size - Number(to)),
    end = from && to ? Math.min(size - 1, Number(to)) : size - 1;
  return { start, end, status: start > end ? 416 : 206 };
}

/**
 * Answer with a file, its compressed copy, or a range of it; with 304 where the client has it.
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {Found} found
 * @param {Record<string, any>} headers
 */
function sendFile(request, response, { file, size, changed, copies }, headers) {
  const asked = request.headers;
  if (copies.length) headers.Vary = 'Accept-Encoding';
  // a range counts bytes of the file itself, so that a client can join ranges with or without an encoding
  const copy =
    asked.range === undefined && copies.find(({ coding }) => accepts(String(asked['accept-encoding'] ?? ''), coding));
  if (copy) ({ file, size } = copy);
  headers.ETag = `"${[size, changed].map((n) => Math.round(n).toString(36)).join('-')}${copy ? `-${copy.coding}` : ''}"`;
  const known = String(asked['if-none-match'] ?? '').split(/\s*,\s*/);
  if (known.some((each) => each === '*' || each.replace(/^W\//, '') === headers.ETag)) {
    response.writeHead(304, headers);
    return response.end();
  }
  if (copy) headers['Content-Encoding'] = copy.coding;
  const { start, end, status } = rangeOf(asked, headers.ETag, size);
  if (status === 416) {
    response.writeHead(416, { ...headers, 'Content-Range': `bytes */${size}` });
    return response.end();
  }
  if (status === 206) headers['Content-Range'] = `bytes ${start}-${end}/${size}`;
  headers['Content-Length'] = end - start + 1;
  response.writeHead(status, headers);
  if (request.method === 'HEAD' || size === 0) return response.end();
  createReadStream(file, { start, end, highWaterMark: 1 << 20 })
    .on('error', () => response.destroy())
    .pipe(response);
}

/**
 * @typedef {object} ServeOptions
 * @property {number} [port]  0: any free one
 * @property {string} [base]  the path under which the folder appears, to test a sub-path
 * @property {boolean} [isolate]  false: leave out the isolation headers, as a plain static host does
 * @property {boolean} [copies]  false: precompressed copies are not sent, so that clients need not decompress them
 * @property {Record<string, string>} [also]  further folders, by the path under which they appear
 * @property {string} [head]  HTML that is put at the beginning of every page's head
 * @property {(path: string) => Record<string, string>} [headersOf]  further headers for a path
 */

/**
 * Serve a folder.
 * @param {string} folder
 * @param {ServeOptions} [options]
 * @returns {Promise<{ url: string, requests: string[], close(): Promise<void> }>}
 */
export async function serve(
  folder,
  { port = 0, base = '/', isolate = true, copies = true, also = {}, head = '', headersOf = () => ({}) } = {},
) {
  const mounts = Object.entries({ ...also, [base]: folder }).map(([path, from]) => ({
    path,
    root: realpathSync(resolve(from)),
  }));
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(request.url);
    const headers = {
      'Cache-Control': 'no-cache',
      'Accept-Ranges': 'bytes',
      ...(isolate ? isolation : {}),
      ...headersOf(request.url.split('?')[0]),
    };
    const refuse = (status, text) => {
      response.writeHead(status, { ...headers, 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(`${text}\n`);
    };
    if (!LOCAL.test(request.headers.host ?? '')) return refuse(403, 'only localhost and addresses as host');
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(405, 'only GET and HEAD');
    const found = findFile(mounts, request.url);
    if (!found) return refuse(404, 'not found');
    if (!copies) found.copies = [];
    headers['Content-Type'] = types[extname(found.file)] ?? 'application/octet-stream';
    if (!head || extname(found.file) !== '.html') return sendFile(request, response, found, headers);
    response.writeHead(200, headers);
    response.end(readFileSync(found.file, 'utf8').replace('<head>', () => `<head>${head}`));
  });
  await new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', done);
  });
  return {
    url: `http://127.0.0.1:${server.address().port}${base}`,
    requests,
    close: () =>
      new Promise((done) => {
        server.close(done);
        server.closeAllConnections();
      }),
  };
}

/** Open an address in the default browser where there is a desktop; otherwise do nothing. */
function openBrowser(url) {
  const opener =
    process.platform === 'darwin'
      ? ['open', url]
      : process.platform === 'win32'
        ? ['cmd', '/c', 'start', '', url]
        : process.env.DISPLAY || process.env.WAYLAND_DISPLAY
          ? ['xdg-open', url]
          : null;
  if (!opener || process.env.CI) return;
  spawn(opener[0], opener.slice(1), { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { port: { type: 'string', default: '8000' }, open: { type: 'boolean' } },
    });
    const port = Number(values.port);
    if (!/^\d+$/.test(values.port) || port > 65535)
      throw new Error(`--port is ${JSON.stringify(values.port)}, expected 0 to 65535`);
    const { url } = await serve(positionals[0], { port }).catch((error) => {
      if (error.code !== 'EADDRINUSE') throw error;
      return serve(positionals[0]);
    });
    console.log(`Glassformer is at ${url}  (Ctrl-C stops it)`);
    if (values.open) openBrowser(url);
  } catch (error) {
    console.error(`serve.js: ${error.message}`);
    process.exitCode = 1;
  }
}
