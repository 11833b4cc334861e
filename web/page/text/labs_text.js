// labs_text.js - sentences of the view Labs: published findings, measured again in this tab
import { bytes, figures, percent, time } from './format.js';

/** @typedef {import('glassformer/labs').LabResult} LabResult */

export const LABS_WORDS = {
  title: 'Labs',
  about:
    'findings of the field, measured again in this tab; layers and heads are counted from 0, as in names of points',
  references: 'After',
  look: 'What to look at',
  refutes: 'What would refute it',
  run: 'Run',
  again: 'Run again',
  stop: 'Stop',
  resume: 'Resume',
  progress: 'Part of the run that is done',
  figures: 'Figures',
  claims: 'What was published and what was measured',
  columns: { claim: 'claim', expected: 'paper', measured: 'here', verdict: 'verdict' },
  open: 'Open this model',
  save: 'Save JSON',
  saveModel: (file) => `Save ${file}`,
  saveFigure: 'Save SVG',
  table: 'As a table',
  short: 'This address asks for a shortened run: every step in seconds, no finding.',
  /** @param {boolean} [holds]  undefined: not measured */
  verdict: (holds) => (holds === undefined ? '–' : holds ? '✓ holds' : '✗ does not hold'),
  /** @param {number} size  bytes */
  needs: (file, size) =>
    `Run loads ${file}${size ? `, ${bytes(size)}` : ''}, in a worker of its own; the model of the page stays.`,
  trains: 'Run trains a model of its own in this tab; the model of the page stays.',
  /** @param {LabResult} result */
  recorded: ({ seed, seconds }) =>
    `Measured before, on the command line, on two cores: seed ${seed}, ${time(seconds * 1000)}. Run measures it here.`,
  /** @param {LabResult} result */
  measured: ({ seed, seconds }) => `Measured in this tab: seed ${seed}, ${time(seconds * 1000)}.`,
  status: {
    idle: 'Nothing has run yet.',
    loading: 'Loading the model …',
    running: 'Running.',
    stopped: (progress) => `Stopped at ${percent(progress)}.`,
    done: 'Done.',
  },
  curvesSaid: (title, curves, x, y) => `${title}: ${y} by ${x}. Curves: ${curves.join(', ')}`,
  /** @param {import('glassformer/labs').Matrix} matrix */
  matrixSaid: ({ title, rows, columns, unit, range: [low, high] }) =>
    `${title}: ${rows.labels.length} rows, ${rows.name}, by ${columns.labels.length} columns, ${columns.name}; colours from ${figures(low)} to ${figures(high)}${unit ? ` ${unit}` : ''}`,
  /** @param {import('glassformer/labs').Axis} axis */
  axis: ({ name, unit }) => (unit ? `${name}, ${unit}` : name),
};

/** The first sentence of a text; one that it quotes does not end it. */
export const firstSentence = (text) => /^(?:"[^"]*"|[^"])+?[.?!](?= [A-Z]|$)/.exec(text)?.[0] ?? text;
