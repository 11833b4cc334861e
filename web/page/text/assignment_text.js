// assignment_text.js - the sentences of a link for a class: a question, and what is hidden until it is answered
import { say } from '../state/base/language.js';

/** What an assignment can hide. */
export const CONCEALED = {
  next: say`what follows the chosen token (nothing is written until it is shown)`,
  attention: say`where the heads look`,
  lens: say`the logit lens`,
  parameters: say`the table of parameters`,
};

export const ASSIGNMENT = {
  open: say`Link for a class`,
  title: say`A link for a class`,
  about: say`The link opens this model, prompt, view and token for everyone, with your questions at the top. Parts you hide stay hidden until a student reveals them. Textbook questions come with hints and answer checking, and can be printed.`,
  question: say`Question`,
  hide: say`Hide at first`,
  ask: say`Questions of the textbook`,
  worksheet: say`Worksheet`,
  page: (title) => say`Textbook: ${title}`,
  print: say`Print the worksheet`,
  here: say`Open it here`,
  copy: say`Copy the link`,
  reveal: say`Show what is hidden`,
  concealed: say`Hidden. Use “Show what is hidden” above.`,
  hidden: (parts) => say`Hidden everywhere on the page: ${parts.join(', ')}.`,
  own: say`This model is only on your computer, so a link cannot open it. Choose a built-in model or one loaded from a URL.`,
};
