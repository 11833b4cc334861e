// labs_text.js - sentences of the view Labs: published findings, measured again in this tab
import { bytes, figures, percent, rowsSaid, time } from './format.js';
import { say, translated } from '../state/base/language.js';

/** @typedef {import('glassformer/labs').LabResult} LabResult */

export const LABS_WORDS = {
  title: say`Labs`,
  about: say`Published findings, replicated in this tab. Layers and heads are counted from 1.`,
  references: say`Based on`,
  look: say`What to look at`,
  refutes: say`What would refute it`,
  run: say`Run`,
  again: say`Run again`,
  stop: say`Stop`,
  resume: say`Resume`,
  progress: say`Part of the run that is done`,
  figures: say`Figures`,
  claims: say`What was published and what was measured`,
  columns: { claim: say`claim`, expected: say`paper`, measured: say`here`, verdict: say`verdict` },
  open: say`Open this model`,
  save: say`Save JSON`,
  saveModel: (file) => say`Save ${file}`,
  saveFigure: say`Save SVG`,
  table: say`As a table`,
  short: say`This link runs a short trial that takes seconds; its numbers are not results.`,
  /** @param {boolean | null} [holds]  undefined: not measured; null: seeds differ */
  verdict: (holds) =>
    holds === undefined ? '–' : holds === null ? say`? inconclusive` : holds ? say`✓ holds` : say`✗ does not hold`,
  /** What was recorded of a lab. @param {LabResult['claims']} claims */
  tally: (claims) => {
    const held = claims.filter(({ holds }) => holds).length;
    return claims.length ? say`${held} of ${claims.length} claims held` : '';
  },
  /** @param {number} size  bytes */
  needs: (file, size) =>
    say`Run loads ${file}${size ? `, ${bytes(size)}` : ''}, separately; the current model stays loaded.`,
  trains: say`Run trains a model of its own in this tab; the model of the page stays.`,
  /** @param {LabResult} result */
  recorded: ({ seed, seeds, seconds }) =>
    seeds
      ? say`Recorded earlier on the command line (two cores, seeds ${seed} to ${seed + seeds.length - 1}, ${time(seconds * 1000)}). Press Run to measure it in this tab.`
      : say`Recorded earlier on the command line (two cores, seed ${seed}, ${time(seconds * 1000)}). Press Run to measure it in this tab.`,
  /** @param {LabResult} result */
  measured: ({ seed, seconds }) => say`Measured in this tab: seed ${seed}, ${time(seconds * 1000)}.`,
  status: {
    idle: say`Nothing has run yet.`,
    loading: say`Loading the model …`,
    running: say`Running.`,
    stopped: (progress) => say`Stopped at ${percent(progress)}.`,
    done: say`Done.`,
  },
  curvesSaid: (title, curves, x, y) => say`${title}: ${y} by ${x}. Curves: ${curves.join(', ')}`,
  /** @param {import('glassformer/labs').Matrix} matrix */
  matrixSaid: ({ title, rows, columns, unit, range: [low, high] }) =>
    say`${title}: ${rowsSaid(rows.labels.length)}, ${rows.name}, by ${columns.labels.length} columns, ${columns.name}; colours from ${figures(low)} to ${figures(high)}${unit ? ` ${unit}` : ''}`,
  /** @param {import('glassformer/labs').Axis} axis */
  axis: ({ name, unit }) => [name, unit].filter(Boolean).map(translated).join(', '),
};
