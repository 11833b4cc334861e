// synthetic.js - short stories generated from a grammar, to try a recipe without a corpus

const NAMES = ['Lily', 'Tim', 'Anna', 'Ben', 'Mia', 'Sam', 'Sue', 'Tom'];
const ANIMALS = ['dog', 'cat', 'bird', 'rabbit', 'fox', 'bear'];
const THINGS = ['ball', 'kite', 'boat', 'cake', 'hat', 'drum'];
const PLACES = ['in the park', 'by the river', 'at home', 'in the garden'];
const COLOURS = ['red', 'blue', 'big', 'small', 'old'];

/** @ hero, & friend, # animal, $ thing, ~ place, % colour: each drawn once for a story. */
const OPENINGS = [
  'Once upon a time, there was a child named @.',
  'One day, @ went out to play ~.',
  '@ had a % $ and loved it very much.',
];
const MIDDLES = [
  '@ saw a % # ~.',
  'The # took the $ and ran away!',
  '"Can I play with the $?" asked &.',
  '@ said, "Yes, we can share the $."',
  '& was sad because the $ was lost.',
  'They looked for the $ ~, but it was not there.',
  'The # was hungry, so @ gave it some food.',
];
const ENDINGS = [
  'In the end, @ and & were happy.',
  'The # and @ became best friends.',
  '@ went home with the $ and smiled.',
];

const U64 = (1n << 64n) - 1n;

/**
 * Random numbers of 64 bits: xoshiro256++ (Blackman & Vigna 2019), seeded by splitmix64, as src/base/rng.c.
 * @param {bigint} seed
 * @returns {() => bigint}
 */
function random(seed) {
  const s = Array.from({ length: 4 }, () => {
    let z = (seed = (seed + 0x9e3779b97f4a7c15n) & U64);
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & U64;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & U64;
    return z ^ (z >> 31n);
  });
  const rotl = (/** @type {bigint} */ x, /** @type {bigint} */ k) => ((x << k) | (x >> (64n - k))) & U64;
  return () => {
    const out = (rotl((s[0] + s[3]) & U64, 23n) + s[0]) & U64,
      t = (s[1] << 17n) & U64;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45n);
    return out;
  };
}

/**
 * Stories, with a separator line after each.
 * @param {number} n
 * @returns {string}
 */
export function syntheticStories(n) {
  const next = random(1n);
  const pick = (/** @type {string[]} */ list) => list[Number(next() % BigInt(list.length))];
  let text = '';
  for (let i = 0; i < n; i++) {
    /** @type {Record<string, string>} */
    const words = {};
    for (const [mark, list] of Object.entries({
      '@': NAMES,
      '&': NAMES,
      '#': ANIMALS,
      $: THINGS,
      '~': PLACES,
      '%': COLOURS,
    }))
      words[mark] = pick(list);
    while (words['&'] === words['@']) words['&'] = pick(NAMES);
    const sentences = [pick(OPENINGS)];
    for (let k = 2n + (next() % 5n); k; k--) sentences.push(pick(MIDDLES));
    sentences.push(pick(ENDINGS));
    text += `${sentences.map((each) => each.replace(/[@&#$~%]/g, (mark) => words[mark])).join(' ')}\n<|endoftext|>\n`;
  }
  return text;
}
