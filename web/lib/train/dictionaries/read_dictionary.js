// read_dictionary.js - reads a dictionary: SAELens's format (cfg.json, sae_weights.safetensors), with this package's
// token table where there is one, or Gemma Scope 2's (config.json, params.safetensors)
import { fail, show } from '../../base/errors.js';
import { Opener } from '../../files/source.js';
import { fileFolder } from '../../files/opened_files.js';
import { floatsOf } from '../../files/bytes/float_values.js';
import { readSafetensors } from '../../files/huggingface/safetensors.js';
import { weightsOf } from './sae_formats.js';
import { gemmaScopeConfig } from './gemma_scope.js';

/** @import { OpenOptions } from '../../files/opened_files.js' */
/** @import { DictionaryWeights } from './sparse_dictionary.js' */
/** Tensors of a file. scaled: it had integers with scales
 * @typedef {Record<string, {data: Float32Array, shape: number[], scaled?: boolean}>} Tensors */

/**
 * All tensors of a safetensors file, as f32. A tensor of integers of 8 bits has its scales beside it, one for each row.
 * @param {Opener} opener
 * @param {any} file
 * @returns {Promise<Tensors | null>} null: there is no such file
 */
async function tensorsOf(opener, file) {
  const r = await opener.optionalReader(file, true);
  if (!r) return null;
  const entries = await readSafetensors(r, 0);
  /** @type {Tensors} */
  const tensors = {};
  for (const { name, dtype, shape, offset, bytes } of entries.sort((a, b) => a.offset - b.offset)) {
    await r.skip(offset - r.pos);
    tensors[name] = { data: floatsOf((await r.take(bytes, name)).slice(), dtype, `${r.name}: ${name}`), shape };
  }
  opener.release(r);
  for (const [name, { data }] of Object.entries(tensors)) {
    const scaled = name.endsWith('.scale') ? tensors[name.slice(0, -'.scale'.length)] : null;
    if (!scaled) continue;
    const cols = scaled.data.length / data.length;
    if (!Number.isInteger(cols)) fail('bad-shape', `${r.name}: ${name} has ${data.length} values`);
    for (let i = 0; i < scaled.data.length; i++) scaled.data[i] *= data[Math.floor(i / cols)];
    scaled.scaled = true;
    delete tensors[name];
  }
  return tensors;
}

/**
 * @param {any} source  a folder (an address or path; hf:owner/name[/folder]) or the files of one
 * @param {OpenOptions} options
 * @returns {Promise<DictionaryWeights>}
 */
export async function readDictionary(source, options) {
  const opener = new Opener(options);
  try {
    const folder = Array.isArray(source)
      ? fileFolder(source)
      : await opener.folderOf(typeof source === 'string' && !source.endsWith('/') ? `${source}/` : source);
    if (!folder)
      return fail(
        'bad-argument',
        `the source of a dictionary is ${show(source)}, expected a folder or the files of one`,
      );
    const cfg = await opener.optionalJson(folder.get('cfg.json'));
    if (cfg) {
      const tensors = await tensorsOf(opener, folder.get('sae_weights.safetensors'));
      if (!tensors) return fail('not-found', `${folder.name}: there is no sae_weights.safetensors beside cfg.json`);
      const tables = await tensorsOf(opener, folder.get('token_table.safetensors'));
      return weightsOf(folder.name, cfg, tensors, tables);
    }
    const config = await opener.optionalJson(folder.get('config.json'));
    const tensors = await tensorsOf(opener, folder.get('params.safetensors'));
    if (!tensors) return fail('not-found', `${folder.name}: there is neither cfg.json nor params.safetensors`);
    const scope = gemmaScopeConfig(folder.name, config, tensors);
    return weightsOf(folder.name, scope.cfg, scope.tensors, null);
  } finally {
    opener.close();
  }
}
