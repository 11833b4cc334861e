// random_patterns.js - random regular expressions, and random texts that an automaton reads
import assert from 'node:assert/strict';
import vm from 'node:vm';
import fc from 'fast-check';

/**
 * A random text of an automaton: random bytes, and after 60 of them the shortest way to an end.
 * @param {import('../../web/lib/text/constrain/automaton.js').Automaton} automaton
 * @param {() => number} random  from 0 to 1
 */
export function randomText(automaton, random) {
  let state = automaton.start;
  const bytes = [];
  const followers = (from) =>
    Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => automaton.step(from, byte));
  while (bytes.length < 60 && !(state.accepting && random() < 0.3)) {
    const all = followers(state);
    if (!all.length) break;
    const ascii = all.filter((byte) => byte < 0x80);
    const drawn = ascii.length && random() < 0.8 ? ascii : all;
    bytes.push(drawn[Math.floor(random() * drawn.length)]);
    state = automaton.step(state, bytes[bytes.length - 1]);
  }
  const queue = [{ state, way: [] }];
  const seen = new Set([state]);
  for (const { state: at, way } of queue) {
    if (at.accepting)
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(new Uint8Array([...bytes, ...way]));
    for (const byte of followers(at)) {
      const next = automaton.step(at, byte);
      if (!seen.has(next)) queue.push({ state: next, way: [...way, byte] });
      seen.add(next);
    }
  }
  return assert.fail(`no end is reached after ${bytes}`);
}

/** A generator of numbers from 0 to 1. */
export const numbersOf = (seed) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

/** Characters that patterns and texts share: of each kind that JSON or UTF-8 treats alike. */
export const CHARACTERS = [
  ...'aabbcAZ_059-.{}]"\\/ \n\t\r\b\u0001\u007f\u00a0éÄ\u2028\ufeff漢\ud7ff\ue000\uffff😀😁\u{10ffff}',
];

const character = fc.constantFrom(...CHARACTERS);

export const value = fc.array(character, { maxLength: 7 }).map((all) => all.join(''));

export const literal = character.map((c) => (/[\\/{}\].]/.test(c) ? `\\${c}` : c));

const escape = fc.constantFrom(
  ...'\\d \\D \\w \\W \\s \\S \\n \\t \\r \\cJ \\x61 \\x0a \\u0062 \\u{1F600} \\ud83d\\ude01 (?:\\0) \\p{L} \\P{Lu} \\p{Script=Han} \\$ \\/'.split(
    ' ',
  ),
);

const inClass = fc.oneof(
  literal.map((c) => (c === '-' ? '\\-' : c)),
  escape.map((source) => source.replace('(?:\\0)', '\\0\\x00')),
  fc.constantFrom(
    'a-c',
    '0-9',
    '\\u0000-\\u001f',
    '😀-😁',
    '\\b',
    '^',
    '$',
    '.',
    '(',
    'é-\\uffff',
    '\\u{d000}-\\u{f000}',
  ),
);

const { pattern: plain } = fc.letrec((tie) => ({
  atom: fc.oneof(
    { depthSize: 'small' },
    literal,
    literal,
    escape,
    fc.constantFrom('.', '[^]', '[]'),
    fc
      .tuple(fc.constantFrom('', '^'), fc.array(inClass, { minLength: 1, maxLength: 3 }))
      .map(([not, all]) => `[${not}${all.join('')}]`),
    fc.tuple(fc.constantFrom('(', '(?:'), tie('pattern')).map(([open, inner]) => `${open}${inner})`),
  ),
  term: fc.oneof(
    { weight: 4, arbitrary: tie('atom') },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          tie('atom'),
          fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,2}', '{1,3}', '{0}'),
          fc.constantFrom('', '?'),
        )
        .map((all) => all.join('')),
    },
    { weight: 1, arbitrary: fc.constantFrom('^', '$') },
  ),
  sequence: fc.array(tie('term'), { maxLength: 4 }).map((all) => all.join('')),
  pattern: fc.oneof(
    { depthSize: 'small' },
    { weight: 3, arbitrary: tie('sequence') },
    { weight: 1, arbitrary: tie('sequence').map((all) => `^${all}$`) },
    { weight: 1, arbitrary: fc.array(tie('sequence'), { minLength: 2, maxLength: 3 }).map((all) => all.join('|')) },
  ),
}));

/**
 * Whether JavaScript's regular expression finds a pattern in a text; null: not within a second. It takes time
 * exponential in the length of a text for some patterns, such as (?:a|){1,}, which stopped one run in five.
 */
export const found = (() => {
  const context = vm.createContext({});
  const script = new vm.Script("new RegExp(source, 'u').test(text)");
  return (source, text) => {
    Object.assign(context, { source, text });
    try {
      return script.runInContext(context, { timeout: 1000 });
    } catch (error) {
      if (error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      return null;
    }
  };
})();

const ahead = fc.tuple(fc.constantFrom('(?=', '(?!'), plain).map(([open, inner]) => `${open}${inner})`);

export const pattern = fc.oneof(
  { weight: 4, arbitrary: plain },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.array(ahead, { minLength: 1, maxLength: 2 }), plain)
      .map(([all, rest]) => `^${all.join('')}(?:${rest})`),
  },
);
