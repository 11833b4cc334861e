// failed_request.js - why a request got no answer, as far as a browser lets a page find out

/**
 * What follows "the request failed" in a message: a device without a network, and a server whose answers pages of this
 * origin may not read. Both reject `fetch` with the same TypeError.
 * @param {string | URL} url
 * @param {unknown} error  of `fetch`
 * @param {AbortSignal} [signal]
 * @returns {Promise<string>} '' where nothing more is known
 */
export async function reasonOf(url, error, signal) {
  const { navigator, origin, location, fetch } = globalThis;
  if (!(error instanceof TypeError) || !location) return '';
  if (navigator?.onLine === false) return ': this device is offline';
  try {
    if (new URL(url, location.href).origin === origin) return '';
  } catch {
    return ''; // no address
  }
  // An answer that nobody may read shows that the server is there.
  const answers = await fetch(url, { mode: 'no-cors', method: 'HEAD', signal }).then(
    () => true,
    () => false,
  );
  return answers
    ? `: the server answers, but without Access-Control-Allow-Origin, so that pages of ${origin} may not read it`
    : '';
}
