// bert_folders.js - the BERT case, and folders with its files and others
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary.js';
import { golden, openCase } from './helpers.js';

const folder = temporaryFolder('encoders');

/** 57 tokens: the special ones, letters and their continuations. */
export const letters = Array.from('abcdefghijklmnopqrstuvwxyz');

export const vocabulary = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', ...letters, ...letters.map((c) => `##${c}`)];

let made = 0;

/**
 * A folder with the files of a case and others.
 * @param {string} name  of the case
 * @param {Record<string, any>} [files]  texts, bytes or JSON by path
 * @returns {string}
 */
export function folderOf(name, files = {}) {
  const to = join(folder, String(made++));
  mkdirSync(to);
  for (const file of ['config.json', 'model.safetensors']) cpSync(join(golden, name, file), join(to, file));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(to, path, '..'), { recursive: true });
    const plain = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(join(to, path), plain ? content : JSON.stringify(content));
  }
  return `${to}/`;
}

/** A folder of the BERT case with a vocabulary. @param {Record<string, any>} [files] */
export const withWords = (files) => folderOf('bert', { 'vocab.txt': `${vocabulary.join('\n')}\n`, ...files });

export const rowsOf = ({ data, shape: [n, d] }) => Array.from({ length: n }, (_, i) => data.slice(i * d, (i + 1) * d));

export const bert = openCase('bert');

export const ids = bert.about.input_ids.slice(0, 23);
