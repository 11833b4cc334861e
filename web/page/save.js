// save.js - what a visitor takes along: links, files, code.

import { el } from './dom.js';
import { inView } from './patterns.js';

/** Offer a file under this name. @param {string} name @param {string | Blob} content @param {string} [type] */
export function saveFile(name, content, type = 'text/plain') {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const a = el('a', { href: url, download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A button that copies and says so. @param {string} name @param {() => string} text */
export function copyButton(name, text) {
  const b = el('button', { type: 'button', class: 'quiet', onclick: async () => {
    try {
      await navigator.clipboard.writeText(text());
      b.textContent = 'Copied';
    } catch {
      b.textContent = 'The browser refused';
    }
    setTimeout(() => { b.textContent = name; }, 1500);
  } }, name);
  return b;
}

/** Rows as CSV. @param {(string | number)[][]} rows */
export const csv = (rows) => rows.map((row) => row.map((x) => (/[",\n]/.test(String(x)) ? `"${String(x).replace(/"/g, '""')}"` : String(x))).join(',')).join('\n') + '\n';

/** The present view as a program for the package. @param {import('./store.js').State} s */
export function asJavaScript(s) {
  const { temperature, topK, topP, seed, ignoreEos } = s.sampler;
  const n = s.tokens.filter((t) => !t.given).length || s.maxTokens;
  const point = `${inView(s.stack === 'encoder' ? { ...s, stack: 'self' } : s).point}.hook_pattern`;   // the encoder runs once, no step brings its rows
  const prompt = s.prompt || s.tokens.filter((t) => t.given).map((t) => t.id);   // without words it begins with a token of its own
  const source = s.model?.config.kind === 'encoder_decoder' ? `source: ${JSON.stringify(s.source)}, ` : '';
  const address = s.model?.address ? new URL(s.model.address, document.baseURI).href : s.model?.name ?? 'model.gguf';
  return `import { load } from 'glassformer';

const model = await load(${JSON.stringify(address)});
const run = model.generate(${JSON.stringify(prompt)}, {
  ${source}maxTokens: ${n}, temperature: ${temperature}, topK: ${topK}, topP: ${topP}, seed: ${seed},${ignoreEos ? ' ignoreEos: true,' : ''}
  capture: [${JSON.stringify(point)}],
});
for await (const step of run) {
  const { data, shape } = step.captured[${JSON.stringify(point)}];   // [head, query, key]
  const [, queries, keys] = shape;
  const from = (${s.head.head} * queries + queries - 1) * keys;
  const row = data.subarray(from, from + keys);                     // head ${s.head.head}, the newest query
  console.log(JSON.stringify(step.text), 'after reading', row.indexOf(Math.max(...row)));
}
model.dispose();
`;
}
