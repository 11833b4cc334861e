// alignment_lab.js - an encoder-decoder writes a date: its cross-attention finds the characters of the source
import {
  attentionOf,
  claimRows,
  indexOfLargest,
  matrixOf,
  mean,
  percent,
  randomIntegers,
  ranked,
  zeros,
} from './measures.js';
import { paper } from './papers.js';

/** @import { Edit, Model } from '../../api/index.js' */
/** @import { Lab } from './labs.js' */
/**
 * A date as people write it. aligned: for each character of `iso` the places of `text` that it is read from; a hyphen
 * has none.
 * @typedef {{text: string, iso: string, aligned: number[][]}} Written
 */

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const FORMS = ['M D, Y', 'D M Y', 'the Dth of M, Y'];
const FIELDS = ['year', 'month', 'day'];
/** The field of each character of yyyy-mm-dd. */
const FIELD_OF = [0, 0, 0, 0, -1, 1, 1, -1, 2, 2];
/** Characters of each field. */
const LETTERS = [4, 2, 2];
const DATES = 200;

/** A date with a day from the 10th to the 20th. @param {(n: number) => number} random @returns {Written} */
function someDate(random) {
  const [year, month, day] = [String(1800 + random(301)), random(12), String(10 + random(11))];
  const text = FORMS[random(FORMS.length)].replace(
    /[MDY]/g,
    (field) => ({ M: MONTHS[month], D: day, Y: year })[field] ?? '',
  );
  /** @param {string} part @param {number} at */
  const places = (part, at) => Array.from(part, (_, i) => at + i);
  const years = places(year, text.lastIndexOf(year));
  const names = places(MONTHS[month], text.indexOf(MONTHS[month]));
  const days = places(day, text.search(/\b\d\d\D/));
  const aligned = [...years.map((at) => [at]), [], names, names, [], ...days.map((at) => [at])];
  return { text, iso: `${year}-${String(month + 1).padStart(2, '0')}-${day}`, aligned };
}

/**
 * Reads a date and writes it, each character after the right ones before it.
 * @param {Model} model
 * @param {Written} date
 * @param {Edit[]} [edits]
 */
async function write(model, { text, iso }, edits = []) {
  const [source, target] = await Promise.all(
    [text, iso].map((each) => model.encode(each, { addSpecialTokens: false })),
  );
  const input = [model.special.bos ?? 0, ...target.slice(0, -1)];
  const { logits, captured } = await model.forward(input, { source, edits, capture: ['*.cross_attn.hook_pattern'] });
  const size = logits.shape[1];
  const best = target.map((_, at) => indexOfLargest(logits.data.subarray(at * size, (at + 1) * size)));
  const attention = (/** @type {number} */ layer, /** @type {number} */ head) =>
    attentionOf(captured[`decoder.${layer}.cross_attn.hook_pattern`], [head]);
  return { attention, right: target.map((id, at) => Number(id === best[at])), text: await model.decode(best) };
}

/** @type {Lab['run']} */
async function* run({ model, seed, size, change }) {
  const [dates, hidden] = [size === 'short' ? 10 : DATES, change - 1];
  const heads = zeros(model.config.nLayers, model.config.nHeads);
  const names = ranked(heads).map(({ layer, head }) => `${layer}.${head}`);
  const random = randomIntegers(seed);
  /** Sums by head and field: how often its strongest weight is on the right characters. */
  const found = zeros(names.length, FIELDS.length);
  /** Sums of right characters by field: as it is, and without the hidden ones. */
  const right = zeros(2, FIELDS.length);
  for (let i = 1; i <= dates; i++) {
    const date = someDate(random);
    const plain = await write(model, date);
    const unseen = new Set(date.aligned.flatMap((places, at) => (FIELD_OF[at] === hidden ? places : [])));
    const edits = [...unseen].map((index) => ({ at: '*.cross_attn.hook_attn_scores', index, set: -1e30 }));
    const blind = await write(model, date, edits);
    const rows = ranked(heads).map(({ layer, head }) => plain.attention(layer, head));
    for (const [at, field] of FIELD_OF.entries()) {
      if (field < 0) continue;
      const add = (/** @type {number[]} */ sums, /** @type {boolean | number} */ is) =>
        (sums[field] += Number(is) / (dates * LETTERS[field]));
      rows.forEach((row, head) => add(found[head], date.aligned[at].includes(indexOfLargest(row[at]))));
      [plain, blind].forEach((each, way) => add(right[way], each.right[at]));
    }
    if (i % 10) continue;
    const best = indexOfLargest(found.map(mean));
    /** @type {[string, string][]} */
    const [shares, attention] = [
      ['Characters whose source a head finds', 'share'],
      [`Cross-attention of head ${names[best]}`, ''],
    ];
    const texts = [
      { name: date.text, text: plain.text },
      { name: `the decoder does not see the ${FIELDS[hidden]}`, text: blind.text },
    ];
    const figures = [
      matrixOf('accuracy', shares, ['head', names], ['field', FIELDS], found, [0, 1]),
      matrixOf('attention', attention, ['written', date.iso], ['source', date.text], rows[best], [0, 1]),
      { id: 'texts', kind: /** @type {const} */ ('texts'), title: 'What is written', texts },
    ];
    yield { progress: i / dates, doing: `date ${i} of ${dates}`, figures };
  }
  return { found: findings(names, found, right, hidden) };
}

/**
 * @param {string[]} names     of the heads
 * @param {number[][]} found   shares by head and field
 * @param {number[][]} right   shares by field: as it is, and with a field hidden
 * @param {number} hidden
 * @returns {[string, boolean][]}
 */
function findings(names, found, [right, masked], hidden) {
  const others = (/** @type {number[]} */ shares) => mean(shares.filter((_, field) => field !== hidden));
  return [
    ...FIELDS.map((_, field) => {
      const shares = found.map((row) => row[field]);
      const best = indexOfLargest(shares);
      return /** @type {[string, boolean]} */ ([
        `head ${names[best]}: ${percent(shares[best], 1)}`,
        shares[best] >= 0.9,
      ]);
    }),
    [
      `${percent(masked[hidden])} of the ${FIELDS[hidden]}'s digits right, otherwise ${percent(right[hidden])}`,
      masked[hidden] < 0.5 && right[hidden] > 0.9,
    ],
    [`${percent(others(masked))} of the other digits right, otherwise ${percent(others(right))}`, others(masked) > 0.9],
  ];
}

/** @type {Lab} */
export const lab = {
  name: 'alignment',
  title: 'Alignment',
  claim:
    'A decoder that writes what an encoder has read looks, for each character, at those of the source ' +
    'that it comes from. Nobody has told it which: the alignment is learnt.',
  references: [paper('Bahdanau et al. 2015', 'section 5.2.1, figure 3'), paper('Vaswani et al. 2017', 'section 3.2.3')],
  claims: [
    ...claimRows('Bahdanau et al. 2015', [
      ['A head finds each digit of the year', 'figure 3', 'its strongest weight, for at least 90 % of its characters'],
      ['A head finds the name of the month', 'figure 3', 'its strongest weight, for at least 90 % of its characters'],
      ['A head finds each digit of the day', 'figure 3', 'its strongest weight, for at least 90 % of its characters'],
    ]),
    ...claimRows('Vaswani et al. 2017', [
      [
        'Masking those source characters breaks the matching digits',
        'section 3.2.3',
        'less than half of these digits right',
      ],
      ['All other digits stay correct', 'section 3.2.3', 'more than 90 % right'],
    ]),
  ],
  look: [
    'Characters whose source a head finds: one head for the whole date, or one for each part of it.',
    'Cross-attention: the order of the dark cells is that of the source, not that of what is written.',
    'What is written: the mask hides characters from the decoder only; the encoder has read them, and states beside ' +
      'them may carry them.',
  ],
  refutes: 'Weights beside the characters, or a date that is right although the decoder may not look at it.',
  model: 'dates/',
  change: { title: 'Hidden from the decoder: 1 the year, 2 the month, 3 the day', values: [1, 2, 3], default: 1 },
  run,
};
