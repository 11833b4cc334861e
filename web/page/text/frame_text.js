// frame_text.js - sentences around the views: header, notices, the dialog of models

import { backendName, bytes, figures, int } from './format.js';

export const HEADER = {
  name: 'glassformer',
  line: 'A real language model, running in your browser. Choose anything to see inside.',
  labs: 'Findings, measured again in this tab:',
  labLinks: { induction: 'induction heads form', grokking: 'from memory to a rule' },
  none: 'no model yet',
  toLight: 'Light theme',
  toDark: 'Dark theme',
  figures: 'Save figures',
};

/** The figures of a view as files. */
export const FIGURES = {
  title: 'Save figures',
  hint: 'As they stand now, with model, prompt and address. PNG has two pixels for one; HTML needs no network.',
  none: 'This view has no figures yet.',
  of: (panel) => panel.replace(/^./, (letter) => letter.toUpperCase()),
  /** @param {string | undefined} model */
  about: (model, prompt, address) => `${model ?? 'no model'} · “${prompt}” · ${address}`,
  save: (title, kind) => `Save ${title} as ${kind.toUpperCase()}`,
  saved: (name) => `Saved as ${name}.`,
  close: 'Close',
  types: { svg: 'image/svg+xml', png: 'image/png', html: 'text/html', csv: 'text/csv' },
};

/** Of model and engine. */
export const FACTS = { shape: 'Model', speed: 'Engine speed', memory: 'Memory', engine: 'Engine' };

const KIND = { decoder: '', encoder: 'encoder · ', encoder_decoder: 'encoder-decoder · ' };

/** @typedef {import('../state/state.js').LoadedModel} LoadedModel */

/**
 * The type that holds most of the weights.
 * @param {{ dtype: string, bytes: number }[]} rows
 */
function mainType(rows) {
  /** @type {Map<string, number>} */
  const bytesOf = new Map();
  for (const r of rows) bytesOf.set(r.dtype, (bytesOf.get(r.dtype) ?? 0) + r.bytes);
  const [[type]] = [...bytesOf].sort((a, b) => b[1] - a[1]);
  return type.toUpperCase();
}

/** @param {LoadedModel} model */
export const modelSaid = ({ name, parameters: { total } }) => `${name} · ${int(total)} parameters`;

/** @param {LoadedModel} model */
export const shapeSaid = ({ config: c, parameters: { rows, total, active }, fileBytes }) =>
  `${KIND[c.kind] ?? ''}${c.nLayers} layers · ${c.nHeads} heads · d_model ${c.dModel} · ${mainType(rows)}${active < total ? ` · ${int(active)} parameters for each token` : ''}${fileBytes ? ` · ${bytes(fileBytes)}` : ''}`;

/** Without the kind of dot product and the reason for one thread, which the tooltip has. */
export const engineSaid = (backend) =>
  backendName(backend)
    .split(':')[0]
    .replace(/, (?:unsigned|signed|split|16-bit) dot/, '');

export const speedSaid = (v) => (v ? `${v < 100 ? figures(v) : int(v)} tok/s` : '–');

export const NOTICE = {
  dismiss: 'Dismiss',
  stop: 'Stop loading',
  load: 'Load that model',
  use: 'Download',
  later: 'Not now',
};

const PHASE = { download: 'Loading', compile: 'Preparing the engine for', load: 'Unpacking' };

/** @param {NonNullable<import('../state/state.js').State['run']['progress']>} progress */
export const progressSaid = ({ name, phase, loaded, total, bytesPerSecond, secondsLeft }) =>
  `${PHASE[phase] ?? 'Loading'} ${name}${loaded ? `, ${bytes(loaded)}${total ? ` of ${bytes(total)}` : ''}` : ''}` +
  (phase === 'download' && bytesPerSecond ? `, ${bytes(Math.round(bytesPerSecond))}/s` : '') +
  (phase === 'download' && secondsLeft && secondsLeft >= 1 ? `, ${remaining(secondsLeft)} left` : '');

const remaining = (seconds) => (seconds < 99.5 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);

/** @param {LoadedModel | null} model */
export const errorSaid = (error, model) =>
  error && `${error}${/[.!?]$/.test(error) ? '' : '.'}${model ? ` ${model.name} is still here and works.` : ''}`;

/** @param {import('../state/models.js').Shipped} model */
export const offerSaid = ({ name, better }) => `${name} tells better stories: ${bytes(better ?? 0)}. Your text stays.`;

export const MODELS = {
  title: 'Models',
  close: 'Close',
  shipped: 'On this page',
  own: 'Your own',
  files: 'files',
  folder: 'a folder',
  ownHint:
    'A .gguf, a llama2.c .bin with its tokenizer.bin, or a folder with config.json, model.safetensors and tokenizer.json; its files chosen together will do. Stays on your computer. Dropping files or a folder on the page does the same.',
  others: 'Models of others',
  othersHint: 'Downloaded from the Hugging Face hub. Only this download leaves the page.',
  address: 'Another one: address, hub page or hf:owner/name',
  placeholder: 'hf:owner/name',
  load: 'Load',
  dtype: 'weights in memory',
  context: 'context, tokens',
};

export const DTYPES = /** @type {const} */ ([
  { key: 'keep', name: 'as in the file' },
  { key: 'q8_0', name: '8 bits (q8_0)' },
  { key: 'q4_0', name: '4 bits (q4_0)' },
]);

/**
 * @param {import('../state/hub.js').HubModel} model
 * @param {number} download  bytes of its file
 * @param {number} memory  bytes of its weights in memory
 */
export const hubModelSaid = ({ parameters, dtype }, download, memory) =>
  `${int(Math.round(parameters / 1e6))} M parameters, safetensors, ${dtype}, ${bytes(download)} to download, weights take ${bytes(memory)} of memory`;

export const notAnAddress = (text) =>
  `“${text}” is no address of a model: expected https://…, hf:owner/name or owner/name`;

/** Of the text in one line, over the other views. */
export const STRIP = {
  label: 'The text',
  before: 'Token before',
  after: 'Token after',
  run: 'Run',
  stop: 'Stop',
  edit: 'Edit the prompt',
};
