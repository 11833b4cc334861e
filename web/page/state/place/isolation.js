// isolation.js - threads on hosts that send no isolation headers: the service worker adds them, when the visitor asks
import { keep, recall } from '../base/storage.js';

const NAME = 'glassformer-isolated';

/** The fewest processors with which a page uses several threads. */
const LEAST_CORES = 3;

/**
 * Whether the service worker adds the headers; null where there is nothing to choose: the host sends them, or they would
 * change nothing.
 * @returns {boolean | null}
 */
export function isolation() {
  if (recall(NAME)) return true;
  const canAdd = import.meta.env.PROD && 'serviceWorker' in navigator && isSecureContext;
  return canAdd && !crossOriginIsolated && navigator.hardwareConcurrency >= LEAST_CORES ? false : null;
}

/** Let the service worker add the headers, or no longer, and load the page again. @param {boolean} on */
export async function isolate(on) {
  keep(NAME, on ? 'on' : null);
  const worker = (await navigator.serviceWorker.ready).active;
  const { port1, port2 } = new MessageChannel();
  const done = new Promise((resolve) => port1.addEventListener('message', resolve, { once: true }));
  port1.start();
  worker?.postMessage({ isolate: on }, [port2]);
  await done;
  location.reload();
}
