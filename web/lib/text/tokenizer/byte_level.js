// byte_level.js - bytes as characters, one for each, as GPT-2 has them (Radford et al. 2019)
//
// Printable characters of Latin-1 stand for their own byte; those from U+0100 on for the other bytes in their order.

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The character of each byte. */
const CHARACTERS = /** @type {string[]} */ ([]);
/** The byte of each character, by its code; 256: none. */
const BYTES = new Uint16Array(0x144).fill(256);
for (let byte = 0, next = 256; byte < 256; byte++) {
  const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  const code = isPrintable ? byte : next++;
  CHARACTERS.push(String.fromCharCode(code));
  BYTES[code] = byte;
}

/**
 * The bytes of a text as characters.
 * @param {string} text
 */
export function byteCharacters(text) {
  if (/^[!-~]*$/.test(text)) return text;
  let out = '';
  for (const byte of encoder.encode(text)) out += CHARACTERS[byte];
  return out;
}

/**
 * The bytes of a token; UTF-8 where one of its characters stands for no byte.
 * @param {string} token
 * @returns {ArrayLike<number>}
 */
function bytesOf(token) {
  const bytes = Array.from({ length: token.length }, (_, i) => BYTES[token.charCodeAt(i)] ?? 256);
  return bytes.includes(256) ? encoder.encode(token) : bytes;
}

/**
 * The text of tokens whose characters stand for bytes.
 * @param {string[]} tokens
 */
export function textOfCharacters(tokens) {
  const parts = tokens.map(bytesOf);
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return decoder.decode(bytes);
}
