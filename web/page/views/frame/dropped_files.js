// dropped_files.js - files and folders that somebody chose or dropped, as sources of a model

/**
 * Files that belong together make one model: one file by itself, a folder's files, or llama2.c's pair.
 * @param {File[]} list
 * @returns {{ source: any, name: string, fileBytes: number | null }}
 */
export function sourceOfFiles(list) {
  const weights = list.filter(
    (f) => /\.(gguf|safetensors|bin|pt|pth|ckpt)$/i.test(f.name) && !/^tokenizer/i.test(f.name),
  );
  const tokenizer = list.find((f) => /^tok.*\.bin$/i.test(f.name));
  const pair = tokenizer && weights.length === 1 && !list.some((f) => f.name === 'config.json');
  return {
    source: list.length === 1 ? list[0] : pair ? { weights: weights[0], tokenizer } : list,
    name: (weights[0] ?? list[0]).name,
    fileBytes: weights.reduce((n, f) => n + f.size, 0) || null,
  };
}

/**
 * The files that lie in a dropped folder; browsers tell them in parts.
 * @param {FileSystemDirectoryEntry} directory
 * @returns {Promise<File[]>}
 */
export async function filesIn(directory) {
  const reader = directory.createReader();
  /** @type {Promise<File>[]} */
  const files = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const part = await new Promise((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (!part.length) return Promise.all(files);
    for (const entry of part)
      if (entry.isFile)
        files.push(
          new Promise((resolve, reject) => {
            /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject);
          }),
        );
  }
}

const page = document.body.classList;

/** Files are dragged over the page. @param {DragEvent} event */
export function dragged(event) {
  if (!event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  page.add('dropping');
}

/** They have left it. @param {DragEvent} event */
export const left = (event) => void (event.relatedTarget || page.remove('dropping'));

/**
 * What was dropped anywhere on the page; null where that is nothing, or a panel has taken it.
 * @param {DragEvent} event
 * @returns {{ files: File[], directory: FileSystemDirectoryEntry | undefined } | null}
 */
export function dropped(event) {
  page.remove('dropping');
  const { files = /** @type {any} */ ([]), items = /** @type {any} */ ([]) } = event.dataTransfer ?? {};
  if (!files.length || event.defaultPrevented) return null;
  event.preventDefault();
  const entries = [...items].map((item) => item.webkitGetAsEntry()); // files and entries are gone after this turn
  return { files: [...files], directory: entries.find((entry) => entry?.isDirectory) };
}
