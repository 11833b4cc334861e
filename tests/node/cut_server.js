// cut_server.js - a web server for tests: it can break connections, change files, ignore range requests and redirect
import { serve } from './helpers.js';

/**
 * @typedef {object} Served
 * @property {Uint8Array} bytes
 * @property {string | null} [etag]       null: none
 * @property {string} [modified]
 * @property {boolean} [ranges]           default true
 * @property {number[]} [cuts] bytes after which each answer in turn ends in a broken connection; used up as they come
 * @property {(request: any, served: Served) => void} [before]  called with each request, and may change what is served
 * @property {Record<string, string>} [headers]
 * @property {boolean} [silent]           a cut connection stays open and brings nothing more
 * @property {boolean} [chunked]          no content-length
 * @property {boolean} [held] the connection breaks when /cut is requested, so that a test can wait until the client has
 *   read some bytes
 * @property {number} [together]          so many requests must have come before an answer ends
 * @property {number[]} [busy]            status of each answer in turn, without a body; used up as they come
 * @property {string} [retryAfter]        sent with these
 */

/**
 * @param {Record<string, Served | string>} files  by path; a string: redirected there
 * @param {Record<string, string>} [always] headers of every answer. With access-control-allow-origin it answers
 *   preflight requests too
 */
export async function serveCut(files, always = {}) {
  const asked = [];
  const waiting = [],
    breaking = [];
  const server = await serve((request, response) => {
    for (const [name, value] of Object.entries(always)) response.setHeader(name, value);
    if (request.method === 'OPTIONS')
      return response.writeHead(204, { 'access-control-allow-headers': 'authorization, x-key, range, if-range' }).end();
    if (request.url === '/cut') {
      for (const end of breaking.splice(0)) end();
      return response.end();
    }
    const path = request.url.split('?')[0],
      entry = { path, range: request.headers.range, headers: request.headers, status: 200 };
    asked.push(entry);
    const served = files[path];
    if (typeof served === 'string') return response.writeHead((entry.status = 302), { location: served }).end();
    if (!served) return response.writeHead((entry.status = 404)).end();
    served.before?.(request, served);
    if (served.busy?.length) {
      entry.status = Number(served.busy.shift());
      return response.writeHead(entry.status, served.retryAfter ? { 'retry-after': served.retryAfter } : {}).end();
    }
    const { bytes, etag = '"one"', modified, ranges = true, cuts = [], headers = {}, chunked, held, together } = served;
    const from = ranges ? Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0;
    const wanted = request.headers['if-range'],
      isPart = from > 0 && (wanted === undefined || wanted === etag || wanted === modified);
    if (isPart && from >= bytes.length)
      return response.writeHead((entry.status = 416), { 'content-range': `bytes */${bytes.length}` }).end();
    const body = isPart ? bytes.subarray(from) : bytes,
      cut = cuts.shift();
    response.writeHead((entry.status = isPart ? 206 : 200), {
      ...(etag && { etag }),
      ...(modified && { 'last-modified': modified }),
      ...headers,
      ...(!chunked && { 'content-length': body.length }),
      ...(isPart && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    });
    if (together) {
      response.write(body.subarray(0, 1000));
      if (waiting.push(() => response.end(body.subarray(1000))) === together)
        for (const end of waiting.splice(0)) end();
      return;
    }
    if (cut === undefined || cut >= body.length) return response.end(body);
    // FIN and not RST: a reset would discard what the client has not read
    const end = () => served.silent || response.socket?.end();
    response.write(
      body.subarray(0, cut),
      held
        ? () => {
            breaking.push(end);
          }
        : end,
    );
  });
  return { ...server, asked, of: (path) => asked.filter((each) => each.path === path) };
}

/**
 * Waits of this thread, as between requests for the rest of a file, take a part of their time.
 * @param {number} [times]    shorter
 * @param {number} [longest]  that is shortened: on a busy machine an answer may take a second
 * @returns {() => void} ends this
 */
export function shortWaits(times = 50, longest = 30_000) {
  const { setTimeout: later } = globalThis,
    { timeout } = AbortSignal;
  const shorter = (ms) => (ms > longest ? ms : ms / times);
  globalThis.setTimeout = /** @type {any} */ ((call, ms, ...args) => later(call, shorter(ms), ...args));
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, Math.ceil(shorter(ms)));
  return () => {
    globalThis.setTimeout = later;
    AbortSignal.timeout = timeout;
  };
}
