// opened_dictionaries.js - opens a dictionary: the shipped one with its model, one of the hub, or the files of a visitor
import { Dictionary, load } from 'glassformer';
import { keptFetch, sha256Of } from '../../state/calls/kept_download.js';

/** @typedef {import('./feature_session.svelte.js').Opened} Opened */

/** Files beside the page. */
const MODEL = 'weights/stories.gguf';
const FOLDER = 'weights/dictionaries/stories';
const FILES = ['cfg.json', 'sae_weights.safetensors', 'token_table.safetensors'];
/** Bytes of model and dictionary. */
export const SHIPPED_SIZE = 7_200_000;
const WEIGHTS = /(?:sae_weights|params)\.safetensors$/;

/** @param {string} file */
const addressOf = (file) => new URL(file, document.baseURI);

/** The SHA-256 of the file with the weights. @param {{ name: string, bytes: BufferSource }[]} files */
export const shaOfFiles = (files) => {
  const weights = files.find(({ name }) => WEIGHTS.test(name));
  return weights ? sha256Of(weights.bytes) : '';
};

/** @param {File[]} files */
const shaOf = async (files) =>
  shaOfFiles(await Promise.all(files.map(async (file) => ({ name: file.name, bytes: await file.arrayBuffer() }))));

/** The dictionary of the story model. @returns {Promise<Opened>} */
export async function openShipped() {
  const model = await load(addressOf(MODEL));
  try {
    const files = await Promise.all(
      FILES.map(async (name) => new File([await (await fetch(addressOf(`${FOLDER}/${name}`))).blob()], name)),
    );
    const dictionary = await Dictionary.load(files, { model });
    const shown = await (await fetch(addressOf(`${FOLDER}/features.json`))).json();
    const origin = { dictionary: '', recipe: null };
    return { dictionary, model, owned: true, sha: await shaOf(files), origin, shown };
  } catch (error) {
    model.dispose();
    throw error;
  }
}

/**
 * One that was saved here, or that SAELens reads.
 * @param {File[]} files
 * @param {import('glassformer').Model} model
 * @returns {Promise<Opened>}
 */
export async function openFiles(files, model) {
  const dictionary = await Dictionary.load(files, { model });
  const origin = { dictionary: 'files', recipe: null };
  return { dictionary, model, sha: await shaOf(files), origin, gathers: true };
}

/**
 * One of the hub, with its encoder in 8 bits.
 * @param {string} source
 * @param {import('glassformer').Model} model
 * @param {(bytes: number) => void} onBytes
 * @param {AbortSignal} signal
 * @returns {Promise<Opened>}
 */
export async function openPublished(source, model, onBytes, signal) {
  let sha = Promise.resolve('');
  const fetch = keptFetch(onBytes, (bytes, url) => {
    if (WEIGHTS.test(url)) sha = sha256Of(bytes);
  });
  const dictionary = await Dictionary.load(source, { model, dtype: 'q8_0', fetch, signal });
  return { dictionary, model, sha: await sha, origin: { dictionary: source, recipe: null }, gathers: true };
}
