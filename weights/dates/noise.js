// noise.js - what people add to a date or get wrong in it: times, spaces, commas, misspelt months

/** Edits that turn one word into the other: letters inserted, removed, replaced, or swapped with their neighbour.
 * @param {string} a @param {string} b */
function distance(a, b) {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      let d = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + Number(a[i - 1] !== b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, rows[i - 2][j - 2] + 1);
      rows[i].push(d);
    }
  }
  return rows[a.length][b.length];
}

/**
 * A month with one or two wrong letters that is still closest to its own name; the month itself where none was found.
 * @param {string} month
 * @param {string[]} all  the twelve names
 * @param {() => number} draw
 */
export function misspelt(month, all, draw) {
  for (let tries = 0; tries < 20; tries++) {
    const letters = [...month];
    for (let n = draw() < 0.8 ? 1 : 2; n > 0; n--) {
      const at = 1 + Math.floor(draw() * (letters.length - 1)),
        kind = draw();
      if (kind < 0.3) letters.splice(at, 1);
      else if (kind < 0.5) letters.splice(at, 0, letters[at]);
      else if (kind < 0.8 && at + 1 < letters.length) letters.splice(at, 2, letters[at + 1], letters[at]);
      else letters[at] = 'aeiou'.includes(letters[at]) ? 'aeiou'[Math.floor(draw() * 5)] : letters[at];
    }
    const word = letters.join('');
    const own = distance(word, month);
    if (own > 0 && word.length > 2 && all.every((other) => other === month || distance(word, other) > own + 1))
      return word;
  }
  return month;
}

const BEFORE = ['on ', 'by ', 'due ', 'before ', 'since ', 'born '];
/** @type {((hour: number, minute: string) => string)[]} */
const AFTER = [
  (h, m) => ` ${h}:${m}`,
  (h, m) => `, ${h}:${m}`,
  (h, m) => ` at ${h}:${m}`,
  (h) => ` at ${(h % 12) + 1} pm`,
  (h) => ` at ${(h % 12) + 1} am`,
  () => ' at noon',
  () => ' at midnight',
  () => ' in the morning',
  () => ' in the evening',
];

/**
 * Add words and spaces to a written date, and leave its commas out.
 * @param {string} text
 * @param {() => number} draw
 */
export function disturbed(text, draw) {
  const one = (/** @type {any[]} */ list) => list[Math.floor(draw() * list.length)];
  if (draw() < 0.1) text = text.replaceAll(',', '');
  if (draw() < 0.12) text += one(AFTER)(Math.floor(draw() * 24), String(Math.floor(draw() * 60)).padStart(2, '0'));
  if (draw() < 0.1) text = one(BEFORE) + text;
  if (draw() < 0.1) text = text.replace(' ', '  ');
  if (draw() < 0.05) text = ` ${text}`;
  if (draw() < 0.05) text = `${text} `;
  return text;
}
