// binary.js - chooses, fetches and compiles the WebAssembly binaries
//
// The caller's side compiles and posts the module to its worker. A second model then needs no second download, and
// workers need no addresses.
import { chooseBackend } from './wasm_features.js';
import { GlassformerError, fail, show } from '../base/errors.js';

/** @typedef {string | URL | Blob | ArrayBuffer | Uint8Array | Response | WebAssembly.Module} Wasm */
/** @typedef {'simd'|'simd-threads'|'relaxed'|'relaxed-threads'|'train'|'train-threads'} Binary */
/**
 * Where the binaries of the package are: their addresses (null: none), and copies as bytes (null: none), of those with
 * one thread.
 * @typedef {{addressOf: (file: Binary) => string | null,
 *   embeddedBinary: (name: 'simd'|'relaxed'|'train') => Promise<ArrayBuffer | null>}} BinaryFiles
 */

/**
 * Compiled modules by address. A module that failed is removed.
 * @type {Map<string, Promise<WebAssembly.Module>>}
 */
const compiled = new Map();

/**
 * The compiled binary for this machine, or the one that the caller supplies as `wasm`. When a binary does not compile
 * although the probes of wasm_features.js passed, another replaces it: SIMD instead of relaxed SIMD, one thread
 * instead of several.
 * @param {BinaryFiles} files
 * @param {{backend?: 'auto'|'simd'|'relaxed', threaded?: boolean, wasm?: Wasm, warnings?: string[]}} [options]
 *   threaded: whether to use the binary with threads; warnings: a sentence for each replacement is appended
 * @returns {Promise<WebAssembly.Module>}
 */
export async function engineModule(files, { backend, threaded = false, wasm, warnings = [] } = {}) {
  const choice = chooseBackend(backend); // throws before anything is fetched
  if (wasm) return compileSupplied(wasm);
  const kinds = choice === 'relaxed' && backend !== 'relaxed' ? /** @type {const} */ (['relaxed', 'simd']) : [choice];
  const candidates = [
    ...(threaded ? kinds.map((kind) => ({ kind, file: /** @type {const} */ (`${kind}-threads`) })) : []),
    ...kinds.map((kind) => ({ kind, file: kind })),
  ];
  for (const [i, { kind, file }] of candidates.entries()) {
    try {
      return await compilePackaged(files, file, kind);
    } catch (error) {
      if (!(error instanceof GlassformerError && error.cause instanceof WebAssembly.CompileError)) throw error;
      const { message, cause } = error;
      if (i + 1 < candidates.length)
        warnings.push(`the binary ${file} does not compile here, ${candidates[i + 1].file} replaces it (${message})`);
      else if (backend === 'relaxed')
        fail('bad-wasm', `backend relaxed was requested, but its binary does not compile here: ${message}`, cause);
      else throw error;
    }
  }
  throw new Error('unreachable');
}

/**
 * The compiled binary that trains.
 * @param {BinaryFiles} files
 * @param {'train'|'train-threads'} [file]
 * @returns {Promise<WebAssembly.Module>}
 */
export async function trainerModule(files, file = 'train') {
  chooseBackend();
  return compilePackaged(files, file, 'train');
}

/**
 * Compiles the binary that the caller supplies.
 * @param {Wasm} wasm
 * @returns {Promise<WebAssembly.Module>}
 */
async function compileSupplied(wasm) {
  if (wasm instanceof WebAssembly.Module) return wasm;
  return typeof wasm === 'string' || wasm instanceof URL
    ? compileAddress(String(wasm))
    : compile(wasm, 'the bytes given as wasm');
}

/**
 * Compiles a binary of the package: from its address, or from the embedded copy where the file cannot be fetched.
 * @param {BinaryFiles} files
 * @param {Binary} file
 * @param {'simd'|'relaxed'|'train'} copy  name of the embedded copy
 * @returns {Promise<WebAssembly.Module>}
 */
async function compilePackaged(files, file, copy) {
  const address = files.addressOf(file);
  /** @type {unknown} */
  let cause;
  if (address !== null) {
    try {
      return await compileAddress(address);
    } catch (error) {
      if (!(error instanceof GlassformerError && ['not-found', 'html', 'network'].includes(error.code))) throw error;
      cause = error;
    }
  }
  const key = `embedded ${copy}`;
  const cached = compiled.get(key);
  if (cached) return cached;
  const bytes = await files.embeddedBinary(copy);
  if (bytes === null)
    throw (
      cause ??
      new GlassformerError('not-found', `cannot tell where to load ${file} from: pass its bytes in the option wasm`)
    );
  const module = compile(bytes, `the embedded copy of ${copy}`);
  compiled.set(key, module);
  return module;
}

/**
 * Compiles the file at an address, once.
 * @param {string} address
 * @returns {Promise<WebAssembly.Module>}
 */
function compileAddress(address) {
  let module = compiled.get(address);
  if (!module) {
    module = fetchAndCompile(address);
    compiled.set(address, module);
    module.catch(() => compiled.delete(address));
  }
  return module;
}

/**
 * Fetches and compiles the file at an address.
 * @param {string} address  a URL; in Node also a path
 * @returns {Promise<WebAssembly.Module>}
 */
async function fetchAndCompile(address) {
  // Node's fetch refuses file: addresses. getBuiltinModule, because bundlers for browsers would not find an import.
  const fs = globalThis.process?.getBuiltinModule?.('node:fs/promises');
  if (fs && !/^(https?|data|blob):/.test(address)) {
    const bytes = await fs.readFile(address.startsWith('file:') ? new URL(address) : address).catch((error) => {
      fail(
        'not-found',
        `${address}: the engine's WebAssembly file could not be read (${error.code ?? error.message})`,
        error,
      );
    });
    return compile(bytes, address);
  }
  const response = await fetch(address).catch((error) => {
    fail('network', `${address}: the engine's WebAssembly file could not be fetched (${error.message})`, error);
  });
  return compile(response, address);
}

/**
 * Compiles bytes or a response. Anything else than WebAssembly is refused.
 * @param {Blob | ArrayBuffer | Uint8Array | Response} source
 * @param {string} where  its name, for messages
 * @returns {Promise<WebAssembly.Module>}
 */
async function compile(source, where) {
  /** @type {Uint8Array<ArrayBuffer>} */
  let bytes;
  if (source instanceof Response) {
    where = source.url || where;
    if (!source.ok)
      fail(
        source.status === 404 ? 'not-found' : 'network',
        `${where}: the engine's WebAssembly file answered with status ${source.status}`,
      );
    const type = source.headers.get('content-type') ?? '';
    if (type.startsWith('application/wasm')) {
      return WebAssembly.compileStreaming(source).catch((error) => refuse(where, error.message, error));
    }
    bytes = new Uint8Array(await source.arrayBuffer()); // compileStreaming needs a type, which many servers do not send
  } else {
    bytes = new Uint8Array(source instanceof Blob ? await source.arrayBuffer() : /** @type {ArrayBuffer} */ (source));
  }
  if (bytes[0] !== 0 || bytes[1] !== 97 || bytes[2] !== 115 || bytes[3] !== 109) {
    const start = new TextDecoder().decode(bytes.subarray(0, 64)).trimStart();
    if (start.startsWith('<')) {
      fail(
        'html',
        `${where}: a web page (it begins with ${show(start.slice(0, 20))}) instead of the engine's WebAssembly file; ` +
          'is the file deployed at this address?',
      );
    }
    refuse(where, `it begins with ${show(start.slice(0, 8))} and not with \\0asm`);
  }
  return WebAssembly.compile(bytes).catch((error) => refuse(where, error.message, error));
}

/**
 * Throws the error for a file that does not compile.
 * @param {string} where  its name
 * @param {string} why
 * @param {unknown} [cause]
 * @returns {never}
 */
function refuse(where, why, cause) {
  if (/content security policy|\bCSP\b|unsafe-eval/i.test(why)) {
    fail(
      'blocked',
      `${where}: the page's Content-Security-Policy forbids WebAssembly; ` +
        `add 'wasm-unsafe-eval' to its script-src (${why})`,
      cause,
    );
  }
  fail('bad-wasm', `${where}: not a WebAssembly file that runs here: ${why}`, cause);
}
