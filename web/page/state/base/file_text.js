// file_text.js - texts as the files that are saved can hold them: XML, and cells of a table

/** What XML 1.0 cannot hold: controls but tab and line breaks, U+FFFE, U+FFFF, half of a pair of surrogates. */
const NOT_IN_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu;

/**
 * A text that XML can hold: controls become the pictures of them (U+2400 and the following), others U+FFFD.
 * @param {string} text
 */
export const xmlText = (text) =>
  text.replace(NOT_IN_XML, (found) => (found < ' ' ? String.fromCharCode(0x2400 + found.charCodeAt(0)) : '\ufffd'));

/** Beginnings of a cell that spreadsheets read as a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * A cell of CSV. A text that a spreadsheet would read as a formula gets an apostrophe before it; numbers stay.
 * @param {string | number} value
 */
function cell(value) {
  const text = String(value);
  const isNumber = typeof value === 'number' || (text !== '' && String(Number(text)) === text);
  const plain = FORMULA.test(text) && !isNumber ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replace(/"/g, '""')}"` : plain;
}

/**
 * Rows as CSV.
 * @param {(string | number)[][]} rows
 */
export const csv = (rows) => rows.map((row) => row.map(cell).join(',')).join('\n') + '\n';
