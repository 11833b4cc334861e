// serve.js - the command serve: OpenAI's HTTP interface for other programs of this machine
//
// The server listens on 127.0.0.1 only. Pages of other origins cannot use it: a request with an Origin that was not
// allowed is refused, and so is one whose Host is another name than that of this machine, to which an attacker may have
// bound the address (DNS rebinding).
import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fetchOf } from '../clients/openai_fetch.js';
import { fail } from '../../base/errors.js';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { Model } from '../../api/index.js' */

/** Most bytes of a request. */
const LARGEST = 32 * 2 ** 20;
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** @param {ServerResponse} response @param {number} status @param {string} message */
function refuse(response, status, message) {
  const error = { message, type: 'invalid_request_error', param: null, code: null };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}

/**
 * Why a request is refused before it is read; null: it is not.
 * @param {IncomingMessage} request
 * @param {string[]} origins  that may send requests
 * @returns {string | null}
 */
function forbidden({ headers: { host = '', origin, 'sec-fetch-site': site } }, origins) {
  if (!LOOPBACK.includes(host.replace(/:\d+$/, ''))) return `the host ${host} is not this machine`;
  if (origin !== undefined)
    return origins.includes(origin) ? null : `pages of ${origin} may not use this server: --allow-origin ${origin}`;
  return site === undefined || site === 'none' ? null : 'a page may not use this server without its origin';
}

/** What a browser must read in an answer to a page of another origin. @param {string | undefined} origin */
const corsHeaders = (origin) => (origin === undefined ? {} : { 'access-control-allow-origin': origin, vary: 'origin' });

/** The answer to a browser's question before a request. @param {IncomingMessage} request */
const preflightHeaders = ({ headers }) => ({
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': headers['access-control-request-headers'] ?? 'content-type, authorization',
  'access-control-allow-private-network': 'true',
});

/**
 * The body of a request; null when it is too large.
 * @param {IncomingMessage} request
 */
async function bodyOf(request) {
  let size = 0;
  const counted = async function* () {
    for await (const chunk of request) {
      size += chunk.length;
      if (size <= LARGEST) yield chunk; // the rest is read, so that the client gets the answer
    }
  };
  const bytes = await buffer(Readable.from(counted()));
  return size > LARGEST ? null : bytes;
}

/**
 * Answer requests until the signal aborts.
 * @param {Model} model
 * @param {{port: number, origins: string[], name: string, signal: AbortSignal,
 *   listening: (url: string) => void}} options
 */
export async function serve(model, { port, origins, name, signal, listening }) {
  const answer = fetchOf(model, { name });
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const reason = forbidden(request, origins);
    if (reason) return refuse(response, 403, reason);
    const cors = corsHeaders(headers.origin);
    for (const [key, value] of Object.entries(cors)) response.setHeader(key, value);
    if (method === 'OPTIONS') return response.writeHead(204, preflightHeaders(request)).end();
    const gone = new AbortController(); // a client that hangs up ends the engine
    response.once('close', () => gone.abort());
    try {
      const body = await bodyOf(request);
      if (!body) return refuse(response, 413, `the request has more than ${LARGEST} bytes`);
      const given = { method, signal: gone.signal, ...(body.length && { body: new Uint8Array(body) }) };
      const { status, headers: own, body: text } = await answer(`http://localhost${url}`, given);
      response.writeHead(status, Object.fromEntries(own));
      if (text) await pipeline(Readable.fromWeb(/** @type {any} */ (text)), response);
      else response.end();
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  });
  const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error) =>
    fail('network', `port ${port} cannot be used (${error.code}): choose another with --port`, error),
  );
  try {
    listening(`http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/v1`);
    await ended;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
