// strip.js - the names of what the strip over the views has

export const STRIP = {
  label: 'The text',
  before: 'Token before',
  after: 'Token after',
  run: 'Run',
  stop: 'Stop',
  edit: 'Edit the prompt',
};
