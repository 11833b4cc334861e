// character_classes.js - classes of characters as the Rust library has them
//
// Its crates know the characters of different Unicode versions, and a JavaScript engine those of its own. The lists
// name the characters on which they differ; tests/fuzz/tokenizers.js compares the classes with the library.

/**
 * The inside of a class of a regular expression.
 * @param {string} runs  code points and ranges in hexadecimal
 */
const classOf = (runs) => runs.replace(/[\da-f]+/g, '\\u{$&}').replaceAll(' ', '');

/** White space. `\s` of JavaScript has U+FEFF and lacks U+0085. */
export const SPACE = '\\p{White_Space}';
/** Characters of words, in the crate `regex`. */
export const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';
/** Punctuation, with the symbols of ASCII. */
export const PUNCTUATION = '\\p{P}$+<=>^`|~';
/** Numbers of every script. */
export const NUMBER = '\\p{N}';
/** Chinese characters of BertNormalizer. */
export const CHINESE = classOf(
  '3400-4dbf 4e00-9fff f900-faff 20000-2a6df 2a700-2b73f 2b740-2b81f 2b920-2ceaf 2f800-2fa1f',
);
/** Format characters that BertNormalizer keeps. */
export const FORMAT_KEPT = classOf('890-891 8e2 110cd 13430-1343f');
/** Combining marks that StripAccents keeps. */
export const MARKS_KEPT = classOf(
  '7fd 897-89f 8ca-8d3 9fe afa-aff b55 c04 c3c cf3 d00 d3b-d3c d81 eba ece 1715 180f 1abf-1add ' +
    '1ae0-1aeb 1cf7 1df6-1dfa a82c a8ff 10d24-10d27 10d69-10d6d 10eab-10eac 10efa-10eff 10f46-10f50 ' +
    '10f82-10f85 11070 11073-11074 110c2 11145-11146 111c9 111ce-111cf 11241 1133b 113b8-113c0 113c2 ' +
    '113c5 113c7-113ca 113cc-113d0 113d2 113e1-113e2 1145e 1182c-1183a 11930-11935 11937-11938 ' +
    '1193b-1193e 11940 11942-11943 119d1-119d7 119da-119e0 119e4 11a01-11a0a 11a33-11a39 11a3b-11a3e ' +
    '11a47 11a51-11a5b 11a8a-11a99 11b60-11b67 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 ' +
    '11d8a-11d8e 11d90-11d91 11d93-11d97 11ef3-11ef6 11f00-11f01 11f03 11f34-11f3a 11f3e-11f42 11f5a ' +
    '13440 13447-13455 1611e-1612f 16f4f 16f7f-16f87 16fe4 16ff0-16ff1 1cf00-1cf2d 1cf30-1cf46 1e08f ' +
    '1e130-1e136 1e2ae 1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5',
);
/** Other characters that StripAccents removes. */
export const MARKS_MORE = classOf('1cf2-1cf3');
/** Nonspacing marks that BertNormalizer keeps. */
export const NONSPACING_KEPT =
  MARKS_KEPT +
  classOf(
    '8d4-8e1 1885-1886 1dfb a8c5 a9bd 1123e 11438-1143f 11442-11444 11446 11c30-11c36 11c38-11c3d 11c3f ' +
      '11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 ' +
      '1e026-1e02a 1e944-1e94a',
  );
/** Other characters that BertNormalizer removes with the accents. */
export const NONSPACING_MORE = classOf('1734 1171e');
/** Characters with a canonical decomposition that the library does not know. */
export const CANONICAL_KEPT = classOf(
  '105c9 105e4 11383 11385 1138e 11391 113c5 113c7-113c8 11938 16121-16128 16d68-16d6a',
);
/** Characters with a compatibility decomposition that the library does not know. */
export const COMPATIBLE_KEPT = classOf(
  '32ff a7f1-a7f4 ab69 10781-10785 10787-107b0 107b2-107ba 1ccd6-1ccf9 1e030-1e06d 1f16c 1fbf0-1fbf9',
);
/** Characters of Unicode 17, which the regular expressions of the library take for unassigned. */
const YOUNG = classOf(
  '88f c5c cdc 1acf-1add 1ae0-1aeb 20c1 2b96 a7ce-a7cf a7d2 a7d4 a7f1 fbc3-fbd2 fd90-fd91 fdc8-fdce ' +
    '10940-10959 10ec5-10ec7 10ed0-10ed8 10efa-10efb 11b60-11b67 11db0-11ddb 11de0-11de9 16ea0-16eb8 ' +
    '16ebb-16ed3 16ff2-16ff6 187f8-187ff 18d09-18d1e 18d80-18df2 1ccfa-1ccfc 1ceba-1ced0 1cee0-1cef0 ' +
    '1e6c0-1e6de 1e6e0-1e6f5 1e6fe-1e6ff 1f6d8 1f777-1f77a 1f8d0-1f8d8 1fa54-1fa57 1fa8a 1fa8e 1fac8 ' +
    '1facd 1faea 1faef 1fbfa 2b73a-2b73f 2cea2-2cead 323b0-33479',
);

const young = new RegExp(`[${YOUNG}]`, 'gu');

/**
 * A text of the same length that regular expressions match where those of the library match the text. Unassigned
 * characters stand for those that the library does not know, and another small letter for U+0295, which is none any
 * more.
 * @param {string} text
 */
export const asMatched = (text) =>
  /[\u0295\u088f-\uffff]/.test(text)
    ? text.replace(young, (c) => (c.length > 1 ? '\u{3fffd}' : '\u0378')).replaceAll('\u0295', '\u01be')
    : text;
