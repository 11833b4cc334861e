// opened_files.js - opens files and folders by address, path, bytes or File, and counts the bytes that arrive
import { failWebPage, localPath, nodeFiles, openBytes } from './bytes/open_file.js';
import { ByteReader, concatenate } from './bytes/chunks.js';
import { GlassformerError, fail, show } from '../base/errors.js';
import { parseJson } from './bytes/read_json.js';

/** @import { NameInFile, Rename } from './huggingface/weight_names.js' */
/** @typedef {import('./bytes/open_file.js').Bytes} Bytes */
/**
 * A folder of files: `get` returns null for a file that it lacks, `list` is empty where the names are unknown.
 * @typedef {{name: string, get: (file: string) => Bytes | null, list: () => Promise<string[]>}} Folder
 */
/**
 * Packed forms of tokenizers beside their files in the cache, by address.
 * @typedef {object} PackedCopies
 * @property {(url: string) => Promise<Uint8Array<ArrayBuffer> | null>} get
 * @property {(url: string, bytes: Uint8Array<ArrayBuffer>) => void} put
 */
/**
 * @typedef {object} OpenOptions
 * @property {typeof globalThis.fetch} [fetch]
 * @property {AbortSignal} [signal]
 * @property {boolean} [trusted]  whether `fetch` never delivers more bytes than the response's content-length, as the
 *   platform's own
 * @property {boolean} [ranges]  whether parts of a weight file that are not needed may be left out
 * @property {PackedCopies} [packed]
 * @property {(loaded: number, total: number | null) => void} [onBytes]  progress of the weight files, in bytes
 * @property {string} [hfEndpoint]  instead of https://huggingface.co (or $HF_ENDPOINT in Node)
 * @property {Record<string, any>} [config]  keys of the configuration that replace or complete those of the files
 * @property {Record<string, NameInFile>} [names]  of tensors in the files, by our names
 * @property {Rename} [rename]  the same as a function
 */

/** Longest JSON file that is read, in bytes. */
const MAX_JSON = 1 << 28;
/** A tokenizer.json of more bytes is read without a string for each token. */
const LARGE = 1 << 20;

/** The address of a source; '' where it has none. @param {Bytes | null} source */
const addressOf = (source) => (typeof source === 'string' || source instanceof URL ? String(source) : '');

const packing = () => import('./vocabulary/packed_tokenizer.js');

/** The files of one call; holds its options, open readers and warnings. */
export class OpenedFiles {
  /** @param {OpenOptions} options */
  constructor(options) {
    this.options = options;
    /** The open files, and where they come from. @type {Map<ByteReader, Bytes>} */
    this.open = new Map();
    /** @type {string[]} */
    this.warnings = [];
    /** The errors of optional files that the server refused. @type {Error[]} */
    this.refused = [];
    /** Bytes of weight files that have arrived. */
    this.loaded = 0;
    /** @type {number | null} size of the weight files opened so far; null where it is unknown */
    this.total = 0;
  }

  /** Close every open file. */
  close() {
    for (const r of this.open.keys()) r.close();
  }

  /**
   * The address of hf:owner/name[@revision][/file]; anything else is returned as it is.
   * @param {Bytes} file
   * @returns {Bytes}
   */
  resolve(file) {
    if (typeof file !== 'string' || !file.startsWith('hf:')) return file;
    const parts = /^hf:([\w.-]+)\/([\w.-]+)(?:@([^/]+))?(?:\/(.*))?$/.exec(file);
    // A name of one or two dots would lead to another address.
    if (!parts || /(?:[:/@]|%2F)\.\.?(?:$|[/@]|%2F)/i.test(file))
      return fail(
        'bad-argument',
        `${show(file)}: expected hf:owner/name, hf:owner/name@revision or hf:owner/name/file.gguf`,
      );
    const [, owner, name, revision = 'main', rest = ''] = parts;
    const hub = this.options.hfEndpoint ?? globalThis.process?.env?.HF_ENDPOINT ?? 'https://huggingface.co';
    const path = rest.split('/').map(encodeURIComponent).join('/');
    const branch = encodeURIComponent(revision.replace(/%2F/gi, '/'));
    return `${hub.replace(/\/$/, '')}/${owner}/${name}/resolve/${branch}/${path}`;
  }

  /**
   * The folder that an address or a path means; null when it means a file.
   * @param {Bytes} source
   * @returns {Promise<Folder | null>}
   */
  async folderOf(source) {
    const at = this.resolve(source);
    if (typeof at !== 'string' && !(at instanceof URL)) return null;
    const path = localPath(at);
    if (path !== null) return (await nodeFiles()).folderAt(path);
    const text = String(at);
    return text.endsWith('/') ? { name: text, get: (file) => text + file, list: async () => [] } : null;
  }

  /**
   * Open a file. A missing file, a web page and a Git LFS pointer are refused.
   * @param {Bytes} source
   * @param {boolean} [counts]  whether its bytes count for the progress
   * @param {number} [counted]  bytes of it that were counted, and its size, when it was opened before
   * @returns {Promise<ByteReader>}
   */
  async reader(source, counts = false, counted = 0) {
    const { signal } = this.options;
    const { name, chunks, total, exact = true, bounded, reused } = await openBytes(source, this.options);
    let known = counted;
    const onBytes = counts
      ? (/** @type {number} */ n) => {
          this.loaded += Math.max(0, n - known);
          known = Math.max(0, known - n);
          this.options.onBytes?.(this.loaded, this.total);
        }
      : undefined;
    if (counts && !counted && this.total !== null) this.total = total === null ? null : this.total + total;
    const r = new ByteReader(chunks, { name, total: exact ? total : null, bounded, reused, onBytes, signal });
    this.open.set(r, source);
    const head = new TextDecoder('latin1')
      .decode(await r.peek(64))
      .trimStart()
      .toLowerCase();
    if (/^(<!doctype html|<html|<head|<!--)/.test(head)) failWebPage(name);
    if (head.startsWith('version https://git-lfs'))
      fail('bad-file', `${name}: this is a Git LFS pointer, not the file`);
    return r;
  }

  /**
   * Close one file.
   * @param {ByteReader} r
   */
  release(r) {
    r.close();
    this.open.delete(r);
  }

  /**
   * Open a file that may be missing; null when it is. Some servers answer every unknown address with their start page:
   * a web page counts as missing. S3 answers 403 for a missing file when its files may not be listed: it counts as
   * missing too, and the error is kept.
   * @param {Bytes | null} source
   * @param {boolean} [counts]
   * @returns {Promise<ByteReader | null>}
   */
  async optionalReader(source, counts) {
    if (source === null) return null;
    try {
      return await this.reader(source, counts);
    } catch (e) {
      if (!(e instanceof GlassformerError)) throw e;
      if (e.cause === 403) this.refused.push(e);
      else if (e.code !== 'not-found' && e.code !== 'html') throw e;
      return null;
    }
  }

  /**
   * The rest of a file, which is then closed.
   * @param {ByteReader} r
   */
  async readAll(r) {
    const parts = [];
    let size = 0;
    for (;;) {
      const view = r.ready ? r.takeReady(r.ready) : await r.next();
      if (!view) break;
      parts.push(r.reused ? view.slice() : view);
      size += view.length;
      if (size > MAX_JSON) fail('bad-file', `${r.name}: larger than ${MAX_JSON} bytes`);
    }
    this.release(r);
    return concatenate(parts, size);
  }

  /**
   * The content of a JSON file.
   * @param {Bytes} source
   */
  async json(source) {
    const r = await this.reader(this.resolve(source));
    return parseJson(await this.readAll(r), r.name);
  }

  /**
   * The content of a JSON file; null when the file is missing.
   * @param {Bytes | null} source
   */
  async optionalJson(source) {
    const r = await this.optionalReader(source);
    return r && parseJson(await this.readAll(r), r.name);
  }

  /**
   * The content of a tokenizer.json; null when the file is missing.
   * @param {Bytes | null} source
   */
  async optionalTokenizer(source) {
    const packed = await this.packedTokenizer(source);
    if (packed) return packed;
    const r = await this.optionalReader(source);
    return r && this.parseTokenizer(await this.readAll(r), r.name, source);
  }

  /**
   * The content of a tokenizer.json whose packed form is in the cache; null where it is not.
   * @param {Bytes | null} source
   */
  async packedTokenizer(source) {
    const url = addressOf(source);
    const bytes = await this.options.packed?.get(url);
    return bytes ? (await packing()).unpackTokenizer(bytes, url) : null;
  }

  /**
   * The content of a tokenizer.json.
   * @param {Uint8Array} bytes
   * @param {string} name  of the file, for messages
   * @param {Bytes | null} source
   */
  async parseTokenizer(bytes, name, source) {
    if (bytes.length <= LARGE) return parseJson(bytes, name);
    return (await packing()).readTokenizer(bytes, name, (packed) =>
      this.options.packed?.put(addressOf(source), packed),
    );
  }

  /**
   * The content of a text file; null when the file is missing.
   * @param {Bytes | null} source
   */
  async optionalText(source) {
    const r = await this.optionalReader(source);
    return r && new TextDecoder().decode(await this.readAll(r));
  }
}

/**
 * The files of a file input or of a drop as a folder. A Blob has no name and is not found. A file of a chosen folder is
 * known by its path in it, and by its name where the folder itself has no other file of this name.
 * @param {File[]} list
 * @returns {Folder}
 */
export function fileFolder(list) {
  const byName = new Map(list.map((f) => [f.name, f]));
  for (const f of list) byName.set((f.webkitRelativePath || '').split('/').slice(1).join('/') || f.name, f);
  return {
    name: 'the files given',
    get: (file) => byName.get(file) ?? null,
    list: async () => [...byName.keys()].filter((name) => typeof name === 'string'),
  };
}
