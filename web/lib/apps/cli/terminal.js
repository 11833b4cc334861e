// terminal.js - text of models and files as it is written to a terminal

/** Control characters, except tab and line feed: those of C0, delete, and those of C1. */
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * A text without effect on a terminal. An escape sequence in a model's text or in a file's name could set the title of
 * the window or the clipboard. A control character of C0 becomes its picture, U+2400 to U+241F; delete and those of C1
 * become U+2421.
 * @param {{isTTY?: boolean}} stream  a pipe or a file gets the text as it is
 * @param {string} text
 * @returns {string}
 */
export const harmless = ({ isTTY }, text) =>
  isTTY ? text.replace(CONTROLS, (c) => (c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : '\u2421')) : text;

/**
 * Write a line that has text of a model or a file, JSON too, in which C1 controls stand as they are.
 * @param {string} text
 */
export const printLine = (text) => void process.stdout.write(`${harmless(process.stdout, text)}\n`);
