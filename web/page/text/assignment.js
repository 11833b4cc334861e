// assignment.js - the sentences of a link for a class: a question, and what is hidden until it is answered

/** What an assignment can hide. */
export const CONCEALED = {
  next: 'what follows the chosen token (nothing is written until it is shown)',
  attention: 'where the heads look',
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
  here: 'Hidden until you ask for it above.',
  hidden: (parts) => `Hidden everywhere on the page: ${parts.join(', ')}.`,
  own: 'This model is on your computer only: others cannot open it from a link. Choose a model of this page, or one from an address.',
};
