// requests.js - the fetch of one load: sends the caller's headers to the origin of the source only, and resumes
// interrupted downloads
import { fail, show } from '../../base/errors.js';
import { Opener } from '../source.js';
import { headerToken } from './request_headers.js';
import { withResume } from './retry_and_resume.js';

/** @import { HeaderPairs } from './request_headers.js' */

const HUB = 'https://huggingface.co';
/** The limit of the Fetch standard. */
const MAX_REDIRECTS = 20;
const inNode = !!globalThis.process?.versions?.node;

/**
 * The fetch of one load.
 * @param {any} source  as checked by api/input/load_options.js
 * @param {{headers?: HeaderPairs, token?: string, hfEndpoint?: string}} options
 * @param {typeof globalThis.fetch} [fetch]  the caller's
 * @returns {typeof globalThis.fetch}
 */
export function loadFetch(source, options, fetch = globalThis.fetch) {
  const address = firstAddress(source, options);
  return withResume(address ? withHeaders(fetch, address.origin, headersFor(options, address.hub)) : fetch);
}

/**
 * The origin that receives the headers: that of the weights, or of the first other part with an address.
 * @param {any} source
 * @param {{hfEndpoint?: string, token?: unknown}} options
 * @returns {{origin: string, hub: boolean} | null} hub: whether the address begins with hf:
 */
function firstAddress(source, { hfEndpoint, token }) {
  const parts = [source?.weights ?? source, source?.config, source?.tokenizer]
    .flat()
    .filter((part) => typeof part === 'string' || part instanceof URL)
    .map(String);
  const first = parts.find((part) => /^(https?|hf):/.test(part));
  const hub = !!first?.startsWith('hf:');
  if (token !== undefined && !hub)
    fail('bad-option', 'token is for sources that begin with "hf:"; for other servers use headers');
  if (first === undefined) return null;
  try {
    const { origin } = new URL(String(new Opener({ hfEndpoint }).resolve(first)));
    return { origin, hub };
  } catch {
    return null; // the address is refused when it is opened
  }
}

/**
 * The caller's headers and the authorization for the hub: the option `token`, or in Node $HF_TOKEN, which is sent only
 * to the hub or to $HF_ENDPOINT.
 * @param {{headers?: HeaderPairs, token?: string, hfEndpoint?: string}} options
 * @param {boolean} hub  whether the source begins with hf:
 * @returns {HeaderPairs}
 */
function headersFor({ headers = [], token, hfEndpoint }, hub) {
  const env = globalThis.process?.env ?? {};
  const mayUse = hub && (hfEndpoint === undefined || hfEndpoint === (env.HF_ENDPOINT ?? HUB));
  const envToken = mayUse && env.HF_TOKEN?.trim();
  const secret = token ?? (envToken ? headerToken(envToken, '$HF_TOKEN') : undefined);
  const hasAuthorization = headers.some(([name]) => name === 'authorization');
  if (token !== undefined && hasAuthorization)
    fail('bad-option', 'token and headers both hold an authorization: give one of them');
  return secret && !hasAuthorization ? [...headers, ['authorization', `Bearer ${secret}`]] : headers;
}

/**
 * A fetch that sends headers to one origin. After a redirect to another origin they are not sent any more, even when it
 * redirects back.
 * @param {typeof globalThis.fetch} fetch
 * @param {string} origin
 * @param {HeaderPairs} pairs
 * @returns {typeof globalThis.fetch}
 */
function withHeaders(fetch, origin, pairs) {
  if (!pairs.length) return fetch;
  return async (input, init) => {
    let url = new URL(String(input));
    if (url.origin !== origin) return fetch(input, init);
    const headers = new Headers(init?.headers);
    for (const [name, value] of pairs) headers.set(name, value);
    if (!inNode) return fetchInBrowser(fetch, url.href, { ...init, headers }, pairs);
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      if (url.origin !== origin) return fetch(url.href, init);
      const response = await fetch(url.href, { ...init, headers, redirect: 'manual' });
      const to = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get('location') : null;
      if (to === null) return response;
      response.body?.cancel().catch(() => {});
      try {
        url = new URL(to, url);
      } catch {
        fail('network', `${url.href}: the server redirects to ${show(to)}, which is no address`);
      }
      if (!/^https?:$/.test(url.protocol))
        fail('network', `${input}: the server redirects to ${show(url.protocol)}, expected http or https`);
    }
    return fail('network', `${input}: the server redirects more than ${MAX_REDIRECTS} times`);
  };
}

/**
 * A request with headers in a browser, where a redirect's target cannot be read. Browsers remove an authorization
 * header when the target has another origin, and keep all others: with other headers a redirect is an error.
 * @param {typeof globalThis.fetch} fetch
 * @param {string} url
 * @param {RequestInit} init
 * @param {HeaderPairs} pairs
 */
async function fetchInBrowser(fetch, url, init, pairs) {
  if (pairs.every(([name]) => name === 'authorization')) return fetch(url, init);
  const response = await fetch(url, { ...init, redirect: 'manual' });
  if (response.type !== 'opaqueredirect') return response;
  return fail(
    'network',
    `${url}: the server redirects, and a browser would send the headers to the target of the redirect too: ` +
      'give the final address, or use authorization as the only header',
  );
}
