// source.js - opens a checkpoint from files, addresses, folders or the Hugging Face hub
//
// openCheckpoint reads headers, configuration and tokenizer; `stream` then delivers the bytes of every tensor once, in
// file order, and keeps none. GGUF is the common format in pages; the readers of other formats are loaded when such a
// file is opened.
import { BLOCKS } from '../base/blocks.js';
import { ByteReader, END } from './bytes.js';
import { chatTemplate } from './chat_template.js';
import { GlassformerError, fail, messageOf, show } from '../base/errors.js';
import { checkedResponse, isBytes, failNotASource } from '../base/values.js';
import { ggufModel, readGguf } from './gguf.js';
import { planTensors } from './plan.js';
import { pieceModels } from './tokenizer_json.js';
import { ggufTokenizer } from './vocab.js';

/** @typedef {import('./config.js').Config} Config */
/** @typedef {import('./plan.js').TensorSource} TensorSource */
/** @typedef {string | URL | Blob | ArrayBuffer | Uint8Array} Bytes */
/** @typedef {{weights: Bytes | Bytes[], config?: Bytes | object, tokenizer?: Bytes | object}} Parts */
/** @typedef {Bytes | Parts | ArrayLike<File>} Source */
/**
 * @typedef {{bos: number | null, eos: number[], addBos: boolean, texts?: {bos_token?: string, eos_token?: string}}}
 *   Special texts: where the tokenizer names them itself
 */
/**
 * @typedef {object} OpenOptions
 * @property {typeof globalThis.fetch} [fetch]
 * @property {AbortSignal} [signal]
 * @property {boolean} [trusted]  the length of a body is reliable, as with the platform's own fetch
 * @property {(loaded: number, total: number | null) => void} [onBytes] weight files only
 * @property {string} [hfEndpoint] instead of https://huggingface.co (or $HF_ENDPOINT in Node)
 */
/**
 * Receives the tensors. A view is valid until the promise of write settles (or write returns), and ends on a whole
 * block of the tensor's dtype.
 * @typedef {object} TensorSink
 * @property {(tensor: TensorSource) => void | Promise<void>} begin
 * @property {(view: Uint8Array) => void | Promise<void>} write
 * @property {(tensor: TensorSource) => void | Promise<void>} end
 */
/**
 * @typedef {object} Checkpoint
 * @property {Config} config           complete and checked
 * @property {object | null} tokenizer in the form of a tokenizer.json
 * @property {string | null} chatTemplate
 * @property {Special} special
 * @property {string[]} warnings
 * @property {'gguf' | 'safetensors' | 'llama2c'} format
 * @property {TensorSource[]} tensors  in the order of stream; every roster name is covered exactly once
 * @property {number | null} totalBytes of the weight files
 * @property {(sink: TensorSink) => Promise<void>} stream
 * @property {() => void} close        to be called when the stream is not read to its end
 */

/** Longest JSON file that is read into memory. */
const MAX_JSON = 1 << 28;

/**
 * @param {Source} source
 * @param {OpenOptions} [options]
 * @returns {Promise<Checkpoint>}
 */
export async function openCheckpoint(source, options = {}) {
  options.signal?.throwIfAborted();
  const opener = new Opener(options);
  try {
    return await opener.checkpoint(source);
  } catch (e) {
    opener.close();
    throw e;
  }
}

/**
 * A tokenizer alone: tokenizer.json, a GGUF's vocabulary, llama2.c's tokenizer.bin.
 * @param {Bytes | object} source
 * @param {OpenOptions} [options]
 * @returns {Promise<object>} shaped like a tokenizer.json
 */
export async function openTokenizer(source, options = {}) {
  const opener = new Opener(options);
  try {
    return (await opener.tokenizer(source)).json;
  } finally {
    opener.close();
  }
}

/** Opens the files of one call: its fetch, signal, progress and warnings. */
export class Opener {
  /** @param {OpenOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {Set<ByteReader>} */
    this.open = new Set();
    /** @type {string[]} */
    this.warnings = [];
    this.loaded = 0;
    /** @type {number | null} */
    this.total = 0;
  }

  close() {
    for (const r of this.open) r.close();
  }

  /**
   * @param {Source} source
   * @returns {Promise<Checkpoint>}
   */
  async checkpoint(source) {
    if (source === '') fail('bad-argument', 'the address is empty');
    if (isBytes(source)) {
      const folder = await this.asFolder(source);
      return folder ? this.folder(folder, {}) : this.weights([this.resolve(source)], {});
    }
    if (isFileList(source)) return this.folder(fileFolder(source), {});
    if (source === null || typeof source !== 'object' || !('weights' in source)) {
      return failNotASource(source);
    }
    const { weights, config, tokenizer } = /** @type {Parts} */ (source);
    if (Array.isArray(weights)) {
      if (!weights.length || !weights.every(isBytes)) fail('bad-argument', 'weights: expected one or more files');
      return this.weights(
        weights.map((w) => this.resolve(w)),
        { config, tokenizer },
      );
    }
    if (!isBytes(weights))
      return fail('bad-argument', `weights: expected an address, a path or bytes, found ${show(weights)}`);
    const folder = await this.asFolder(weights);
    return folder
      ? this.folder(folder, { config, tokenizer })
      : this.weights([this.resolve(weights)], { config, tokenizer });
  }

  /**
   * hf:owner/name[@revision][/file] as an address; anything else as it is.
   * @param {Bytes} b
   * @returns {Bytes}
   */
  resolve(b) {
    if (typeof b !== 'string' || !b.startsWith('hf:')) return b;
    const m = /^hf:([\w.-]+)\/([\w.-]+)(?:@([^/]+))?(?:\/(.*))?$/.exec(b);
    if (!m)
      return fail(
        'bad-argument',
        `${show(b)}: expected hf:owner/name, hf:owner/name@revision or hf:owner/name/file.gguf`,
      );
    const [, owner, name, revision = 'main', file = ''] = m;
    const base = this.options.hfEndpoint ?? globalThis.process?.env?.HF_ENDPOINT ?? 'https://huggingface.co';
    const path = file.split('/').map(encodeURIComponent).join('/');
    return `${base.replace(/\/$/, '')}/${owner}/${name}/resolve/${encodeURIComponent(revision.replace(/%2F/gi, '/'))}/${path}`;
  }

  /**
   * The folder that bytes name, or null when they are a file.
   * @param {Bytes} b
   * @returns {Promise<Folder | null>}
   */
  async asFolder(b) {
    const at = this.resolve(b);
    if (typeof at !== 'string' && !(at instanceof URL)) return null;
    const path = localPath(at);
    if (path !== null) return (await import('./node_files.js')).folderAt(path);
    const text = String(at);
    return text.endsWith('/') ? { name: text, get: (file) => text + file, list: async () => [] } : null;
  }

  /**
   * @param {Folder} folder
   * @param {{config?: Bytes | object, tokenizer?: Bytes | object}} given
   * @returns {Promise<Checkpoint>}
   */
  async folder(folder, given) {
    return (await import('./folder.js')).openFolder(this, folder, given);
  }

  /**
   * @param {(Bytes | ByteReader)[]} files
   * @param {{config?: Bytes | object, tokenizer?: Bytes | object}} given
   * @param {Record<string, string>} [map] of a sharded checkpoint: file by tensor
   * @returns {Promise<Checkpoint>}
   */
  async weights(files, given, map = {}) {
    const first = files[0] instanceof ByteReader ? files[0] : await this.reader(files[0], true);
    const format = await detect(first, given.config !== undefined);
    if (format !== 'safetensors') {
      if (files.length > 1) fail('unsupported', `${first.name}: only safetensors may come in several files`);
      if (given.config !== undefined)
        this.warnings.push(`${first.name}: brings its own configuration, the given one was not used`);
    }
    const read =
      format === 'gguf'
        ? this.gguf(first)
        : format === 'llama2c'
          ? this.llama2c(first)
          : (await import('./folder.js')).openSafetensors(this, first, files, given, map);
    const { readers, padding = 0, tokenizer: own, ...model } = await read;
    const other = given.tokenizer === undefined ? own : (await this.tokenizer(given.tokenizer)).json;
    if (other) checkVocabulary(other, model.config.vocab_size);
    return {
      ...model,
      tokenizer: other ?? null,
      warnings: this.warnings,
      format,
      totalBytes: this.total,
      stream: (sink) => this.stream(model.tensors, readers, padding, sink),
      close: () => this.close(),
    };
  }

  /**
   * @param {ByteReader} r
   * @returns {Promise<Parsed>}
   */
  async gguf(r) {
    const gguf = await readGguf(r, 0);
    const table = gguf.entries.find(({ name }) => name === 'rope_freqs.weight');
    const scaling = table && (await (await import('./rope_freqs.js')).ropeFreqs(r, table, gguf.meta));
    const { config, places, isBuffer } = ggufModel(r.name, gguf, this.warnings, scaling);
    const tensors = planTensors(config, gguf.entries, places, isBuffer, [r.name], this.warnings);
    const vocab = await ggufTokenizer(r.name, gguf.meta);
    return {
      config,
      tensors,
      tokenizer: vocab?.json,
      special: vocab?.special ?? { bos: null, eos: [], addBos: false },
      chatTemplate: chatTemplate(gguf.meta.get('tokenizer.chat_template')),
      readers: [async () => r],
      padding: gguf.padding,
    };
  }

  /**
   * @param {ByteReader} r
   * @returns {Promise<Parsed>}
   */
  async llama2c(r) {
    const { readLlama2c } = await import('./llama2c.js');
    const { config, tensors } = await readLlama2c(r, this.warnings);
    return {
      config,
      tensors,
      special: { bos: 1, eos: [1, 2], addBos: true },
      chatTemplate: null,
      readers: [async () => r],
    };
  }

  /**
   * @param {TensorSource[]} tensors
   * @param {(() => Promise<ByteReader>)[]} readers
   * @param {number} padding bytes that may follow the last tensor
   * @param {TensorSink} sink
   */
  async stream(tensors, readers, padding, sink) {
    try {
      for (const [i, get] of readers.entries()) {
        const r = await get();
        if (r.done && r.ready === 0 && r.total !== r.pos) fail('bad-state', `${r.name}: was read already`);
        for (const t of tensors) {
          if (t.file !== i) continue;
          await r.skip(t.offset - r.pos);
          if (!t.covers.length) {
            await r.skip(t.bytes, t.name);
            continue;
          }
          await sink.begin(t);
          if (t.int8) await (await import('./llama2c.js')).pipeInt8(r, t, (view) => sink.write(view));
          else await r.pipe(t.bytes, (view) => sink.write(view), BLOCKS[t.dtype][1], t.name);
          await sink.end(t);
        }
        await r.skip((await r.peek(padding)).length);
        await r.end();
        this.drop(r);
      }
    } finally {
      this.close();
    }
  }

  /**
   * @param {Bytes | object} source
   * @returns {Promise<{json: object}>}
   */
  async tokenizer(source) {
    if (!isBytes(source)) {
      if (source === null || typeof source !== 'object' || Array.isArray(source))
        fail('bad-argument', `tokenizer: expected a file or an object, found ${show(source)}`);
      return { json: source };
    }
    const r = await this.reader(this.resolve(source));
    const head = await r.peek(4);
    const text = new TextDecoder('latin1').decode(head);
    if (text === 'GGUF') {
      const { meta } = await readGguf(r, 0);
      this.drop(r);
      return (await ggufTokenizer(r.name, meta)) ?? fail('bad-tokenizer', `${r.name}: the file has no vocabulary`);
    }
    const bytes = await this.readAll(r);
    if (/^\s*[{[]/.test(text)) return { json: parseJson(bytes, r.name) };
    return { json: (await import('./llama2c.js')).llama2cTokenizer(r.name, bytes) };
  }

  /**
   * A file that must be there, as a reader.
   * @param {Bytes} source
   * @param {boolean} [counts] for the progress
   * @param {boolean} [first] not a reopening
   * @returns {Promise<ByteReader>}
   */
  async reader(source, counts = false, first = true) {
    const { signal } = this.options;
    const { name, chunks, total, exact = true, sure } = await openBytes(source, this.options);
    const onBytes = counts
      ? (/** @type {number} */ n) => {
          this.loaded += n;
          this.options.onBytes?.(this.loaded, this.total);
        }
      : undefined;
    if (counts && first && this.total !== null) this.total = total === null ? null : this.total + total;
    const r = new ByteReader(chunks, { name, total: exact ? total : null, sure, onBytes, signal });
    this.open.add(r);
    const head = new TextDecoder('latin1')
      .decode(await r.peek(64))
      .trimStart()
      .toLowerCase();
    if (/^(<!doctype html|<html|<head|<!--)/.test(head)) notAModel(name);
    if (head.startsWith('version https://git-lfs'))
      fail('bad-file', `${name}: this is a Git LFS pointer, not the file`);
    return r;
  }

  /** @param {ByteReader} r */
  drop(r) {
    r.close();
    this.open.delete(r);
  }

  /**
   * The same, or null where there is no such file (some servers answer every address with their start page).
   * @param {Bytes | null} source
   * @param {boolean} [counts]
   * @returns {Promise<ByteReader | null>}
   */
  async maybe(source, counts) {
    if (source === null) return null;
    try {
      return await this.reader(source, counts);
    } catch (e) {
      if (e instanceof GlassformerError && (e.code === 'not-found' || e.code === 'html')) return null;
      throw e;
    }
  }

  /**
   * @param {ByteReader} r
   * @returns {Promise<Uint8Array>}
   */
  async readAll(r) {
    const parts = [];
    let size = 0;
    for (;;) {
      const view = r.ready ? r.takeReady(r.ready) : await r.next();
      if (!view) break;
      parts.push(view);
      size += view.length;
      if (size > MAX_JSON) fail('bad-file', `${r.name}: larger than ${MAX_JSON} bytes`);
    }
    this.drop(r);
    const out = new Uint8Array(size);
    let at = 0;
    for (const p of parts) {
      out.set(p, at);
      at += p.length;
    }
    return out;
  }

  /**
   * @param {Bytes} source
   * @returns {Promise<any>}
   */
  async json(source) {
    const r = await this.reader(this.resolve(source));
    return parseJson(await this.readAll(r), r.name);
  }

  /**
   * @param {Bytes | null} source
   * @returns {Promise<any>}
   */
  async maybeJson(source) {
    const r = await this.maybe(source);
    return r && parseJson(await this.readAll(r), r.name);
  }

  /**
   * @param {Bytes | null} source
   * @returns {Promise<string | null>}
   */
  async maybeText(source) {
    const r = await this.maybe(source);
    return r && new TextDecoder().decode(await this.readAll(r));
  }
}

/**
 * @typedef {object} Parsed
 * @property {Config} config
 * @property {TensorSource[]} tensors
 * @property {Special} special
 * @property {string | null} chatTemplate
 * @property {object} [tokenizer]
 * @property {(() => Promise<ByteReader>)[]} readers  one per file
 * @property {number} [padding]
 */
/** @typedef {{name: string, get: (file: string) => Bytes | null, list: () => Promise<string[]>}} Folder */

/**
 * Throw when the tokenizer has ids for which the embedding has no row.
 * @param {any} json
 * @param {number} vocabSize
 */
function checkVocabulary(json, vocabSize) {
  const vocab = pieceModels.has(json.model) ? { last: json.model.texts.length - 1 } : json.model?.vocab;
  const ids = [
    ...(Array.isArray(vocab) ? vocab.keys() : Object.values(vocab ?? {})),
    ...[json.added_tokens ?? []].flat().map((t) => t?.id),
  ];
  const most = ids.reduce((m, id) => (typeof id === 'number' && id > m ? id : m), -1);
  if (most >= vocabSize)
    fail('bad-tokenizer', `the tokenizer knows the id ${most}, the model has only ${vocabSize} tokens`);
}

/**
 * @param {unknown} v
 * @returns {v is ArrayLike<File>}
 */
function isFileList(v) {
  return (
    v !== null &&
    typeof v === 'object' &&
    'length' in v &&
    Array.from(/** @type {ArrayLike<unknown>} */ (v)).every((f) => f instanceof Blob)
  );
}

/**
 * The files of a file input or of a drop.
 * @param {ArrayLike<File>} files
 * @returns {Folder}
 */
function fileFolder(files) {
  const byName = new Map(Array.from(files).map((f) => [f.name, f]));
  return {
    name: 'the files given',
    get: (file) => byName.get(file) ?? null,
    list: async () => [...byName.keys()].filter((name) => typeof name === 'string'),
  }; // a Blob has no name
}

/** "ak42" as the little-endian number that it is written as. */
const LLAMA2C_MAGIC = 0x616b3432;
/** The first bytes of older torch.save files: pickle, protocol 2, a number of ten bytes. */
const PICKLE_MAGIC = 0x0a8a0280;

/**
 * Whether a file without a name could begin with the seven sizes of llama2.c's first version.
 * @param {DataView} v
 */
function plausibleV0(v) {
  if (v.byteLength < 28) return false;
  const [d, ff, layers, heads, kv, vocab, context] = Array.from({ length: 7 }, (_, i) => v.getInt32(4 * i, true));
  return (
    [d, ff, layers, heads, kv, Math.abs(vocab), context].every((n) => n > 0 && n < 1 << 24) &&
    d % heads === 0 &&
    heads % kv === 0
  );
}

/**
 * @param {ByteReader} r
 * @param {boolean} config whether one was given, as only safetensors need it
 * @returns {Promise<Checkpoint['format']>}
 */
async function detect(r, config) {
  const head = await r.peek(28);
  const name = r.name.replace(/[?#].*$/, '').toLowerCase();
  const text = new TextDecoder('latin1').decode(head.subarray(0, 4));
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const magic = head.length < 4 ? 0 : view.getUint32(0, true);
  if (!head.length) return fail('truncated', `${r.name}: the file is empty`);
  if (text === 'GGUF' || name.endsWith('.gguf')) return 'gguf';
  if (name.endsWith('.safetensors')) return 'safetensors';
  if (magic === LLAMA2C_MAGIC) return 'llama2c';
  if (text.startsWith('PK') || magic === PICKLE_MAGIC)
    return fail('unsupported', `${r.name}: this is a PyTorch pickle; save the weights as safetensors`);
  if (name.endsWith('.bin')) return 'llama2c';
  if (config || (head.length > 8 && view.getUint32(4, true) === 0 && head[8] === 0x7b)) return 'safetensors';
  if (plausibleV0(view)) return 'llama2c';
  return fail(
    'unknown-format',
    `${r.name}: begins with ${show(text)}, which is neither GGUF, safetensors nor llama2.c`,
  );
}

/**
 * @param {string} name
 * @returns {never}
 */
const notAModel = (name) => fail('html', `${name}: this is a web page, not a model`);

/**
 * @param {Uint8Array} bytes
 * @param {string} name
 * @returns {any}
 */
function parseJson(bytes, name) {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (e) {
    return fail('bad-file', `${name}: this is not JSON (${e instanceof Error ? e.message : e})`, e);
  }
}

const inNode = Boolean(globalThis.process?.versions?.node) && typeof window === 'undefined';

/**
 * The path that a string or file: address means in Node, or null.
 * @param {string | URL} at
 * @returns {string | null}
 */
function localPath(at) {
  if (!inNode) return null;
  const text = String(at);
  if (text.startsWith('file:')) {
    try {
      return globalThis.process.getBuiltinModule('node:url').fileURLToPath(text);
    } catch (error) {
      return fail('bad-argument', `${text}: not the address of a file here: ${messageOf(error)}`, error);
    }
  }
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? null : text;
}

/** @typedef {{name: string, chunks: AsyncIterator<Uint8Array>, total: number | null, exact?: boolean, sure?: boolean}} Opened exact: total can be compared with the file's size; sure: and no more bytes can
 * arrive */

/**
 * @param {Bytes} source
 * @param {OpenOptions} options
 * @returns {Promise<Opened>}
 */
export async function openBytes(source, options) {
  if (source instanceof ArrayBuffer) return openBytes(new Uint8Array(source), options);
  if (source instanceof Uint8Array) return { name: 'the bytes given', chunks: once(source), total: source.length };
  if (source instanceof Blob) {
    const name = /** @type {any} */ (source).name || 'the blob given';
    return { name, chunks: streamChunks(source.stream()), total: source.size };
  }
  const path = localPath(source);
  return path === null ? openUrl(source, options) : (await import('./node_files.js')).openPath(path);
}

/** @param {Uint8Array} bytes */
async function* once(bytes) {
  yield bytes;
}

/**
 * An object and not a generator: `return` of a generator that was never started does not run its finally block.
 * @param {ReadableStream<Uint8Array>} stream
 * @returns {AsyncIterator<Uint8Array>}
 */
export function streamChunks(stream) {
  const reader = stream.getReader();
  return /** @type {any} */ ({
    next: () => reader.read(),
    return: async () => {
      reader.cancel().catch(() => {});
      return END;
    },
  });
}

/**
 * @param {string | URL} url
 * @param {OpenOptions} options
 * @returns {Promise<Opened>}
 */
async function openUrl(url, { fetch = globalThis.fetch, trusted = fetch === globalThis.fetch, signal }) {
  const name = String(url);
  let res;
  try {
    res = checkedResponse(await fetch(url, { signal }), name);
  } catch (e) {
    signal?.throwIfAborted();
    if (e instanceof GlassformerError) throw e;
    return fail('network', `${name}: the request failed: ${messageOf(e)}`, e);
  }
  if (!res.ok) {
    res.body?.cancel().catch(() => {});
    return fail(
      res.status === 404 || res.status === 410 ? 'not-found' : 'network',
      `${name}: the server answered ${res.status} ${res.statusText}`.trim() +
        (res.status === 401 ? ' (it asks for a token or headers)' : ''),
      res.status,
    );
  }
  if (/^text\/html/i.test(res.headers.get('content-type') ?? '')) {
    res.body?.cancel().catch(() => {});
    return notAModel(name);
  }
  const length = res.headers.get('content-length');
  const encoding = res.headers.get('content-encoding');
  const total =
    length !== null && /^\d+$/.test(length) && (!encoding || encoding === 'identity') ? Number(length) : null;
  // across origins the encoding is hidden, so the length may be that of compressed bytes
  const exact = res.type !== 'cors';
  return {
    name,
    chunks: res.body ? streamChunks(res.body) : once(new Uint8Array(0)),
    total,
    exact,
    sure: exact && trusted,
  };
}
