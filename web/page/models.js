// models.js - the checkpoints that come with the page, smallest first, and the text it opens with.

export const SHIPPED = [
  { file: 'weights/stories-3m.gguf', name: 'stories-3M', about: 'writes short stories in simple English; modern block, Q8_0' },
];

export const START_PROMPT = 'Once upon a time, a little fox found a';
