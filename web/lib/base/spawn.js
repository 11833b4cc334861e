// spawn.js - makes a worker from the address of a file or from a text, in browsers and in Node

/**
 * A worker, or a worker thread of Node. That it runs is known from its first message only.
 * @param {string} address  of its file
 * @param {string} name     for developer tools
 * @param {boolean} [own]   the file is the package's, a script without imports; another may be a module
 * @returns {Worker}
 */
export function spawn(address, name, own = true) {
  if (typeof Worker === 'undefined') return nodeWorker(address);
  // a worker from a data: address has an opaque origin and cannot share memory
  if (address.startsWith('data:')) return spawnText(textOf(address), name);
  const { origin, crossOriginIsolated } = globalThis; // of a sandboxed frame: 'null', unlike location.origin
  if (/^https?:/.test(address) && origin !== undefined && new URL(address).origin !== origin) {
    // a page may start workers of its own origin only
    const text = JSON.stringify(address);
    // import needs CORS headers. importScripts needs none, but an isolated page asks it for
    // Cross-Origin-Resource-Policy, which fewer servers send
    return own && !crossOriginIsolated
      ? spawnText(`importScripts(${text});`, name, 'classic')
      : spawnText(`import ${text};`, name);
  }
  return new Worker(address, { type: 'module', name });
}

/**
 * The text of a worker file that a bundler has inlined.
 * @param {string} address data:
 */
function textOf(address) {
  const [head, body] = [address.slice(0, address.indexOf(',')), address.slice(address.indexOf(',') + 1)];
  if (!/;base64$/i.test(head)) return decodeURIComponent(body);
  return new TextDecoder().decode(Uint8Array.from(atob(body), (c) => c.charCodeAt(0)));
}

/**
 * Addresses by text, never revoked: the worker's helper threads start from them, and so do later workers.
 * @type {Map<string, string>}
 */
const blobs = new Map();

/**
 * A worker whose script is a text.
 * @param {string} text
 * @param {string} name
 * @param {WorkerType} [type] Chromium starts no module worker from a Blob where the origin is opaque: in a sandboxed
 *   frame, in a page from a file
 * @returns {Worker}
 */
export function spawnText(text, name, type = globalThis.origin === 'null' ? 'classic' : 'module') {
  if (typeof Worker === 'undefined') return nodeWorker(text, true);
  let address = blobs.get(text);
  if (address === undefined) {
    address = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    blobs.set(text, address);
  }
  return new Worker(address, { type, name });
}

/**
 * A worker thread of Node behind the interface of a Web Worker.
 * @param {string} code  address of its file; a path or a file: URL
 * @param {boolean} [isText]  code is its text
 * @returns {Worker}
 */
function nodeWorker(code, isText = false) {
  const threads = /** @type {any} */ (globalThis.process).getBuiltinModule('node:worker_threads');
  const file = isText || !code.startsWith('file:') ? code : new URL(code);
  const thread = new threads.Worker(file, { eval: isText, execArgv: [] }); // flags such as --input-type are the program's own
  // Node leaves files open that a thread was importing when it was ended: a thread is ended once it has answered.
  let answered = false;
  let ended = false;
  thread.once('message', () => {
    answered = true;
    if (ended) thread.terminate();
  });
  return /** @type {any} */ ({
    postMessage: thread.postMessage.bind(thread),
    terminate: () => {
      ended = true;
      if (answered) thread.terminate();
      else thread.unref();
    },
    addEventListener: (/** @type {string} */ name, /** @type {(event: any) => void} */ listener) =>
      thread.on(name, (/** @type {any} */ value) =>
        listener(
          name === 'message'
            ? { data: value }
            : name === 'exit'
              ? { message: `it ended with exit code ${value}` }
              : value,
        ),
      ),
    removeEventListener: () => {},
  });
}
