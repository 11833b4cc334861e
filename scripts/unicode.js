// unicode.js - generates the table in src/train/text/unicode.c from the Unicode data of the running Node
//
//   node scripts/unicode.js     prints the table; process.versions.unicode is its version
const LONGEST = 0x3fff;
const kind = (code) => {
  if (code >= 0xd800 && code < 0xe000) return 3; // surrogates are not characters
  const c = String.fromCodePoint(code);
  return /\p{L}/u.test(c) ? 0 : /\p{N}/u.test(c) ? 1 : /\s/u.test(c) ? 2 : 3;
};
const runs = [];
for (let code = 0, n = 0; code <= 0x10ffff; code++) {
  n++;
  if (n < LONGEST && code < 0x10ffff && kind(code + 1) === kind(code)) continue;
  runs.push((n << 2) | kind(code));
  n = 0;
}
console.log(`    /* Unicode ${process.versions.unicode} */`);
for (let i = 0; i < runs.length; i += 12)
  console.log(
    `    ${runs
      .slice(i, i + 12)
      .map((run) => `0x${run.toString(16)},`)
      .join(' ')}`,
  );
