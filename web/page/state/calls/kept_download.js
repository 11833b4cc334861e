// kept_download.js - a fetch that keeps what it fetched in the browser's cache, and tells how much has come
const CACHE = 'glassformer-dictionaries';

/** The cache, where the browser has one. */
async function store() {
  try {
    return await caches.open(CACHE);
  } catch {
    return null; // site data is blocked, or the page is not secure
  }
}

/**
 * @param {(bytes: number) => void} onBytes  all that have come
 * @param {(bytes: ArrayBuffer, url: string) => void} [onFile]
 * @returns {typeof fetch}
 */
export const keptFetch = (onBytes, onFile) => {
  let loaded = 0;
  return async (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    const kept = await store();
    const found = await kept?.match(url);
    const response = found ?? (await fetch(input, init));
    if (!response.ok || !response.body) return response;
    /** @type {Uint8Array<ArrayBuffer>[]} */
    const parts = [];
    for (const reader = response.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(/** @type {Uint8Array<ArrayBuffer>} */ (value));
      onBytes((loaded += value.length));
    }
    const file = new Blob(parts);
    const isFile = !/^text\/html/.test(response.headers.get('content-type') ?? ''); // not the page of a portal
    if (!found && isFile) await kept?.put(url, new Response(file)).catch(() => {}); // it is full: fetched again then
    if (onFile) onFile(await file.arrayBuffer(), url);
    return new Response(file, { headers: { 'content-length': String(file.size) } });
  };
};

/** SHA-256 in hex; '' where the page is not secure. @param {BufferSource} bytes */
export async function sha256Of(bytes) {
  if (!globalThis.crypto?.subtle) return '';
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
