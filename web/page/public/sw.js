// sw.js - lets the page open again without a network: what the page has used once is kept.
//
// Files under assets/ carry their content in their name and never change; everything else is asked for first and taken
// from the cache when nobody answers.

const CACHE = 'glassformer';
const ON_DEMAND = /^glassformer-train-/; // not fetched before somebody trains

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));

// The page was there before its service worker: it says what it has loaded.
addEventListener('message', (event) => {
  if (!Array.isArray(event.data?.keep)) return;
  event.waitUntil(keep(event.data.keep.filter((url) => new URL(url).origin === location.origin)));
});

/** These files, and those that their scripts name: the engine is fetched by a worker, which nobody here can watch. */
async function keep(urls) {
  const cache = await caches.open(CACHE);
  const wanted = new Set(urls);
  for (const url of wanted) {
    // grows while it is walked
    try {
      if (!(await cache.match(url))) await cache.add(url);
      if (!/\/assets\/[^/]+\.js$/.test(url)) continue;
      const text = await (await cache.match(url)).text();
      for (const [name] of text.matchAll(/[\w.-]+-[\w-]{8}\.(?:js|wasm)\b/g)) {
        const named = new URL(name, url).href;
        if (!ON_DEMAND.test(name) || (await cache.match(named))) wanted.add(named);
      }
    } catch {
      /* a name that is no file; what can be kept is kept */
    }
  }
  for (const { url } of await cache.keys()) if (url.includes('/assets/') && !wanted.has(url)) await cache.delete(url);
}

addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== location.origin || request.headers.has('range'))
    return;
  event.respondWith(
    request.url.includes('/assets/') || request.destination === 'image'
      ? fromCacheFirst(request)
      : fromNetworkFirst(request),
  );
});

async function fromCacheFirst(request) {
  return (await caches.match(request, { ignoreVary: true })) ?? remember(request);
}

async function fromNetworkFirst(request) {
  try {
    return await remember(request);
  } catch (error) {
    const kept = await caches.match(request, { ignoreSearch: true, ignoreVary: true });
    if (kept) return kept;
    throw error;
  }
}

async function remember(request) {
  const response = await fetch(request);
  if (response.status === 200 && response.type === 'basic') {
    const copy = response.clone();
    const cache = await caches.open(CACHE);
    cache.put(request, copy).catch(() => {}); // no room is no reason to fail
  }
  return response;
}
