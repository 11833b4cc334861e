// spawn.js - creates a worker from the address of a file or from a text, in browsers and in Node

/**
 * Creates a worker (in Node a worker thread). Only its first message shows that it has started.
 * @param {string} address  of its file
 * @param {string} name     for developer tools
 * @param {boolean} [own]   whether the file is the package's, a script without imports; a caller's file may be a module
 * @param {WorkerType} [type]
 * @returns {Worker}
 */
export function spawn(address, name, own = true, type = 'module') {
  if (typeof Worker === 'undefined') return nodeWorker(address);
  // a worker from a data: address has an opaque origin and cannot share memory
  if (address.startsWith('data:')) return spawnText(textOf(address), name);
  const { origin, crossOriginIsolated } = globalThis; // globalThis.origin is 'null' in a sandboxed frame
  // A page can start workers of its own origin only: a file of another origin is imported by a worker from a text.
  if (/^https?:/.test(address) && origin !== undefined && new URL(address).origin !== origin) {
    const text = JSON.stringify(address);
    // `import` needs CORS headers. `importScripts` needs none, but in an isolated page it needs the header
    // Cross-Origin-Resource-Policy, which fewer servers send.
    return own && !crossOriginIsolated
      ? spawnText(`importScripts(${text});`, name, 'classic')
      : spawnText(`import ${text};`, name);
  }
  return new Worker(address, { type, name });
}

/**
 * The type of the worker that calls this function: bundlers also make classic scripts of a caller's module. Where the
 * type is module, importScripts throws a TypeError before it reads the address; Node has no such function.
 * @returns {WorkerType}
 */
export function ownType() {
  try {
    /** @type {any} */ (globalThis).importScripts('http://[');
  } catch (error) {
    if (error instanceof TypeError) return 'module';
  }
  return 'classic';
}

/**
 * The text of a worker file that a bundler has inlined as a data: address.
 * @param {string} address
 */
function textOf(address) {
  const [head, body] = [address.slice(0, address.indexOf(',')), address.slice(address.indexOf(',') + 1)];
  if (!/;base64$/i.test(head)) return decodeURIComponent(body);
  return new TextDecoder().decode(Uint8Array.from(atob(body), (c) => c.charCodeAt(0)));
}

/**
 * Blob addresses by text. They are never revoked, because helper threads and later workers start from them too.
 * @type {Map<string, string>}
 */
const blobs = new Map();

/**
 * Creates a worker whose script is a text.
 * @param {string} text
 * @param {string} name  for developer tools
 * @param {WorkerType} [type] classic where the origin is opaque (a sandboxed frame, a page from a file), because
 *   Chromium starts no module worker from a Blob there
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
 * Creates a worker thread of Node with the interface of a Web Worker.
 * @param {string} code  a path, a file: URL, or the text of the script
 * @param {boolean} [isText]  whether `code` is the text
 * @returns {Worker}
 */
function nodeWorker(code, isText = false) {
  const threads = /** @type {any} */ (globalThis.process).getBuiltinModule('node:worker_threads');
  const file = isText || !code.startsWith('file:') ? code : new URL(code);
  // No execArgv: flags of the program such as --input-type would break the worker.
  const thread = new threads.Worker(file, { eval: isText, execArgv: [] });
  // A thread is terminated after its first message only: Node leaks the files that a thread was importing when it
  // ended.
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
    ref: () => thread.ref(),
    unref: () => thread.unref(),
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
