// values_text.js - sentences about a tensor that is drawn as a picture
import { say } from '../state/base/language.js';

export const PICTURED = {
  title: say`Values of this stage`,
  box: say`Values. Arrow keys move over the cells, Enter explains one.`,
  hint: say`Choose a value to see the terms that made it.`,
  asTable: say`As a table`,
  table: say`Table of values`,
  before: say`Previous numbers`,
  after: say`Next numbers`,
  none: say`This stage has no values to show.`,
  caption: (point) => say`${point}, a row for each token`,
  range: (from, to, width) => say`${from} to ${to} of ${width}`,
};
