// tokenizers.js - compares tokenizers of random components with Hugging Face's Rust library, the npm package `tokenizers`
//
//   node tests/fuzz/tokenizers.js [--seconds N] [--cases N] [--seed N] [--case N]
//
// A case is one tokenizer.json with ten texts: ids with and without special tokens, ids and types of two texts, what
// these ids and random ones decode to, with and without special tokens, and the same as a stream. What the library
// refuses, ends at or never answers is no case.
import { fileURLToPath } from 'node:url';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { runFromCommandLine } from './command_line.js';
import { hardTexts, randomText } from './hard_texts.js';
import { Random } from './mutate.js';
import { randomTokenizer } from './random_tokenizers.js';
import { Library } from './tokenizers_library.js';

const TEXTS = 10;
/** A word of this many letters, in one of so many cases. */
const LONG = 100_000;
const LONG_EVERY = 50;

/** What two values are from their first difference on. */
function differences(a, b) {
  const [x, y] = [a, b].map((value) => JSON.stringify(value) ?? String(value));
  let at = 0;
  while (at < x.length && x[at] === y[at]) at++;
  return [x, y].map((text) => text.slice(Math.max(0, at - 60), at + 60)).join(', the library has ');
}

/** What a call gives, or its error. */
function result(call) {
  try {
    return { value: call() };
  } catch (error) {
    return { error: error.message };
  }
}

/** Whether both have the same value, or both an error. */
const agree = (a, b) =>
  a.error === undefined && b.error === undefined
    ? JSON.stringify(a.value) === JSON.stringify(b.value)
    : a.error !== undefined && b.error !== undefined;

/** Whether no later token changes what a decoder has written before. */
function isStreamed(decoder) {
  const steps = decoder?.decoders ?? [decoder];
  const has = (type) => steps.some((step) => step?.type === type);
  const fused = steps.findIndex((step) => /^(Fuse|ByteLevel)$/.test(step?.type));
  if (fused >= 0 && fused < steps.length - 1) return false;
  if (has('ByteFallback') && steps.length > 1) return false;
  return !steps.some((step) => step?.type === 'BPEDecoder' && step.suffix !== '</w>');
}

/** The text of ids that arrive one by one. */
function streamed(tokenizer, ids) {
  const stream = tokenizer.stream();
  return ids.map((id) => stream.push(id)).join('') + stream.end();
}

/**
 * The first difference for a text; undefined: none, null: the library ended.
 * @param {{json: any, ours: Tokenizer, library: Library, r: Random}} one
 * @param {string} text
 */
async function difference({ json, ours, library, r }, text) {
  const pair = randomText(r);
  const ids = Array.from({ length: 1 + r.below(8) }, () => r.below(ours.vocabSize)).filter((id) => ours.knows(id));
  const theirs = await library.answers(JSON.stringify(json), text, pair, ids);
  if (!theirs || theirs.refused) return null;
  const both = result(() => Object.values(ours.encodePair(text, pair)));
  const compared = [
    ['encode', result(() => ours.encode(text, { addSpecialTokens: false })), theirs.plain],
    ['encode with special tokens', result(() => ours.encode(text)), theirs.special],
    [`encode with ${JSON.stringify(pair)}`, both, theirs.both],
  ];
  for (const [list, skipSpecialTokens, text] of theirs.decoded) {
    const what = `decode ${skipSpecialTokens} ${list.slice(0, 20)}`;
    compared.push([what, result(() => ours.decode(list, { skipSpecialTokens })), text]);
    if (!skipSpecialTokens && isStreamed(json.decoder) && text.value && !text.value.includes('\ufffd'))
      compared.push([`stream ${list.slice(0, 20)}`, result(() => streamed(ours, list)), text]);
  }
  const wrong = compared.find(([, a, b]) => !agree(a, b));
  return wrong && `${wrong[0]} ${JSON.stringify(text).slice(0, 300)}: ${differences(wrong[1], wrong[2])}`;
}

/**
 * One case.
 * @param {Library} library
 * @param {number} seed
 * @param {number} n
 * @returns {Promise<{pairs: number, why?: string}>}
 */
async function compared(library, seed, n) {
  const r = new Random(seed, n);
  const json = randomTokenizer(r);
  const { value: ours, error } = result(() => new Tokenizer(json));
  // the library finds one of two such tokens, not always the same, and ends at some texts for an empty one
  if (/when (they are|it is) normalised$/.test(error)) return { pairs: 0 };
  if (error) {
    const refused = await library.answers(JSON.stringify(json), '', '', []);
    return { pairs: 0, ...(!refused?.refused && { why: `refused: ${error}` }) };
  }
  let pairs = 0;
  for (let i = 0; i < TEXTS; i++) {
    const isLong = i === 0 && n % LONG_EVERY === 0;
    const text = isLong ? r.of(['a', 'ab', 'é']).repeat(LONG) : r.below(2) ? r.of(hardTexts) : randomText(r);
    const wrong = await difference({ json, ours, library, r }, text);
    if (wrong) {
      const { model, ...rest } = json;
      return { pairs, why: `${wrong}; ${JSON.stringify(rest)} ${model.type}` };
    }
    pairs += Number(wrong === undefined);
  }
  return { pairs };
}

/**
 * @param {{seed: number, first?: number, cases: number, seconds?: number}} how
 * @returns {Promise<{cases: number, pairs: number, why?: string}>} cases: how many, or the number of the one that
 *   fails; pairs: tokenizers and texts that were compared
 */
export async function fuzzTokenizers({ seed, first = 0, cases, seconds = Infinity }) {
  const end = performance.now() + 1000 * seconds;
  const library = new Library();
  let pairs = 0;
  let n = first;
  try {
    for (; n < first + cases && performance.now() < end; n++) {
      const one = await compared(library, seed, n);
      pairs += one.pairs;
      if (one.why) return { cases: n, pairs, why: one.why };
    }
  } finally {
    library.close();
  }
  return { cases: n - first, pairs };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runFromCommandLine('tokenizers', fuzzTokenizers);
