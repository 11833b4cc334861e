// models.js - the checkpoints that come with the page, and the text it opens with.
//
// The first is opened at once; the one marked `better`, if any, takes its place as soon as it has arrived, unless the visitor
// has begun to do something by then.

/** @type {{ file: string, name: string, about: string, better?: boolean }[]} */
export const SHIPPED = [
  { file: 'weights/stories-3m.gguf', name: 'stories-3M', about: 'writes short stories in simple English; modern block, Q8_0' },
];

export const START_PROMPT = 'Once upon a time, a little fox found a';
