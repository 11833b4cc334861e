#!/usr/bin/env node
// samples.js - continues twenty prompts with a story model, greedy and sampled, unedited, for its model card
//
//   node weights/samples.js MODEL.gguf > MODEL.samples.md
import { basename } from 'node:path';
import { load } from '../web/lib/api/index.js';

const PROMPTS = [
  'Once upon a time, there was a little girl named',
  'Once upon a time, there was a little boy named Tim',
  'One day, a big dog',
  'Lily and her mom went to the park',
  'Tom had a red ball',
  'The cat was very hungry',
  'It was a sunny day',
  '"Can I have a cookie?" asked',
  'Sam was sad because',
  'In the forest there lived a',
  'Mia found a shiny key',
  'The bird wanted to fly',
  'Ben and Anna played with a',
  'The old man smiled and said',
  'There was a small boat on the lake',
  'Lucy did not want to share',
  'Max the puppy ran',
  'The moon was bright',
  'Dad made a big cake',
  'Sue heard a loud noise',
];

const [file] = process.argv.slice(2);
if (!file) {
  console.error('usage: node weights/samples.js MODEL.gguf > MODEL.samples.md');
  process.exit(2);
}

/** One continuation for each prompt. @param {object} how  options of generate */
async function all(how) {
  const texts = [];
  for (const prompt of PROMPTS) {
    let text = '';
    for await (const step of model.generate(prompt, { maxTokens: 120, seed: 1, ...how })) text += step.text;
    texts.push(`- **${prompt}**${text.replace(/\s*\n\s*/g, ' / ')}`);
  }
  return texts;
}

const model = await load(file);
console.log(
  `# ${basename(file)}: continuations, unedited\n\n` +
    'At most 120 tokens each, made by `node weights/samples.js`; a slash stands for a new line.\n',
);
console.log(
  [
    '## Greedy',
    '',
    ...(await all({ temperature: 0 })),
    '',
    '## Drawn: temperature 0.8, top-p 0.95, seed 1',
    '',
    ...(await all({ temperature: 0.8, topP: 0.95 })),
  ].join('\n'),
);
model.dispose();
