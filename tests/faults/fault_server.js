// fault_server.js - a web server for tests that fails in many ways, and what a load may then give
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { serve } from '../node/helpers.js';

/**
 * One request of a file.
 * @typedef {object} Exchange
 * @property {import('node:http').IncomingMessage} request
 * @property {import('node:http').ServerResponse} response
 * @property {Uint8Array} bytes  of the file
 * @property {Record<string, string>} headers  ETag and Last-Modified of the file
 * @property {number} n  requests of the file before this one
 * @property {number} from  first byte that is requested
 */
/**
 * A behaviour. `fails`: whether a load must fail, or may where it is "either": the engines differ, or two loads at once.
 * @typedef {{fails: boolean | 'either', answer: (exchange: Exchange) => unknown}} Fault
 */

/** Bytes after which connections are cut. */
const CUT = 9000;
const HTML = '<!doctype html><title>Busy</title>';

/**
 * The right answer, with changes.
 * @param {Exchange} exchange
 * @param {{status?: number, headers?: Record<string, any>, body?: Uint8Array | string, cut?: number}} [changes]
 *   a header that is undefined is left out; cut: bytes of the body after which the connection is cut
 */
function send({ request, response, bytes, headers, from }, { status, headers: other = {}, body, cut } = {}) {
  const expected = request.headers['if-range'];
  const isPart = from > 0 && (expected === undefined || Object.values(headers).includes(expected));
  const content = body ?? (isPart ? bytes.subarray(from) : bytes);
  const all = {
    ...headers,
    'content-length': content.length,
    ...(isPart && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    ...other,
  };
  const sent = Object.entries(all).filter(([, value]) => value !== undefined);
  response.writeHead(status ?? (isPart ? 206 : 200), Object.fromEntries(sent));
  if (cut === undefined) return response.end(content);
  return response.write(content.slice(0, cut), () => response.socket?.end());
}

/**
 * An answer that bypasses Node's checks.
 * @param {Exchange} exchange
 * @param {string} head
 * @param {Uint8Array} [body]
 */
function sendRaw({ response }, head, body = new Uint8Array(0)) {
  const cors = 'access-control-allow-origin: *\r\n';
  response.socket?.end(Buffer.concat([Buffer.from(head.replace('\r\n', `\r\n${cors}`)), body]));
}

/**
 * The right answer first, cut, and another one to each request of the rest.
 * @param {(exchange: Exchange) => unknown} rest
 * @returns {Fault['answer']}
 */
const cutThen = (rest) => (exchange) => (exchange.from ? rest(exchange) : send(exchange, { cut: CUT }));

const half = (/** @type {Exchange} */ { bytes }) => bytes.subarray(0, bytes.length >> 1);
const chunked = { 'content-length': undefined };
const unknown = { etag: undefined, 'last-modified': undefined };
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @type {Record<string, Fault>} */
export const FAULTS = {
  'cut once': { fails: false, answer: (x) => send(x, x.n === 0 ? { cut: CUT } : {}) },
  'cut twice': { fails: false, answer: (x) => send(x, x.n < 2 ? { cut: CUT } : {}) },
  'cut each time without a byte': { fails: true, answer: cutThen((x) => send(x, { cut: 0 })) },
  'cut without a validator': { fails: true, answer: (x) => send(x, { cut: CUT, headers: unknown }) },
  'cut with a weak ETag': {
    fails: true,
    answer: (x) => send(x, { cut: CUT, headers: { etag: 'W/"1"', 'last-modified': undefined } }),
  },
  // WebKitGTK takes the cut for the end, and ignores an encoding that the body has not.
  'cut without Content-Length': {
    fails: 'either',
    answer: (x) => send(x, { headers: chunked, ...(x.n === 0 && { cut: CUT }) }),
  },
  'ends early without Content-Length': { fails: true, answer: (x) => send(x, { body: half(x), headers: chunked }) },
  'one byte too few without Content-Length': {
    fails: true,
    answer: (x) => send(x, { body: x.bytes.subarray(0, -1), headers: { ...chunked, ...unknown } }),
  },
  'closed before the head': { fails: true, answer: (x) => x.response.destroy() },
  'closed within the head': { fails: true, answer: (x) => sendRaw(x, 'HTTP/1.1 200 OK\r\ncontent-le') },
  'no HTTP': { fails: true, answer: (x) => x.response.socket?.end('nonsense\r\n\r\n') },
  'slow head': { fails: false, answer: async (x) => send(x, (await sleep(200), {})) },
  'slow body': {
    fails: false,
    answer: async (x) => {
      x.response.writeHead(200, { ...x.headers, 'content-length': x.bytes.length });
      for (let at = 0; at < x.bytes.length; at += 2000) {
        x.response.write(x.bytes.subarray(at, at + 2000));
        await sleep(10);
      }
      x.response.end();
    },
  },
  'another range': {
    fails: true,
    answer: cutThen((x) =>
      send(x, {
        body: x.bytes.subarray(1),
        headers: { 'content-range': `bytes 1-${x.bytes.length - 1}/${x.bytes.length}` },
      }),
    ),
  },
  'a range of a longer file': {
    fails: true,
    answer: cutThen((x) =>
      send(x, { headers: { 'content-range': `bytes ${x.from}-${x.bytes.length + 8}/${x.bytes.length + 9}` } }),
    ),
  },
  'a range without Content-Range': {
    fails: true,
    answer: cutThen((x) => send(x, { headers: { 'content-range': undefined } })),
  },
  'a nonsensical Content-Range': {
    fails: true,
    answer: cutThen((x) => send(x, { headers: { 'content-range': 'bytes */?' } })),
  },
  'ranges ignored': {
    fails: false,
    answer: (x) =>
      send(x, { status: 200, body: x.bytes, headers: { 'content-range': undefined }, ...(x.n === 0 && { cut: CUT }) }),
  },
  'every range too far': { fails: true, answer: cutThen((x) => send(x, { status: 416, body: '' })) },
  'ETag changes': { fails: true, answer: cutThen((x) => send(x, { headers: { etag: '"other"' } })) },
  'validators vanish': { fails: true, answer: cutThen((x) => send(x, { headers: unknown })) },
  'file gone during the download': { fails: true, answer: cutThen((x) => send(x, { status: 404, body: '' })) },
  'Content-Length too large': {
    fails: true,
    answer: (x) => send(x, { headers: { 'content-length': x.bytes.length + 9 }, cut: 1e9 }),
  },
  'Content-Length too small': { fails: true, answer: (x) => send(x, { body: half(x) }) },
  'two Content-Lengths': {
    fails: true,
    answer: (x) => sendRaw(x, 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n', x.bytes),
  },
  // bytes after the last tensor of a GGUF are warned of, as llama.cpp reads such files
  'the file twice': { fails: false, answer: (x) => send(x, { body: Buffer.concat([x.bytes, x.bytes]) }) },
  'one byte too many': {
    fails: false,
    answer: (x) => send(x, { body: Buffer.concat([x.bytes, Buffer.from('x')]), headers: chunked }),
  },
  gzip: { fails: false, answer: (x) => send(x, { body: gzipSync(x.bytes), headers: { 'content-encoding': 'gzip' } }) },
  'gzip, cut': {
    fails: true,
    answer: (x) => send(x, { body: gzipSync(x.bytes).subarray(0, 3000), headers: { 'content-encoding': 'gzip' } }),
  },
  'gzip, not compressed': { fails: 'either', answer: (x) => send(x, { headers: { 'content-encoding': 'gzip' } }) },
  'gzip without saying so': { fails: true, answer: (x) => send(x, { body: gzipSync(x.bytes) }) },
  'bad chunks': {
    fails: true,
    answer: (x) => sendRaw(x, 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', x.bytes),
  },
  'HTTP/1.0, closed at the end': { fails: false, answer: (x) => sendRaw(x, 'HTTP/1.0 200 OK\r\n\r\n', x.bytes) },
  'HTTP/1.0, closed early': { fails: true, answer: (x) => sendRaw(x, 'HTTP/1.0 200 OK\r\n\r\n', half(x)) },
  'a redirect': {
    fails: false,
    answer: (x) =>
      x.request.url?.includes('?') ? send(x) : send(x, { status: 302, headers: { location: '?there' }, body: '' }),
  },
  'a redirect loop': {
    fails: true,
    answer: (x) => send(x, { status: 302, headers: { location: '?again' }, body: '' }),
  },
  'a redirect to no address': {
    fails: true,
    answer: (x) => send(x, { status: 302, headers: { location: 'http://[' }, body: '' }),
  },
  '206 of the whole file, unasked': { fails: 'either', answer: (x) => send(x, { status: 206, body: x.bytes }) },
  '206 of a part, unasked': {
    fails: true,
    answer: (x) =>
      send(x, {
        status: 206,
        body: half(x),
        headers: { 'content-range': `bytes 0-${half(x).length - 1}/${x.bytes.length}` },
      }),
  },
  204: { fails: true, answer: (x) => send(x, { status: 204, body: '', headers: chunked }) },
  'an empty body': { fails: true, answer: (x) => send(x, { body: '' }) },
  '304, unasked': { fails: true, answer: (x) => send(x, { status: 304, body: '', headers: chunked }) },
  401: { fails: true, answer: (x) => send(x, { status: 401, body: 'no' }) },
  404: { fails: true, answer: (x) => send(x, { status: 404, body: 'none' }) },
  '503 and 429, then the file': {
    fails: false,
    answer: (x) => send(x, x.n < 2 ? { status: [503, 429][x.n], body: 'busy' } : {}),
  },
  '503 until tomorrow': {
    fails: true,
    answer: (x) => send(x, { status: 503, headers: { 'retry-after': '86400' }, body: 'busy' }),
  },
  'an HTML page': { fails: true, answer: (x) => send(x, { body: HTML, headers: { 'content-type': 'text/html' } }) },
  'an HTML page, typed as bytes': { fails: true, answer: (x) => send(x, { body: HTML }) },
  'a text': { fails: true, answer: (x) => send(x, { body: 'Service busy' }) },
  zeros: { fails: true, answer: (x) => send(x, { body: Buffer.alloc(x.bytes.length) }) },
  'zeros at the end, of a shorter length': {
    fails: true,
    answer: (x) => send(x, { body: Buffer.concat([half(x), Buffer.alloc(9)]), headers: chunked }),
  },
};

/** Answers to every origin, without the browser's own cache. */
const ALWAYS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Content-Range, Accept-Ranges, Retry-After',
  'cache-control': 'no-store',
};

/** Start the server. It answers 404 until `serve` is called. */
export async function startFaults() {
  /** @type {Map<string, {fault: Fault | null, bytes: Uint8Array, n: number}>} */
  const files = new Map();
  const server = await serve((request, response) => {
    for (const [name, value] of Object.entries(ALWAYS)) response.setHeader(name, value);
    if (request.method === 'OPTIONS') {
      response.writeHead(204, { 'access-control-allow-headers': 'range, if-range' });
      return response.end();
    }
    const file = files.get(String(request.url).split('?')[0]);
    if (!file) return response.destroy();
    const etag = `"${createHash('sha256').update(file.bytes).digest('hex').slice(0, 16)}"`;
    const headers = { etag, 'last-modified': 'Sat, 01 Nov 2025 10:00:00 GMT' };
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const exchange = { request, response, bytes: file.bytes, headers, n: file.n++, from };
    return file.fault ? file.fault.answer(exchange) : send(exchange);
  });
  return {
    ...server,
    /** Serve a file from now on, with a fault or without. */
    serve: (/** @type {string} */ path, /** @type {Uint8Array} */ bytes, /** @type {Fault | null} */ fault = null) =>
      files.set(path, { fault, bytes, n: 0 }),
    /** Break each connection that requests the file. */
    stop: (/** @type {string} */ path) => files.delete(path),
  };
}
