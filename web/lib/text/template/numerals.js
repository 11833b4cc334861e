// numerals.js - characters that are digits and numbers in Python, beside those that Unicode calls numbers

/** Digits that are no decimal digits: raised, lowered and circled ones. */
const OTHER_DIGITS =
  '\\xb2\\xb3\\xb9\\u1369-\\u1371\\u19da\\u2070\\u2074-\\u2079\\u2080-\\u2089\\u2460-\\u2468' +
  '\\u2474-\\u247c\\u2488-\\u2490\\u24ea\\u24f5-\\u24fd\\u24ff\\u2776-\\u277e\\u2780-\\u2788' +
  '\\u278a-\\u2792\\u{10a40}-\\u{10a43}\\u{10e60}-\\u{10e68}\\u{11052}-\\u{1105a}' +
  '\\u{1f100}-\\u{1f10a}';

/** Ideographs that are numbers. */
const IDEOGRAPHS =
  '㐅㒃㠪㭍一七万三九二五亖亿仟仨伍佰億兆兩八六十千-卅卌叁-叄四壱壹幺廾廿弌-弎弐' +
  '拾捌柒漆玖百肆萬貮貳贰阡陆陌陸零什參拾兩零六陸什𠀁𠁤𠃢𠄡𠤪𠦃𠦌𠦜𠫪𠫽𠬙𢎐𢦘𣬛𦉭廾';

/** What str.isdigit counts. */
export const DIGITS = new RegExp(`[\\p{Nd}${OTHER_DIGITS}]`, 'u');
/** What str.isnumeric counts. */
export const NUMERALS = new RegExp(`[\\p{N}${IDEOGRAPHS}]`, 'u');
