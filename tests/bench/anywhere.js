// anywhere.js - the benchmark as a page for any machine: measures this engine and wllama, one after the other, and
// fills a table
//
// A visit is a frame with the measured page (page.js): first cold, then warm. build_page.js writes the folder.
import { measureSpeeds } from './speeds.js';

const COLUMNS = [
  'model',
  'engine',
  'load, ms',
  'first token, ms',
  'prefill 128, tokens/s',
  'decode @64, tokens/s',
  'MB/token',
  'GB/s',
  'page reads, GB/s',
];
const byId = (/** @type {string} */ id) => /** @type {HTMLButtonElement} */ (document.getElementById(id));
const [start, copy, status] = ['start', 'copy', 'status'].map(byId);
const table = /** @type {HTMLTableElement} */ (document.querySelector('table'));

/** Append a row of texts to a part of the table. */
function addRow(/** @type {HTMLTableSectionElement | null} */ part, /** @type {string[]} */ texts, tag = 'td') {
  const row = document.createElement('tr');
  for (const text of texts) row.append(Object.assign(document.createElement(tag), { textContent: text }));
  part?.append(row);
}

/** Wait until a frame's page has a value, which is returned. */
async function until(/** @type {() => any} */ value) {
  for (;;) {
    const found = value();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * One visit: what it measured.
 * @param {Record<string, any>} job  as page.js reads it
 * @param {number} bytes  that one token reads
 */
async function visit(job, bytes) {
  const frame = document.createElement('iframe');
  frame.src = `now/#${encodeURIComponent(JSON.stringify(job))}`;
  document.body.append(frame);
  try {
    const page = /** @type {any} */ (frame.contentWindow);
    const cold = await until(() => page.cold);
    if (cold.error) throw new Error(cold.error);
    await page.warmUp(64, 32, 2, 1500);
    const speeds = await measureSpeeds(page.measure, { contexts: [64], prefills: [128], cpu: false, times: 3 });
    await page.end();
    const limit = page.readLimit(Math.ceil(bytes / 128) * 128);
    return { ...cold, prefill: speeds['prefill 128'], decode: speeds['decode @64'], limit };
  } finally {
    frame.remove();
  }
}

/** The engines to visit: with two threads where the page may share memory. */
function contenders(/** @type {boolean} */ wllama) {
  const threads = globalThis.crossOriginIsolated && navigator.hardwareConcurrency > 1 ? [1, 2] : [1];
  return threads.flatMap((n) => [
    { engine: 'glassformer', backend: 'auto', kvDtype: 'default', threads: n },
    ...(wllama ? [{ engine: 'wllama2', library: '../wllama2/', threads: n }] : []),
  ]);
}

async function measureAll(/** @type {{models: any[], wllama: boolean}} */ { models, wllama }) {
  for (const { name, dtype, file, bytes } of models)
    for (const job of contenders(wllama)) {
      const model = `${name} ${dtype}`;
      const label = `${job.engine}, ${job.threads} ${job.threads > 1 ? 'threads' : 'thread'}`;
      status.textContent = `Measuring ${model}: ${label}`;
      try {
        const v = await visit({ ...job, model: `../models/${file}` }, bytes);
        const figures = [v.loadMs, v.firstTokenMs, v.prefill, v.decode].map((x) => x.toFixed(0));
        const rates = [bytes / 1e6, (bytes * v.decode) / 1e9, v.limit].map((x) => x.toFixed(1));
        addRow(table.tBodies[0], [model, label, ...figures, ...rates]);
      } catch (error) {
        addRow(table.tBodies[0], [model, label, String(error)]);
      }
      copy.disabled = false;
    }
}

/** The table as Markdown, under the browser's description of itself. */
function asText() {
  const lines = [...table.rows].map((row) => `| ${[...row.cells].map((cell) => cell.textContent).join(' | ')} |`);
  lines.splice(1, 0, `|${'---|'.repeat(COLUMNS.length)}`);
  return [`${navigator.userAgent}; ${navigator.hardwareConcurrency} processors`, '', ...lines, ''].join('\n');
}

addRow(table.tHead, COLUMNS, 'th');
const list = await (await fetch('models.json')).json();
status.textContent = `Ready: ${list.models.length} models`;
start.disabled = false;
start.onclick = async () => {
  start.disabled = true;
  await measureAll(list);
  status.textContent = 'Done';
  start.disabled = false;
};
copy.onclick = async () => {
  try {
    await navigator.clipboard.writeText(asText());
    status.textContent = 'Copied';
  } catch {
    getSelection()?.selectAllChildren(table); // a page that is not from https has no clipboard
    status.textContent = 'The table is selected';
  }
};
