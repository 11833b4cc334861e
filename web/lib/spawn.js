// spawn.js - makes a worker from the address of a file or from a text, in browsers and in Node

/**
 * A module worker, or a worker thread of Node. That it runs is known from its first message only.
 * @param {string} address  of its file
 * @param {string} name     for developer tools
 * @returns {Worker}
 */
export function spawn(address, name) {
  if (typeof Worker === 'undefined') return nodeWorker(address);
  if (address.startsWith('data:')) return spawnText(textOf(address), name); // its own worker would have an opaque origin and share no memory
  const origin = globalThis.location?.origin;
  if (/^https?:/.test(address) && origin !== undefined && new URL(address).origin !== origin) { // a page may start workers of its own origin only
    return spawnText(`import ${JSON.stringify(address)};`, name);
  }
  return new Worker(address, { type: 'module', name });
}

/** What a bundler has inlined. @param {string} address  data: */
function textOf(address) {
  const [head, body] = [address.slice(0, address.indexOf(',')), address.slice(address.indexOf(',') + 1)];
  if (!/;base64$/i.test(head)) return decodeURIComponent(body);
  return new TextDecoder().decode(Uint8Array.from(atob(body), (c) => c.charCodeAt(0)));
}

/**
 * A worker whose script is a text.
 * @param {string} text
 * @param {string} name
 * @returns {Worker}
 */
export function spawnText(text, name) {
  if (typeof Worker === 'undefined') return nodeWorker(text, true);
  const address = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const worker = new Worker(address, { type: 'module', name });
  const revoke = () => URL.revokeObjectURL(address);
  worker.addEventListener('message', revoke, { once: true });
  worker.addEventListener('error', revoke, { once: true });
  return worker;
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
  return /** @type {any} */ ({
    postMessage: thread.postMessage.bind(thread),
    terminate: () => thread.terminate(),
    addEventListener: (/** @type {string} */ name, /** @type {(event: any) => void} */ listener) => thread.on(name, (/** @type {any} */ value) =>
      listener(name === 'message' ? { data: value } : name === 'exit' ? { message: `it ended with exit code ${value}` } : value)),
    removeEventListener: () => {},
  });
}
