// sentences.js - the sentences around the tutorials' claims
import { figures } from '../../text/format.js';

export const TUTORIALS_WORDS = {
  title: 'Same numbers as the tutorial',
  about: 'the sections of five tutorials: each claim run by this engine in this tab, and where it is seen',
  flip: 'Flip one byte in every weight file first',
  flipHint: 'and see which claims notice',
  run: 'Run',
  runName: (/** @type {number} */ n) => ` tutorial ${n}`,
  claims: (/** @type {string} */ title) => `Claims of “${title}”`,
  table: (/** @type {string} */ title) => `Table of “${title}”`,
  show: 'Show me',
  exercise: 'Exercise.',
  randomIds: (/** @type {number} */ n) => `Take ${n} random ids as the prompt`,
  columns: ['Claim', 'Expected', 'Found', 'Result'],
  alone: 'Run this one',
  slow: ' takes seconds',
  waiting: '…',
  differs: '✕ differs',
  printed: '✓ same, printed otherwise',
  same: '✓ same',
  prints: (/** @type {string} */ text) => `The tutorial prints: ${text}`,
  progress: (/** @type {number} */ i, /** @type {number} */ n) => `${i} of ${n} …`,
  lost: (/** @type {string} */ why) => `The claims could not be fetched: ${why}`,
  summary: (/** @type {{ differs: number, printed: number, n: number, ms: number }} */ r) =>
    [
      r.differs ? `✕ ${r.differs} of ${r.n} differ` : `✓ all ${r.n} as expected`,
      ...(r.printed ? [`${r.printed} printed otherwise`] : []),
      `${figures(r.ms / 1000)} s`,
    ].join(', '),
  layer: 'blocks passed; the last point is behind the final norm, if any',
  size: 'RMS of the stream',
};
