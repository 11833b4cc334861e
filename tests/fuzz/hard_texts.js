// hard_texts.js - texts on which tokenizers differ: every script, combining marks, emoji, white space, half characters
import { Random } from './mutate.js';

/** A few letters of every script, which the Unicode data of the running Node has. */
function scripts() {
  const names = new Map();
  const letters = new Map();
  for (const name of NAMES) names.set(name, new RegExp(`\\p{Script=${name}}`, 'u'));
  for (let code = 0x41; code < 0x1e960; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const c = String.fromCodePoint(code);
    if (!/[\p{L}\p{N}\p{M}]/u.test(c)) continue;
    for (const [name, pattern] of names)
      if (pattern.test(c)) {
        const own = letters.get(name) ?? [];
        letters.set(name, own);
        own.push(c);
        break;
      }
  }
  return [...letters.values()].map((own) => [0, 0.3, 0.6, 0.99].map((at) => own[Math.floor(at * own.length)]).join(''));
}

const NAMES = (
  'Adlam Ahom Arabic Armenian Balinese Bamum Bassa_Vah Batak Bengali Bopomofo Brahmi Buginese Canadian_Aboriginal Carian ' +
  'Chakma Cham Cherokee Chorasmian Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Dogra Duployan ' +
  'Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul ' +
  'Hebrew Hiragana Inherited Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Lao ' +
  'Latin Lepcha Limbu Linear_B Lisu Lydian Malayalam Mandaic Marchen Meetei_Mayek Mende_Kikakui Miao Modi Mongolian Mro ' +
  'Myanmar Nandinagari New_Tai_Lue Newa Nko Nushu Ogham Ol_Chiki Old_Italic Oriya Osage Pahawh_Hmong Phags_Pa Phoenician ' +
  'Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Soyombo Sundanese Syloti_Nagri ' +
  'Syriac Tagalog Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Ugaritic Vai ' +
  'Wancho Warang_Citi Yezidi Yi Zanabazar_Square'
).split(' ');

/** Every character of white space, and what looks like it. */
const SPACES =
  '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f' +
  '\u3000\u200b\u200c\u200d\u200e\u2060\ufeff\u180e\u2581';

const OWN = [
  '',
  ' ',
  '  ',
  'a',
  'Hello world',
  ' Hello  world ',
  'Hello, y\u2019all! How are you \u{1f601} ?',
  "It's we're they'll I'd 'S 'LL don't do not n't .",
  'schön über Straße. été naïve l\u2019été',
  'e\u0301 é E\u0301\u0327 \u1e09 \u0327\u0301a',
  '\u0301\u0301a\u0302\u0323\u0301',
  'ÅÅ\u212b ﬁ ﬂ ﬀ ½ ² ① Ⅷ ㎞ ﷺ \u0344',
  'ΟΔΥΣΣΕΥΣ ΣΟΣ Σ ς İIıi ẞß ŉ ǰ',
  '１２３ ١٢٣ ४५६ 123 1,234.5 3½ Ⅻ 〇',
  '中文。日本語、한국어 한글 \u1112\u1161\u11ab ひらがな カタカナ ー',
  '\u{20000}\u{2a700}\u{2b740}\u{2b820}\u{2f800}丽 豈',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466} \u{1f3f3}\ufe0f\u200d\u{1f308} \u{1f44d}\u{1f3fd} \u{1f1e9}\u{1f1ea} 1\ufe0f\u20e3',
  'हिन्दी मन्त्र ক্ষ നമസ്കാരം ไทย နှင့် ខ្មែរ བོད',
  'שָׁלוֹם مَرْحَبًا \u202eabc\u202c',
  SPACES,
  Array.from(SPACES, (c) => `a${c}`).join('b'),
  '\ufeffabc\ufeff',
  'a\u0000b\u0001\u007f\u0080\u009f\u00ad\ufffd\ufffe\uffff',
  '\ud800 a\udc00b \ud83d x',
  'a\u{1d400}\u{10ffff}\u{e0001}',
  'under_score a_b __ a\u203fb x\u2040',
  '$&$1 $` \\n a.b*c [x] (y) {z} ^ | ~ `',
  '<s>a</s> [CLS] [MASK] <unk><pad> <0x41> <|end|>',
  ' <s> a  </s>\n[MASK]x[MASK] xhello hello hello_ hello. Hello HELLO',
  '\u2581a\u2581\u2581b \u2581 c\u0120d',
  'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab',
  'ab'.repeat(80),
  'a-b--c- -d the-final--countdown',
  '\r\n\n\r \n\n x\n',
  'é Ġ Ā ½',
  'aΣ\u0301 ΑΣ. Σ\u0345',
  'ʕ ʔ Ωω K\u212a s\u017f',
];

/** Texts of every kind. */
export const hardTexts = [...OWN, ...scripts()];

/**
 * A text of parts of the hard ones.
 * @param {Random} r
 */
export function randomText(r) {
  let text = '';
  for (let n = r.below(6); n >= 0; n--) {
    const part = Array.from(r.of(hardTexts));
    const from = r.below(part.length + 1);
    text += part.slice(from, from + r.below(12)).join('') + r.of(['', '', ' ', 'a', '\n']);
  }
  return text;
}
