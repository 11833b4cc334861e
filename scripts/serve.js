// serve.js - a static web server for one folder, reachable from this machine only
//
//   node scripts/serve.js FOLDER [--port N] [--open]
//
// Sends the two headers that allow a page shared memory, so that the engine can use threads. Answers range requests.
// Answers 304 to a client whose copy of a file has not changed (ETag).
// Sends FILE.br or FILE.gz (precompress.js) instead of FILE to clients that accept the encoding. Tests import `serve`.
import { createReadStream, readFileSync, realpathSync, statSync } from 'node:fs';
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
 * The precompressed copies of a file that exist.
 * @param {string} file
 * @returns {{coding: string, file: string, size: number}[]}
 */
function copiesOf(file) {
  return ENCODINGS.flatMap(([coding, extension]) => {
    const found = statSync(file + extension, { throwIfNoEntry: false });
    return found?.isFile() ? [{ coding, file: file + extension, size: found.size }] : [];
  });
}

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * @typedef {object} ServeOptions
 * @property {number} [port]  0: any free one
 * @property {string} [base]  the path under which the folder appears, to test a sub-path
 * @property {boolean} [isolate]  false: leave out the isolation headers, as a plain static host does
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
  { port = 0, base = '/', isolate = true, also = {}, head = '', headersOf = () => ({}) } = {},
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
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(405, 'only GET and HEAD');
    let root, file, size, changed;
    try {
      const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
      const mount = mounts.find((each) => path.startsWith(each.path));
      if (!mount) return refuse(404, 'not found');
      root = mount.root;
      file = join(root, path.slice(mount.path.length));
      if (path.endsWith('/')) file = join(file, 'index.html');
      file = realpathSync(file);
      const found = statSync(file);
      if (!file.startsWith(root + sep) || !found.isFile()) return refuse(404, 'not found');
      size = found.size;
      changed = found.mtimeMs;
    } catch {
      return refuse(404, 'not found');
    }
    headers['Content-Type'] = types[extname(file)] ?? 'application/octet-stream';
    if (head && extname(file) === '.html') {
      response.writeHead(200, headers);
      return response.end(readFileSync(file, 'utf8').replace('<head>', () => `<head>${head}`));
    }
    const copies = copiesOf(file);
    if (copies.length) headers.Vary = 'Accept-Encoding';
    // a range counts bytes of the file itself, so that a client can join ranges with or without an encoding
    const copy =
      request.headers.range === undefined &&
      copies.find(({ coding }) => accepts(String(request.headers['accept-encoding'] ?? ''), coding));
    if (copy) {
      headers['Content-Encoding'] = copy.coding;
      ({ file, size } = copy);
    }
    const etag = `"${[size, changed].map((n) => Math.round(n).toString(36)).join('-')}${copy ? `-${copy.coding}` : ''}"`;
    headers.ETag = etag;
    const known = String(request.headers['if-none-match'] ?? '').split(/\s*,\s*/);
    if (known.some((each) => each === '*' || each.replace(/^W\//, '') === etag)) {
      delete headers['Content-Encoding'];
      response.writeHead(304, headers);
      return response.end();
    }
    let start = 0,
      end = size - 1,
      status = 200;
    const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
    const isSame = (request.headers['if-range'] ?? etag) === etag; // otherwise the whole file is sent
    if (isSame && range && (range[1] || range[2])) {
      start = range[1] ? Number(range[1]) : Math.max(0, size - Number(range[2]));
      if (range[1] && range[2]) end = Math.min(end, Number(range[2]));
      if (start > end) {
        response.writeHead(416, { ...headers, 'Content-Range': `bytes */${size}` });
        return response.end();
      }
      status = 206;
      headers['Content-Range'] = `bytes ${start}-${end}/${size}`;
    }
    headers['Content-Length'] = end - start + 1;
    response.writeHead(status, headers);
    if (request.method === 'HEAD' || size === 0) return response.end();
    createReadStream(file, { start, end, highWaterMark: 1 << 20 })
      .on('error', () => response.destroy())
      .pipe(response);
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
    const {
      values,
      positionals: [folder],
    } = parseArgs({
      allowPositionals: true,
      options: { port: { type: 'string', default: '8000' }, open: { type: 'boolean' } },
    });
    const port = Number(values.port);
    if (!/^\d+$/.test(values.port) || port > 65535)
      throw new Error(`--port is ${JSON.stringify(values.port)}, expected 0 to 65535`);
    const { url } = await serve(folder, { port }).catch((error) => {
      if (error.code !== 'EADDRINUSE') throw error;
      return serve(folder);
    });
    console.log(`Glassformer is at ${url}  (Ctrl-C stops it)`);
    if (values.open) openBrowser(url);
  } catch (error) {
    console.error(`serve.js: ${error.message}`);
    process.exitCode = 1;
  }
}
