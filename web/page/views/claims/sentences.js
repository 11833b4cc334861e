// sentences.js - the sentences around the tutorials' claims
import { figures } from '../../text/format.js';
import { say } from '../../state/base/language.js';

export const TUTORIALS_WORDS = {
  title: say`Same numbers as the tutorial`,
  about: say`the sections of five tutorials: each claim run by this engine in this tab, and where it is seen`,
  flip: say`Flip one byte in every weight file first`,
  flipHint: say`and see which claims notice`,
  run: say`Run`,
  runName: (/** @type {number} */ n) => say` tutorial ${n}`,
  claims: (/** @type {string} */ title) => say`Claims of “${title}”`,
  table: (/** @type {string} */ title) => say`Table of “${title}”`,
  show: say`Show me`,
  exercise: say`Exercise.`,
  randomIds: (/** @type {number} */ n) => say`Take ${n} random ids as the prompt`,
  columns: [say`Claim`, say`Expected`, say`Found`, say`Result`],
  alone: say`Run this one`,
  slow: say` takes seconds`,
  waiting: '…',
  differs: say`✕ differs`,
  printed: say`✓ same, printed otherwise`,
  same: say`✓ same`,
  prints: (/** @type {string} */ text) => say`The tutorial prints: ${text}`,
  progress: (/** @type {number} */ i, /** @type {number} */ n) => say`${i} of ${n} …`,
  lost: (/** @type {string} */ why) => say`The claims could not be fetched: ${why}`,
  summary: (/** @type {{ differs: number, printed: number, n: number, ms: number }} */ r) =>
    [
      r.differs ? say`✕ ${r.differs} of ${r.n} differ` : say`✓ all ${r.n} as expected`,
      ...(r.printed ? [say`${r.printed} printed otherwise`] : []),
      `${figures(r.ms / 1000)} s`,
    ].join(say`, `),
  layer: say`blocks passed; the last point is behind the final norm, if any`,
  size: say`RMS of the stream`,
};
