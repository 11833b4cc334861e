// tour_text.js - sentences of the tour of the first screen: five steps, one sentence each
import { HABITS } from './inside_text.js';
import { say } from '../state/base/language.js';

export const TOUR = {
  label: say`How it works, in five steps`,
  of: (i, n) => say`${i} of ${n}`,
  back: say`Back`,
  next: say`Next`,
  play: say`Play`,
  pause: say`Pause`,
  leave: say`Leave`,
  healthy: say`As it was trained`,
  broken: say`Without the division`,
  writing: say`Both texts are being written.`,
  copy: say`Copy this`,
  elsewhere: say`A model of stories`,
  /** @param {string} own @param {string} other  names of models */
  opens: (own, other) =>
    say`The tour follows a story word by word, which ${own} does not write. It opens ${other} for that; the model menu brings this one back.`,
  open: (other) => say`Open ${other}`,
  deeper: (n) => say`Go deeper: ${n} pages`,
};

/** Title and sentence of each step. habit: of the head that is shown, where it has one. */
export const STEP_WORDS = {
  pieces: () => [
    say`Pieces`,
    say`The model reads a text as pieces, called tokens, and writes one more piece at a time.`,
  ],
  look: (/** @type {keyof typeof HABITS | undefined} */ habit) => [
    say`Look back`,
    habit
      ? say`To choose the next piece, heads look back at earlier pieces: the habit of this one is “${HABITS[habit][0]}”.`
      : say`To choose the next piece, heads look back at earlier pieces: the arcs show where this one looks.`,
  ],
  mix: () => [
    say`Mix`,
    say`What the heads find is mixed into the numbers of the piece, layer after layer, from left to right.`,
  ],
  guess: () => [
    say`Guess`,
    say`At the end every piece that the model knows gets a probability, and one of them is drawn.`,
  ],
  broken: () => [
    say`Break it`,
    say`Now take out the division by the root of d: the same weights and the same prompt, with one idea less.`,
  ],
};

/** What “Copy this” copies. */
export const copiedPair = (prompt, healthy, broken, address) =>
  say`The same language model writes twice after “${prompt}”.

As it was trained:${healthy}

Without the division by the root of d:${broken}

Made in a browser tab, where you can try it: ${address}`;
