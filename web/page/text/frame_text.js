// frame_text.js - sentences around the views: header, notices, the dialog of models

import { backendName, bytes, compact, figures, headsSaid, int, layersSaid, sentences } from './format.js';
import { meaning } from './glossary_text.js';
import { say } from '../state/base/language.js';
import { SHIPPED_BYTES } from '../state/facts/shipped_models.js';

export const HEADER = {
  name: 'glassformer',
  line: say`A real language model, running in your browser. Choose anything to see inside.`,
  none: say`no model yet`,
  figures: say`Save figures`,
  share: say`Share and save`,
  present: say`Present`,
  losesModel: say`Changing the language reloads the page. The model or adapter you loaded will be lost. Continue?`,
  losesRun: say`Changing the language reloads the page. Your training run will be lost. Continue?`,
};

export const FOOTER = {
  toLight: say`Light theme`,
  toDark: say`Dark theme`,
  stays: say`Everything runs in this tab. Nothing you type or load is sent anywhere.`,
  labs: say`Replicate a paper in this tab:`,
  labLinks: { induction: say`induction heads form`, grokking: say`grokking: from memorising to a rule` },
};

/** The figures of a view as files. */
export const FIGURES = {
  title: say`Save figures`,
  hint: say`Saves each figure as it looks now, with the model, prompt and link. PNG is at 2× resolution; HTML works offline.`,
  none: say`This view has no figures yet.`,
  of: (panel) => panel.replace(/^./, (letter) => letter.toUpperCase()),
  /** @param {string | undefined} model */
  about: (model, prompt, address) => `${model ?? say`no model`} · “${prompt}” · ${address}`,
  save: (title, kind) => say`Save ${title} as ${kind.toUpperCase()}`,
  saved: (name) => say`Saved as ${name}.`,
  types: { svg: 'image/svg+xml', png: 'image/png', html: 'text/html', csv: 'text/csv' },
};

/** One panel at a time, for a class to see. */
export const PRESENT = {
  label: say`Presentation`,
  before: say`Previous panel`,
  next: say`Next panel`,
  of: (i, n) => say`${i} of ${n}`,
  keys: say`Keys`,
  leave: say`Leave`,
};

export const KEYS = {
  title: say`Keys`,
  /** @type {[keys: string, what: string][]} */
  list: [
    ['?', say`This list.`],
    [
      'Page Down, Page Up',
      say`The next page of the textbook, or the one before; in a presentation the next panel, or the one before.`,
    ],
    [say`→ ←`, say`The same, in presentations and in the textbook box.`],
    ['→ ← ↑ ↓', say`Another token, head, cell or part, where the focus is on the text or on a picture.`],
    [
      'Enter',
      say`In the prompt: continue writing. On a part of a figure: open its card. On a cell of the large head: explain its value.`,
    ],
    ['Shift + Enter', say`A new line in the prompt.`],
    ['Esc', say`Closes the presentation, textbook or card. In the text: jumps back to the end.`],
  ],
};

/** The line under the prompt: what runs here. */
export const LINE = {
  label: say`What runs here`,
  engine: (backend) => say`C → WebAssembly, SIMD128 (${engineSaid(backend)})`,
  /** @param {LoadedModel} model */
  file: ({ fileBytes, config }) =>
    [
      fileBytes ? say`checkpoint of ${bytes(fileBytes)}` : say`made here, no checkpoint`,
      config.tieWordEmbeddings && say`tied embedding`,
    ]
      .filter(Boolean)
      .join(', '),
  memory: (n) => say`${bytes(n)} of linear memory`,
  /** @param {number} v  tokens per second, 0 before it is measured */
  speed: (v, atReadingSpeed) =>
    v && atReadingSpeed
      ? say`${v < 100 ? figures(v) : int(v)} tokens/s possible, shown at reading speed`
      : v
        ? say`${v < 100 ? figures(v) : int(v)} tokens/s`
        : '',
  here: say`nothing leaves this tab`,
};

const KIND = { decoder: '', encoder: say`encoder · `, encoder_decoder: say`encoder-decoder · ` };

/** @typedef {import('../state/store/state.js').LoadedModel} LoadedModel */

/** @type {Record<string, string>} */
const WEIGHTS = { q4_0: say`4-bit weights (Q4_0)`, q8_0: say`8-bit weights (Q8_0)` };

/**
 * The type that holds most of the weights.
 * @param {{ dtype: string, bytes: number }[]} rows
 */
function mainType(rows) {
  /** @type {Map<string, number>} */
  const bytesOf = new Map();
  for (const r of rows) bytesOf.set(r.dtype, (bytesOf.get(r.dtype) ?? 0) + r.bytes);
  const [[type]] = [...bytesOf].sort((a, b) => b[1] - a[1]);
  return WEIGHTS[type] ?? type.toUpperCase();
}

/** @param {LoadedModel} model @param {boolean} adapted */
export const modelSaid = ({ name, parameters: { total } }, adapted) =>
  adapted ? say`${name} with an adapter · ${compact(total)} parameters` : say`${name} · ${compact(total)} parameters`;

/** @param {LoadedModel} model */
export const shapeSaid = ({ config: c, parameters: { rows, total, active }, fileBytes }) =>
  say`${KIND[c.kind] ?? ''}${layersSaid(c.nLayers)} · ${headsSaid(c.nHeads)} · d_model ${c.dModel} · ${mainType(rows)}${active < total ? say` · ${compact(active)} parameters for each token` : ''}${fileBytes ? ` · ${bytes(fileBytes)}` : ''}`;

/** The binary and its threads. The tooltip also has the kind of dot product and the reason for one thread. */
const engineSaid = (backend) =>
  backend
    .split(':')[0]
    .replace(/, (?:unsigned|signed|split|16-bit) dot/, '')
    .replace(/^simd(?:128)?, /, '')
    .replace(/\bone thread/, say`1 thread`);

/** All that the library says of it, and what a kind of dot product is. @param {string} backend */
export const engineTitle = (backend) => (/unsigned dot/.test(backend) ? `${backend} · ${meaning('dot')}` : backend);

/** What is said in the place of a panel whose code did not come. */
export const FETCHED = {
  not: say`This part of the page failed to load. Check your connection and try again, or reload the page.`,
  again: say`Try again`,
};
export const NOTICE = {
  dismiss: say`Dismiss`,
  stop: say`Stop loading`,
  load: say`Load that model`,
  use: say`Download`,
  later: say`Not now`,
  missingKeys: say`The file does not contain these values. Enter them; you will find them in the code that trained the model.`,
  again: say`Load again`,
};

const PHASE = { download: say`Loading`, compile: say`Preparing the engine for`, load: say`Unpacking` };

/** @param {NonNullable<import('../state/store/state.js').State['engine']['progress']>} progress */
export const progressSaid = ({ name, phase, loaded, total, bytesPerSecond, secondsLeft }) =>
  `${PHASE[phase] ?? say`Loading`} ${name}${loaded ? `, ${bytes(loaded)}${total ? say` of ${bytes(total)}` : ''}` : ''}` +
  (phase === 'download' && bytesPerSecond ? `, ${bytes(Math.round(bytesPerSecond))}/s` : '') +
  (phase === 'download' && secondsLeft && secondsLeft >= 1 ? say`, ${remaining(secondsLeft)} left` : '');

const remaining = (seconds) => (seconds < 99.5 ? `${Math.round(seconds)} s` : say`${Math.round(seconds / 60)} min`);

/** @param {{ tokens: number, more: boolean }} over @param {LoadedModel} model */
export const overSaid = ({ tokens, more }, { api }) =>
  more
    ? say`The prompt has more than ${int(api.contextLength)} tokens, and the context holds ${int(api.contextLength)}. Shorten it to run the model.`
    : say`The prompt has ${int(tokens)} of ${int(api.contextLength)} tokens. Shorten it to run the model.`;

/** @param {number} kept */
export const cutSaid = (kept) => say`Keep the last ${int(kept)} tokens`;

/** @param {LoadedModel | null} model */
export const errorSaid = (error, model) =>
  error && `${error}${/[.!?]$/.test(error) ? '' : '.'}${model ? say` ${model.name} is still loaded.` : ''}`;

/** @param {import('../state/facts/shipped_models.js').Shipped} model */
export const offerSaid = ({ name, better }) =>
  say`${name} writes better stories (${bytes(better ?? 0)} download). Your text is kept.`;

export const MODELS = {
  title: say`Models`,
  close: say`Close`,
  shipped: say`On this page`,
  own: say`Your own`,
  files: say`files`,
  folder: say`a folder`,
  ownHint: say`A .gguf, a .pt, .pth or .ckpt of PyTorch, a llama2.c .bin with its tokenizer.bin, or a folder with config.json, model.safetensors and tokenizer.json; or select those files together. You can also drop them on the page. Nothing is uploaded.`,
  others: say`From Hugging Face`,
  othersHint: say`Downloaded from the Hugging Face Hub. Nothing else is sent from your browser.`,
  address: say`Other model: URL, Hub page or hf:owner/name`,
  again: (name) => say`Open ${name} again`,
  placeholder: 'hf:owner/name',
  load: say`Load`,
  dtype: say`weights in memory`,
  context: say`context, tokens`,
};

/** All models for use without a network. */
export const KEEP = {
  button: say`Keep all of them for use without a network`,
  ask: say`Downloads ${bytes(SHIPPED_BYTES)}.`,
  fetching: say`Downloading …`,
  kept: say`Kept: the page opens all of them without a network.`,
};

export const DTYPES = { keep: say`as in the file`, q8_0: say`8 bits (q8_0)`, q4_0: say`4 bits (q4_0)` };

/**
 * @param {import('../state/facts/hub.js').HubModel} model
 * @param {number} download  bytes of its file
 * @param {number} memory  bytes of its weights in memory
 * @param {number} speed  tokens per second to expect here, 0 where that is not known
 */
export const hubModelSaid = ({ parameters, licence, encoder }, download, memory, speed) =>
  sentences([
    say`${compact(parameters)} parameters, ${licence}: ${bytes(download)} to download, ${bytes(memory)} of memory.`,
    encoder && say`An encoder: it compares texts and writes none.`,
    speed && say`About ${figures(speed)} tokens per second on this machine.`,
  ]);

export const notAnAddress = (text) =>
  say`“${text}” is not a model address. Use https://…, hf:owner/name or owner/name.`;

/** Labels of the text in one line, over the other views. */
export const STRIP = {
  label: say`The text`,
  before: say`Previous token`,
  after: say`Token after`,
  run: say`Run`,
  stop: say`Stop`,
  edit: say`Edit the prompt`,
};
