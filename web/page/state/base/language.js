// language.js - the language of the page. English stands in the sources, each sentence after the tag `say`; the catalogue of
// another language, a file in languages/, has translations by these sentences
import { recall } from './storage.js';

/** Languages that can be chosen, each under its own name. @type {Record<string, string>} */
export const LANGUAGES = { en: 'English', zh: '简体中文' };

/** @type {Record<string, string> | null}  null: English */
let catalogue = null;

/** What the address asks for, else what was chosen earlier, else the first that the browser was told. */
function wanted() {
  const asked = new URLSearchParams(location.hash.slice(1)).get('lang');
  const codes = [asked, recall('language'), ...navigator.languages].map((tag) => tag?.split('-')[0] ?? '');
  return codes.find((code) => Object.hasOwn(LANGUAGES, code)) ?? 'en';
}

/** Its code, in addresses too. */
export const language = typeof document === 'undefined' ? 'en' : wanted();

if (language !== 'en') {
  // before any module with sentences is evaluated
  try {
    const file = await fetch(new URL(`../../languages/${language}.json`, import.meta.url));
    const { '': about, ...sentences } = await file.json();
    catalogue = sentences;
    Object.assign(document.documentElement, about);
  } catch (error) {
    console.info('The page is in English:', error);
  }
}

/**
 * A sentence in the language of the page. The catalogue has it with {0}, {1} in the places of the values.
 * @param {TemplateStringsArray} parts
 * @param {...any} values
 */
export function say(parts, ...values) {
  if (!catalogue) return String.raw({ raw: parts }, ...values);
  const template = parts.reduce((text, part, i) => `${text}{${i - 1}}${part}`);
  return (catalogue[template] ?? template).replace(/\{(\d)\}/g, (_, i) => String(values[i]));
}

/** Add catalogues of their own to the page's. @param {URL[]} urls @param {string} what  for the console */
async function fetchMore(urls, what) {
  if (!catalogue) return;
  try {
    for (const file of await Promise.all(urls.map((url) => fetch(url)))) Object.assign(catalogue, await file.json());
  } catch (error) {
    console.info(`${what} are in English:`, error);
  }
}

/** Fetches the sentences of the labs, whose English stands in the package, and what they find: languages/labs/. */
export const fetchLabSentences = () =>
  fetchMore(
    [
      new URL(`../../languages/labs/labs_${language}.json`, import.meta.url),
      new URL(`../../languages/labs/found_${language}.json`, import.meta.url),
    ],
    'The labs',
  );

/** Fetches the claims of the tutorials, and what is found of them: languages/claims/. */
export const fetchClaimSentences = () =>
  fetchMore([new URL(`../../languages/claims/claims_${language}.json`, import.meta.url)], 'The tutorials');

/** A sentence that the page was given, in its language where a catalogue has it. @param {string} sentence */
export const translated = (sentence) => catalogue?.[sentence] ?? sentence;

const SUPERSCRIPTS = '⁻⁰¹²³⁴⁵⁶⁷⁸⁹';
const PLAIN = `\\d+(?:,\\d{3})*(?:\\.\\d+)?(?: × 10[${SUPERSCRIPTS}]+)?`;
/** A mean with its interval, such as 0.62 ± 0.03, is one number. */
const NUMBER = new RegExp(`${PLAIN}(?: ± ${PLAIN})?`, 'g');

/**
 * Words with their numbers taken out.
 * @param {string} words
 * @returns {{ key: string, numbers: string[] }} key: with {0}, {1} in their places
 */
export function withoutNumbers(words) {
  /** @type {string[]} */
  const numbers = [];
  const key = words.replace(NUMBER, (number) => `{${numbers.push(number) - 1}}`);
  return { key, numbers };
}

/** Words with numbers in the page's language; " / " is between those of several seeds. @param {string} words */
export const translatedNumbers = (words) =>
  words
    .split(' / ')
    .map(withoutNumbers)
    .map(({ key, numbers }) => translated(key).replace(/\{(\d+)\}/g, (_, i) => numbers[i]))
    .join(' / ');
