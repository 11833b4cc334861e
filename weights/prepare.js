#!/usr/bin/env node
// prepare.js - converts raw stories to the form that the trainer reads
//
//   node weights/prepare.js OUT.txt RAW.txt... [--except HELD_OUT.txt]
//
// RAW: texts with a line <|endoftext|> between them, as TinyStories is published (R. Eldan and Y. Li, 2023; its card on
// Hugging Face is roneneldan/TinyStories; Community Data License Agreement, Sharing, 1.0: the data may be shared under
// that licence with attribution; results are not bound by it). OUT: plain ASCII with one such line after each story;
// without duplicates, stories of HELD_OUT and incomplete stories. Prints how many stories were kept, why others were
// left out, and the SHA-256 for a recipe's data_sha256.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const SEPARATOR = '<|endoftext|>';
/** @type {[RegExp, string][]} */
const PLAIN = [
  [/[\u2018\u2019\u02bc]/g, "'"],
  [/[\u201c\u201d]/g, '"'],
  [/\u2026/g, '...'],
  [/\s*[\u2013\u2014]\s*/g, ' - '],
  [/\u00a0/g, ' '],
  [/\r/g, ''],
];

const {
  positionals: [out, ...raw],
  values,
} = parseArgs({ allowPositionals: true, options: { except: { type: 'string' } } });
if (!out || !raw.length) {
  console.error('usage: node weights/prepare.js OUT.txt RAW.txt... [--except HELD_OUT.txt]');
  process.exit(2);
}

/** @param {string} file */
const stories = (file) => readFileSync(file, 'utf8').split(SEPARATOR).map(plain).filter(Boolean);

/** @param {string} text */
function plain(text) {
  for (const [from, to] of PLAIN) text = text.replace(from, to);
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join('\n');
}

/** By what stories are compared: spaces, capitals and punctuation do not count. @param {string} story */
const same = (story) => story.toLowerCase().replace(/[^a-z]+/g, ' ');

/** Why a story is left out; null when it is kept. @param {string} story */
function flaw(story) {
  if (/[^\n -~]/.test(story)) return 'not ASCII';
  if (!/[.!?]["')]*$/.test(story)) return 'breaks off';
  if (!/^["']?[A-Z]/.test(story)) return 'begins in the middle';
  if (story.length < 100 || story.length > 6000) return 'too short or too long';
  return null;
}

const seen = new Set(values.except ? stories(values.except).map(same) : []);
const kept = [];
/** @type {Record<string, number>} */
const left = {};
for (const story of raw.flatMap(stories)) {
  const why = flaw(story) ?? (seen.has(same(story)) ? 'seen before' : null);
  if (why) left[why] = (left[why] ?? 0) + 1;
  else kept.push(story);
  seen.add(same(story));
}
const text = kept.map((story) => `${story}\n${SEPARATOR}\n`).join('');
writeFileSync(out, text);
console.log(`${out}: ${kept.length} stories, ${text.length} bytes, left out: ${JSON.stringify(left)}`);
console.log(`data_sha256 = ${createHash('sha256').update(text).digest('hex')}`);
