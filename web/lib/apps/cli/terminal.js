// terminal.js - text of models and files as it is written to a terminal

/** Control characters, except tab and line feed: those of C0, delete, and those of C1. */
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * A text without effect on a terminal. An escape sequence in what a model writes or a file names could set the title of
 * the window or the clipboard; each of its control characters becomes the picture of that character (U+2400 and
 * following).
 * @param {{isTTY?: boolean}} stream  a pipe or a file gets the text as it is
 * @param {string} text
 * @returns {string}
 */
export const harmless = ({ isTTY }, text) =>
  isTTY ? text.replace(CONTROLS, (c) => (c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : '\u2421')) : text;
