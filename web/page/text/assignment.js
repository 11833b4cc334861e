// assignment.js - the sentences of a link for a class: a question, and what is hidden until it is answered

/** What an assignment can hide, by the panel that shows it. */
export const CONCEALED = {
  next: 'the probabilities of the next token',
  heads: 'the small pictures of the heads',
  attention: 'the large picture of attention',
  lens: 'the logit lens',
  parameters: 'the table of parameters',
};

export const ASSIGNMENT = {
  open: 'Link for a class',
  title: 'A link for a class',
  about:
    'The link opens this model, prompt, view and token for everybody, with your question above and the chosen parts hidden until they are asked for.',
  question: 'Question',
  hide: 'Hide at first',
  copy: 'Copy the link',
  copied: 'Copied',
  refused: 'The browser refused. The link:',
  close: 'Close',
  reveal: 'Show what is hidden',
  hidden: (/** @type {string[]} */ parts) => `Hidden: ${parts.join(', ')}.`,
  own: 'This model is on your computer only: others cannot open it from a link. Choose a model of this page, or one from an address.',
};
