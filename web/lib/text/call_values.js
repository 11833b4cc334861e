// call_values.js - the values in calls of tools as models write them: JSON, Python's calls, and FunctionGemma's braces

/** A value, and where the text behind it begins. @typedef {{value: any, end: number}} Read */

/**
 * The JSON value that begins at a place of a text.
 * @param {string} text
 * @param {number} at
 * @returns {Read | undefined}
 */
export function jsonAt(text, at) {
  let [depth, inString] = [0, false];
  for (let i = at; i < text.length; i++) {
    const c = text[i];
    if (inString && c === '\\') i++;
    else if (c === '"') inString = !inString;
    else if (!inString && (c === '{' || c === '[')) depth++;
    else if (!inString && (c === '}' || c === ']')) depth--;
    if (depth > 0 || inString || !/["}\]]/.test(c)) continue;
    try {
      return { value: JSON.parse(text.slice(at, i + 1)), end: i + 1 };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

/** Reads values from a text. It throws nothing: what is wrong ends it. */
class Reader {
  /** @param {string} text @param {number} at */
  constructor(text, at) {
    this.text = text;
    this.at = at;
  }

  /** @param {RegExp} pattern  sticky @returns {string[] | null} */
  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at += found[0].length;
    return found;
  }

  /**
   * What stands between two brackets, with commas.
   * @param {RegExp} close
   * @param {() => boolean} entry  whether one was read
   * @returns {boolean}
   */
  entries(close, entry) {
    if (this.take(close)) return true;
    do if (!entry()) return false;
    while (this.take(/\s*,\s*/y));
    return Boolean(this.take(close));
  }

  /** @param {RegExp} key @param {RegExp} close @param {() => any} value @returns {Record<string, any> | undefined} */
  object(key, close, value) {
    /** @type {[string, any][]} */
    const out = [];
    const isWhole = this.entries(close, () => {
      const name = this.take(key)
        ?.slice(1)
        .find((one) => one !== undefined);
      const own = name === undefined ? undefined : value();
      if (name !== undefined) out.push([name, own]);
      return own !== undefined;
    });
    return isWhole ? Object.fromEntries(out) : undefined;
  }

  /** @param {RegExp} close @param {() => any} value @returns {any[] | undefined} */
  array(close, value) {
    /** @type {any[]} */
    const out = [];
    const isWhole = this.entries(close, () => {
      out.push(value());
      return out[out.length - 1] !== undefined;
    });
    return isWhole ? out : undefined;
  }
}

const WORDS = /** @type {Record<string, any>} */ ({
  ...{ True: true, False: false, None: null, true: true, false: false, null: null },
});
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LETTERS = /** @type {Record<string, string>} */ ({ n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' });

/** @param {string} literal @returns {string} */
const unescaped = (literal) =>
  literal.replace(/\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|([^]))/g, (_, u, x, letter) =>
    (u ?? x) ? String.fromCharCode(parseInt(u ?? x, 16)) : (LETTERS[letter] ?? letter),
  );

/** A literal of Python. @param {Reader} reader @returns {any} */
function literal(reader) {
  const string = reader.take(/\s*(?:"((?:[^"\\]|\\[^])*)"|'((?:[^'\\]|\\[^])*)')/y);
  if (string) return unescaped(string[1] ?? string[2]);
  if (reader.take(/\s*[[(]\s*/y)) return reader.array(/\s*[\])]/y, () => literal(reader));
  if (reader.take(/\s*\{\s*/y))
    return reader.object(/\s*(?:"((?:[^"\\]|\\[^])*)"|'((?:[^'\\]|\\[^])*)')\s*:\s*/y, /\s*\}/y, () => literal(reader));
  const number = reader.take(NUMBER);
  if (number) return Number(number[0]);
  const word = reader.take(/[A-Za-z]+/y)?.[0];
  return word !== undefined && Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
}

/**
 * A call of Python, or Llama's name.call(...).
 * @param {Reader} reader
 * @returns {{name: string, arguments: any} | undefined}
 */
function pythonCall(reader) {
  const name = reader.take(/\s*([\w.-]+?)(?:\.call)?\(\s*/y)?.[1];
  const given = name && reader.object(/\s*(\w+)\s*=\s*/y, /\s*\)/y, () => literal(reader));
  return name && given ? { name, arguments: given } : undefined;
}

/**
 * Calls as Python writes them: one, or a list.
 * @param {string} text
 * @param {number} at
 * @returns {Read | undefined}
 */
export function pythonCallsAt(text, at) {
  const reader = new Reader(text, at);
  const one = () => pythonCall(reader);
  const value = reader.take(/\s*\[\s*/y) ? reader.array(/\s*\]/y, one) : [one()].filter(Boolean);
  return value?.length ? { value, end: reader.at } : undefined;
}

/** A value of FunctionGemma's. @param {Reader} reader @returns {any} */
function braced(reader) {
  const string = reader.take(/<escape>([^]*?)<escape>/y);
  if (string) return string[1];
  if (reader.take(/\[/y)) return reader.array(/\]/y, () => braced(reader));
  if (reader.take(/\{/y)) return reader.object(/([^:,{}]+):/y, /\}/y, () => braced(reader));
  const number = reader.take(NUMBER);
  if (number) return Number(number[0]);
  const word = reader.take(/[a-z]+/y)?.[0];
  return word !== undefined && Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
}

/**
 * The arguments that FunctionGemma writes: {a:1,b:<escape>text<escape>}.
 * @param {string} text
 * @param {number} at
 * @returns {Read | undefined}
 */
export function bracesAt(text, at) {
  const reader = new Reader(text, at);
  const value = text[at] === '{' ? braced(reader) : undefined;
  return value === undefined ? undefined : { value, end: reader.at };
}
