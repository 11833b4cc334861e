// shipped_models.js - the checkpoints that come with the page, and what each opens with.
//
// The first is opened at once; the one marked `better`, if any, is offered when a first text has been written.

import { say } from '../base/language.js';
import { SAMPLER } from './sampler_options.js';

/**
 * @typedef {object} Shipped
 * @property {string} file     beside the page; a folder ends in '/'
 * @property {string} name
 * @property {string} about
 * @property {string[]} [parts]  the files of a folder
 * @property {number} [better]  it is offered: bytes to download
 * @property {string} [caution]  what its answers are not
 * @property {Opening} opens   taken over when it follows a model of another kind, or none
 *
 * @typedef {object} Opening
 * @property {string} prompt
 * @property {string} [source]      what its encoder reads
 * @property {string[]} [examples]  other texts to read
 * @property {number} [temperature]
 * @property {import('../calls/shown_attention.js').Stack} [stack]  the attention shown first, and its head
 * @property {{ layer: number, head: number }} [head]
 */

/** What the story models open with; their first head is the one that looks most at the token before. */
const STORY = { prompt: 'Once upon a time, a little fox found a', temperature: SAMPLER.temperature.default };

/** Whether a model at this address writes English stories. @param {string | undefined} address */
export const writesStories = (address = '') => /^weights\/stories/.test(address);

/**
 * Whether the tour's sentences hold for what a model writes: words, from trained weights. Models of others are taken to
 * write words where they have a tokenizer.
 * @param {Pick<import('../store/state.js').LoadedModel, 'address' | 'made' | 'wordless'>} model
 */
export const writesWords = ({ address, made, wordless }) =>
  !made && !wordless && (writesStories(address) || !shippedModelAt(address));

const FOLDER = ['config.json', 'model.safetensors', 'tokenizer.json'];

/** @type {Shipped[]} */
export const SHIPPED = [
  {
    file: 'weights/stories-1m-q4_0.gguf',
    name: 'stories-1M Q4_0',
    about: say`writes short stories in simple English; small, loads instantly`,
    opens: { ...STORY, head: { layer: 1, head: 0 } },
  },
  {
    file: 'weights/stories-1m.gguf',
    name: 'stories-1M',
    about: say`the same weights with 8 instead of 4 bits`,
    opens: { ...STORY, head: { layer: 1, head: 0 } },
  },
  {
    file: 'weights/stories.gguf',
    name: 'stories-5M',
    about: say`the same kind of stories, better written; modern block, Q8_0`,
    better: 5752544,
    opens: { ...STORY, head: { layer: 2, head: 3 } },
  },
  {
    file: 'weights/stories-gpt2.gguf',
    name: 'stories-GPT-2',
    about: say`the same stories on GPT-2's architecture, the size of the small one, to compare`,
    opens: { ...STORY, head: { layer: 2, head: 3 } },
  },
  {
    file: 'weights/dates/',
    parts: FOLDER,
    name: 'dates',
    about: say`turns dates such as “7 March 1999” into yyyy-mm-dd; a 2017-style encoder-decoder that works letter by letter`,
    caution: say`Trained on dates from 1800 to 2100. It answers “no such day” to 30 February, and “not a date” to other texts.`,
    // in block 2, head 2 each digit of the year looks at that digit in the source, the month at its name, the day at
    // the day
    opens: {
      prompt: '',
      source: 'Friday the 13th of September, 2024',
      temperature: 0,
      stack: 'cross',
      head: { layer: 1, head: 1 },
      examples: ['Friday the 13th of September, 2024', 'the 1st of may, 1999', '07/04/1976', '3 JAN 2001', '20991231'],
    },
  },
  {
    file: 'weights/addition/',
    parts: FOLDER,
    name: 'addition',
    about: say`adds two numbers modulo 113: it has learnt the rule from three tenths of all pairs; one layer`,
    caution: say`Its vocabulary is the numbers 0 to 112 and “=”. The answer is the one token after “=”.`,
    opens: { prompt: '17 108 =', temperature: 0 },
  },
  {
    file: 'weights/induction/',
    parts: FOLDER,
    name: 'induction',
    about: say`repeats patterns it has seen; two attention-only layers`,
    caution: say`Its vocabulary is the numbers 0 to 63. In block 2, head 1 attends to what followed the last time.`,
    opens: { prompt: '0 12 40 7 33 51 18 60 25 12 40 7', temperature: 0, head: { layer: 1, head: 0 } },
  },
  {
    file: 'weights/sorting/',
    parts: FOLDER,
    name: 'sorting',
    about: say`puts ten numbers in order; one layer of attention alone`,
    caution: say`Its vocabulary is the numbers 0 to 50 and “=”. The ten tokens after “=” are the answer.`,
    opens: { prompt: '31 4 15 9 26 5 35 8 9 7 =', temperature: 0 },
  },
  {
    file: 'weights/fill/',
    parts: FOLDER,
    name: 'fill',
    about: say`finds hidden words of children’s stories, an encoder; 0.96 MB`,
    caution: say`It does not generate text. Replace a word with [MASK], and it predicts that word from both sides.`,
    opens: { prompt: 'Once upon a time, there was a little [MASK] named Lily. She liked to play in the park.' },
  },
];

/** Bytes of all their files. */
export const SHIPPED_BYTES = 12_848_834;

/**
 * The shipped model from this address.
 * @param {string} file
 */
export const shippedModelAt = (file) => SHIPPED.find((m) => m.file === file);

/** Whether all tokens of a model that comes with the page are numbers. @param {{ opens?: Opening } | null} model */
export const hasOnlyNumbers = (model) => /^[\d\s=]+$/.test(model?.opens?.prompt ?? '');

/**
 * What a model from an address is called.
 * @param {string} address
 */
export const nameOf = (address) =>
  address.startsWith('hf:')
    ? (address.slice(3).split('/').at(-1) ?? address)
    : (new URL(address).pathname.split('/').filter(Boolean).at(-1) ?? new URL(address).host);
