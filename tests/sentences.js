// sentences.js - the sentences of the page as a catalogue has them, read from its sources, and a made-up language
//
//   node tests/sentences.js [LANGUAGE]   prints what the catalogue of a language, or of each, has not
import { readFileSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'svelte/compiler';
import { parseAst } from 'vite';

const page = fileURLToPath(new URL('../web/page/', import.meta.url));
const files = (/** @type {RegExp} */ named) =>
  readdirSync(page, { recursive: true, encoding: 'utf8' })
    .filter((file) => named.test(file))
    .sort();

/** The claims of the tutorials in a language. @param {string} language @returns {Record<string, string>} */
export const claimsIn = (language) =>
  JSON.parse(readFileSync(`${page}languages/claims/claims_${language}.json`, 'utf8'));

/** What stands after the tag `say` in a file. @param {string} file  in web/page */
function sentencesOf(file) {
  const text = readFileSync(page + file, 'utf8');
  /** @type {string[]} */
  const found = [];
  const walk = (/** @type {any} */ node) => {
    if (!node || typeof node !== 'object') return;
    if (node.type === 'TaggedTemplateExpression' && node.tag.name === 'say')
      found.push(node.quasi.quasis.map((part, i) => (i ? `{${i - 1}}` : '') + part.value.cooked).join(''));
    Object.values(node).forEach(walk);
  };
  walk(file.endsWith('.svelte') ? parse(text, { modern: true }) : parseAst(text));
  return found;
}

/** All sentences of the page, by file. */
export const SENTENCES = Object.fromEntries(
  files(/\.(?:js|svelte)$/)
    .filter((file) => readFileSync(page + file, 'utf8').includes('say`'))
    .map((file) => [file, sentencesOf(file)]),
);

/** Attributes that a visitor reads or hears, of elements and of our components. */
const READ = /^(?:aria-label|title|placeholder|alt|label|caption|scrolls|about|[xy]Name)$/;

/** Words in templates that stand as they are, as `FILE: "WORDS"`. */
export const UNTAGGED = files(/\.svelte$/).flatMap((file) => {
  /** @type {string[]} */
  const found = [];
  const walk = (/** @type {any} */ node) => {
    if (!node || typeof node !== 'object' || (node.type === 'Attribute' && !READ.test(node.name))) return;
    if (node.type === 'Text' && /[a-z]{2}/i.test(node.data)) found.push(`${file}: ${JSON.stringify(node.data.trim())}`);
    Object.values(node).forEach(walk);
  };
  walk(parse(readFileSync(page + file, 'utf8'), { modern: true }).fragment);
  return found;
});

/** The catalogues by language, without what they say of themselves. @type {Record<string, Record<string, string>>} */
export const CATALOGUES = Object.fromEntries(
  files(/^languages\/[^/]+\.json$/).map((file) => {
    const { '': _, ...sentences } = JSON.parse(readFileSync(page + file, 'utf8'));
    return [basename(file, '.json'), sentences];
  }),
);

/** A language that is read from right to left: English in mirrored brackets, between marks of that direction. */
export const MIRRORED = {
  '': { lang: 'ar', dir: 'rtl' },
  ...Object.fromEntries(
    Object.values(SENTENCES)
      .flat()
      .map((sentence) => [sentence, `\u200f⟧${sentence}⟦\u200f`]),
  ),
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [language, catalogue] of Object.entries(CATALOGUES))
    if (!process.argv[2] || process.argv[2] === language)
      for (const [file, sentences] of Object.entries(SENTENCES))
        for (const sentence of new Set(sentences))
          if (!(sentence in catalogue)) console.log(`${language} ${file}: ${JSON.stringify(sentence)}`);
