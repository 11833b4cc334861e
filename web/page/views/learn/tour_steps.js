// tour_steps.js - what each step of the tour lights and does: everything happens in the page itself
import { scoreScale } from '../../state/facts/architecture.js';
import { habitOf } from '../../state/calls/head_habits.js';
import { READING_MS } from '../../state/base/speed.js';
import { pause } from '../../state/base/yielding.js';

/** @typedef {import('../../state/store/context.js').PageContext} PageContext */
/** @typedef {keyof typeof import('../../text/tour_text.js').STEP_WORDS} StepName */
/**
 * @typedef {object} Step
 * @property {StepName} name
 * @property {string} at  selector of the part that is lit
 * @property {(context: PageContext, signal: AbortSignal) => Promise<void> | void} act
 * @property {(config: any) => boolean} [when]  the model has it
 */

const PIECES = 8; // tokens that the first step writes

/** Writes tokens one by one, at reading speed. @param {PageContext} context @param {number} n @param {AbortSignal} signal */
async function write({ calls }, n, signal) {
  for (let i = 0; i < n && !signal.aborted; i++) {
    await calls.step();
    if (i + 1 < n) await pause(READING_MS);
  }
}

/** The head with the plainest habit. @param {PageContext['page']} page */
function plainest({ attention: { habits } }) {
  const heads = (habits ?? []).flatMap((list, layer) =>
    list.map((scores, head) => ({ layer, head, score: habitOf(scores)?.score ?? 0 })),
  );
  return heads.reduce((best, one) => (one.score > best.score ? one : best), { layer: 0, head: 0, score: 0 });
}

/** @type {Step[]} */
const STEPS = [
  {
    name: 'pieces',
    at: '.stream',
    async act(context, signal) {
      context.calls.stop();
      context.calls.rewind();
      await write(context, PIECES, signal);
    },
  },
  {
    name: 'look',
    at: '.heads',
    act({ page, set }) {
      const { layer, head, score } = plainest(page);
      set({ attention: { arcs: true, stack: 'self', ...(score && { head: { layer, head } }) } });
    },
  },
  { name: 'mix', at: '.anatomy', act: (context, signal) => write(context, 1, signal) },
  { name: 'guess', at: '.next:not([hidden])', act: ({ set }) => set({ view: { candidates: true } }) },
  {
    name: 'broken',
    at: '.tour',
    when: (config) => config.scaleScores !== false && scoreScale(config) !== 1,
    act: () => {},
  },
];

/** The steps that the loaded model has. @param {any} config */
export const stepsOf = (config) => STEPS.filter((step) => step.when?.(config) ?? true);
