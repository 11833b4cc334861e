// save.js - what a visitor takes along: links, files, code.

import { editsOf } from './switches.js';
import { inView } from './patterns.js';

/**
 * Offer a file under this name.
 * @param {string} name
 * @param {string | Blob} content
 * @param {string} [type]
 */
export function saveFile(name, content, type = 'text/plain') {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * Rows as CSV.
 * @param {(string | number)[][]} rows
 */
export const csv = (rows) =>
  rows
    .map((row) =>
      row.map((x) => (/[",\n]/.test(String(x)) ? `"${String(x).replace(/"/g, '""')}"` : String(x))).join(','),
    )
    .join('\n') + '\n';

const SELF = /** @type {const} */ ('self');

/** The present view as a program for the package: the text with the selected head, and how the prompt goes on without the parts that are off.
 * @param {import('./state.js').State} s */
export function asJavaScript(s) {
  const json = JSON.stringify;
  const { temperature, topK, topP, seed, ignoreEos } = s.sampler;
  const { address, name, made, config } = s.run.model ?? {};
  const given = s.text.tokens.filter((t) => t.given);
  const n = s.text.tokens.length - given.length || s.run.maxTokens;
  // the encoder runs once, no step brings its rows
  const shown = s.attention.stack === 'encoder' ? { ...s, attention: { ...s.attention, stack: SELF } } : s;
  const point = `${inView(shown).point}.hook_pattern`;
  const ids = (/** @type {import('./state.js').Token[]} */ tokens) => tokens.map((t) => t.id);
  const wordless = !given.some((t) => t.text);
  const prompt = s.text.prompt && !wordless ? s.text.prompt : ids(given); // without words it begins with a token of its own
  const source =
    config?.kind === 'encoder_decoder'
      ? `source: ${json(wordless && made ? ids(s.text.sourceTokens) : s.text.source)}, `
      : '';
  const edits = editsOf(config, s.attention.off);
  const opened = made
    ? `create(${json(made.config)}, { seed: ${made.seed} })`
    : `load(${json(address ? new URL(address, document.baseURI).href : name)})`;
  const row = (/** @type {string} */ query) => `const from = (${s.attention.head.head} * queries + ${query}) * keys;
  const row = data.subarray(from, from + keys);                     // head ${s.attention.head.head}, `;
  const text = s.text.pure
    ? `const run = model.generate(${json(prompt)}, {
  ${source}maxTokens: ${n}, temperature: ${temperature}, topK: ${topK}, topP: ${topP}, seed: ${seed},${ignoreEos ? ' ignoreEos: true,' : ''}
  capture: [${json(point)}],
});
for await (const step of run) {
  const { data, shape } = step.captured[${json(point)}];   // [head, query, key]
  const [, queries, keys] = shape;
  ${row('queries - 1')}the newest query
  console.log(JSON.stringify(step.text), 'after reading', row.indexOf(Math.max(...row)));
}`
    : // tokens were chosen by hand, or the sampler was moved: no seed gives this text
      `const ids = ${json(ids(s.text.tokens))};
const { captured } = await model.forward(ids, { ${source}capture: [${json(point)}] });
const { data, shape } = captured[${json(point)}];   // [head, query, key]
const [, queries, keys] = shape;
for (let query = 0; query < queries; query++) {
  ${row('query')}one query
  console.log(ids[query], 'reads', row.indexOf(Math.max(...row)));
}`;
  const without = edits.length
    ? `
// the same prompt without the parts that were switched off, greedily
const edits = ${json(edits)};
for await (const step of model.generate(${json(prompt)}, { ${source}maxTokens: 32, temperature: 0, edits })) console.log(JSON.stringify(step.text));
`
    : '';
  return `import { ${made ? 'create' : 'load'} } from 'glassformer';

const model = await ${opened};${address || made ? '' : '   // the path of that file'}
${text}
${without}model.dispose();
`;
}

/**
 * The text as it stands: everything that is needed to make it again, and what came of it.
 * @param {import('./state.js').State} s
 */
export function asJson(s) {
  const { name, address, made, config, backend } = s.run.model ?? {};
  const token = (/** @type {import('./state.js').Token} */ t, /** @type {number} */ position) => ({
    position,
    id: t.id,
    text: t.text,
    given: t.given,
    logprob: t.logprob,
  });
  return JSON.stringify(
    {
      model: { name, address, ...(made && { made }), config, backend },
      prompt: s.text.prompt,
      ...(config?.kind === 'encoder_decoder' && {
        source: s.text.source,
        sourceIds: s.text.sourceTokens.map((t) => t.id),
      }),
      sampler: s.sampler,
      fromSeedAlone: s.text.pure,
      tokens: s.text.tokens.map(token),
      branches: s.text.branches.map((b) => ({ at: b.at, tokens: b.tokens.map(token) })),
      off: editsOf(config, s.attention.off),
      speed: s.run.speed,
      pattern: {
        layer: s.attention.head.layer,
        head: s.attention.head.head,
        rows: s.text.tokens.map((_, q) =>
          Array.from(s.attention.patterns?.row(s.attention.head.layer, s.attention.head.head, q) ?? []),
        ),
      },
    },
    null,
    1,
  );
}
