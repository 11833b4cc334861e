// values_text.js - sentences about a tensor that is drawn as a picture

export const PICTURED = {
  title: 'Values of this stage',
  box: 'Values. Arrow keys move over the cells, Enter explains one.',
  hint: 'Choose a value to see the terms that made it.',
  asTable: 'As a table',
  table: 'Table of values',
  before: 'Previous numbers',
  after: 'Next numbers',
  none: 'This stage has no values to show.',
  caption: (point) => `${point}, a row for each token`,
  range: (from, to, width) => `${from} to ${to} of ${width}`,
};
