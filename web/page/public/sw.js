// sw.js - lets the page open again without a network: what the page has used once is cached.
//
// Files under assets/ carry their content in their name and never change; everything else is asked for first and taken
// from the cache when nobody answers. Where the visitor has asked for threads, documents and workers get the two headers
// that make the page cross-origin isolated, for hosts that do not send them.

/** The cache of this page; pages under other paths of the origin, and the package, have their own. */
const CACHE = `glassformer-page-1 ${registration.scope}`;
/** Earlier versions shared this cache with the package. */
const EARLIER = 'glassformer';

const opened = () => caches.open(CACHE);

/** The entry of the cache that stands for the visitor's consent to the headers; workers forget their variables. */
const ISOLATED = new URL('isolated', registration.scope).href;
const ISOLATION = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(moveEarlier().finally(() => clients.claim())));

/** Move what an earlier version of this page has cached. The entries of the package are constructed responses. */
async function moveEarlier() {
  if (!(await caches.has(EARLIER))) return;
  const earlier = await caches.open(EARLIER);
  const cache = await opened();
  for (const request of await earlier.keys()) {
    const response = await earlier.match(request);
    if (response?.type !== 'basic' || !request.url.startsWith(registration.scope)) continue;
    if (!(await cache.match(request))) await cache.put(request, response);
    await earlier.delete(request);
  }
  if (!(await earlier.keys()).length) await caches.delete(EARLIER);
}

addEventListener('message', (event) => {
  if (typeof event.data?.isolate !== 'boolean') return;
  event.waitUntil(setIsolated(event.data.isolate).finally(() => event.ports[0].postMessage(null)));
});

/** @param {boolean} on */
async function setIsolated(on) {
  const cache = await opened();
  await (on ? cache.put(ISOLATED, new Response('')) : cache.delete(ISOLATED));
}

/** A document or a worker with the headers, if the visitor has asked for them. A redirect is followed by the browser. */
async function isolated(request, response) {
  if (!['document', 'iframe', 'worker'].includes(request.destination) || response.type === 'opaqueredirect')
    return response;
  if (!(await (await opened()).match(ISOLATED))) return response;
  const { status, statusText, headers, body } = response;
  return new Response(body, { status, statusText, headers: { ...Object.fromEntries(headers), ...ISOLATION } });
}

// The page was there before its service worker: it says what it has loaded, and how much more may be fetched.
addEventListener('message', (event) => {
  const { keep: urls, more = 'code' } = event.data ?? {};
  if (!Array.isArray(urls)) return;
  const done = keep(
    urls.filter((url) => new URL(url).origin === location.origin),
    more,
  );
  event.waitUntil(done.finally(() => event.ports?.[0]?.postMessage(null)));
});

/**
 * These files, and those that their scripts name, as far as they may be fetched.
 * @param {string[]} urls
 * @param {'none' | 'code' | 'all'} more  none: only these; code: scripts and style sheets too; all: binaries too, which
 *   the page requests only when they are needed
 */
async function keep(urls, more) {
  const cache = await opened();
  const wanted = new Set(urls);
  const mayFetch = (url) =>
    urls.includes(url) || more === 'all' || (more === 'code' && /\.(?:js|css)$/.test(new URL(url).pathname));
  for (const url of wanted) {
    // grows while it is walked
    try {
      if (!(await cache.match(url)) && mayFetch(url)) await cache.add(url);
      if (!/\/assets\/[^/]+\.js$/.test(url)) continue;
      const text = await (await cache.match(url)).text();
      for (const [name] of text.matchAll(/[\w.-]+-[\w-]{8}\.(?:js|css|wasm)\b/g)) wanted.add(new URL(name, url).href);
    } catch {
      /* a name that is no file; what can be cached is cached */
    }
  }
  if (more === 'none') return; // not all names are known: another version's files stay until they are
  for (const { url } of await cache.keys()) if (url.includes('/assets/') && !wanted.has(url)) await cache.delete(url);
}

addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== location.origin || request.headers.has('range'))
    return;
  const answer =
    request.url.includes('/assets/') || request.destination === 'image'
      ? fromCacheFirst(request)
      : fromNetworkFirst(request);
  event.respondWith(answer.then((response) => isolated(request, response)));
});

async function fromCacheFirst(request) {
  return (await (await opened()).match(request, { ignoreVary: true })) ?? remember(request);
}

async function fromNetworkFirst(request) {
  try {
    return await remember(request);
  } catch (error) {
    const cached = await (await opened()).match(request, { ignoreSearch: true, ignoreVary: true });
    if (cached) return cached;
    if (await isMissing(request.url)) return new Response('', { status: 404 });
    throw error;
  }
}

/**
 * Whether this is a file that a model's folder may have and this one has not, such as generation_config.json: its
 * config.json is cached, and with it all that the library read of the folder.
 */
async function isMissing(url) {
  const beside = new URL('config.json', url).href;
  return (
    /\.(?:json|jinja)$/.test(new URL(url).pathname) && !!(await (await opened()).match(beside, { ignoreVary: true }))
  );
}

async function remember(request) {
  const response = await fetch(request);
  if (response.status === 200 && response.type === 'basic') {
    const copy = response.clone();
    const cache = await opened();
    cache.put(request, copy).catch(() => {}); // no room is no reason to fail
  }
  return response;
}
