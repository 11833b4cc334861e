// write.js - sentences of the view in which text is written: prompt, text, next token, parameters in short

import { figures, int, percent, quoted } from './format.js';

// -- next token -------------------------------------------------------------------------------------------------------

export const NEXT = {
  title: 'Next token',
  none: 'an encoder predicts none',
  masked: 'an encoder writes none. The logit lens of the view Inside has the word that belongs in the place of [MASK].',
  columns: ['token', 'logit', '÷ T', 'softmax', 'cut'],
  continueFrom: 'Click a word to continue from it.',
};

/**
 * @param {import('../state/state.js').Token} token
 * @param {number | null} entropy  bits, null where it is not known
 */
export const afterToken = (token, entropy) =>
  `after ${quoted(token)}${entropy === null ? '' : `, entropy ${figures(entropy)} bits`}`;

/** @typedef {import('../state/state.js').State['sampler']} Sampler */

/**
 * How many tokens the sampler may draw.
 * @param {Sampler} sampler
 * @param {{ drawable: number | null, size: number | null }} next
 */
export function passing(sampler, { drawable, size }) {
  if (drawable === null || size === null) return NEXT.continueFrom;
  const which =
    drawable === size
      ? `All ${int(size)} can be drawn`
      : `${int(drawable)} of ${int(size)} can be drawn (${cutBy(sampler, drawable)})`;
  return `${which}. ${NEXT.continueFrom}`;
}

/** What leaves the others out. @param {Sampler} sampler */
export const cutBy = ({ temperature, topK, topP }, drawable) =>
  temperature === 0 ? 'T = 0' : topP === 1 || (topK > 0 && (drawable ?? 0) >= topK) ? 'top-k' : 'top-p';

/**
 * One candidate as a screen reader reads it, after its word.
 * @param {import('../state/next_token.js').Candidate} candidate
 */
export function candidateSaid({ model, sampled }, drawn) {
  const sampler = sampled === null ? '' : sampled === 0 ? ', excluded by the sampler' : `, sampler ${percent(sampled)}`;
  return `${percent(model)} by the model${sampler}${drawn ? ', drawn' : ', continue from it'}`;
}

// -- text -------------------------------------------------------------------------------------------------------------

export const TEXT = {
  title: 'Text',
  tokens: 'Tokens of the text',
  expected: 'expected',
  surprising: 'surprising',
  arcs: 'Where the chosen head looks',
  copyLink: 'Copy link',
  copyProgram: 'Copy as JavaScript',
  saveJson: 'Save as JSON',
  startOver: 'Start over',
  keep: 'Keep this run',
};

const REASON = {
  maxTokens: 'max tokens',
  eos: 'the end of the story',
  stop: 'a stop text',
  contextFull: 'the end of the context',
};

const speedSaid = (v) => (v ? `, ${v < 100 ? figures(v) : int(v)} tokens per second` : '');

/** @type {(written: number, speed: number) => string} */
export const pausedSaid = (written, speed) => `Paused after ${written} tokens${speedSaid(speed)}`;

/** @type {(reason: string) => typeof pausedSaid} */
export const endedSaid = (reason) => (written, speed) =>
  `Ended at ${REASON[reason] ?? reason} after ${written} tokens${speedSaid(speed)}`;

/**
 * Why the text ends here, beside it; '' where it may go on.
 * @param {import('../state/state.js').State['run']} run
 */
export function ended({ status, stopReason, maxTokens, model }) {
  if (status !== 'done') return '';
  switch (stopReason) {
    case 'contextFull':
      return `Stopped: the context of ${int(model?.config.contextLength)} tokens is full.`;
    case 'maxTokens':
      return `Stopped at max tokens, ${int(maxTokens)}.`;
    case 'eos':
      return 'The model ended the text.';
    default:
      return '';
  }
}

/**
 * A token in one line.
 * @param {import('../state/state.js').Token | undefined} token
 */
export const tokenSaid = (token, position) =>
  token
    ? `${quoted(token)} · position ${position} · id ${token.id}${token.logprob === null ? '' : `, probability ${percent(Math.exp(token.logprob))}`}`
    : '';

// -- previous versions ------------------------------------------------------------------------------------------------

export const VERSIONS = {
  list: 'Previous versions',
  compare: 'Compare',
  compared: 'Two versions compared',
  names: ['This version', 'Previous version'],
  empty: 'nothing is written here',
};

/** @param {import('../state/state.js').Token} token */
export const backTo = (token) => `Back to ${quoted(token)}`;

/** @param {number[]} bits  of each token */
export function likelihoodSaid(bits) {
  if (!bits.length) return VERSIONS.empty;
  const sum = bits.reduce((a, b) => a + b, 0);
  return `log₂ p = ${figures(-sum)} over ${bits.length} token${bits.length === 1 ? '' : 's'}, ${figures(sum / bits.length)} bits each`;
}

/** @param {import('../state/state.js').Token} token */
export const bitsSaid = (token, bits) => `${quoted(token)}: ${figures(bits)} bits`;

/**
 * Where two texts part and which the model finds likelier.
 * @param {import('../state/state.js').Token[][]} texts
 * @param {number[][]} bits  of each token from there on
 */
export function partingSaid(texts, bits, at) {
  const n = Math.min(bits[0].length, bits[1].length);
  if (!n) return '';
  const sum = (list) => list.slice(0, n).reduce((a, b) => a + b, 0);
  const by = sum(bits[1]) - sum(bits[0]);
  const first = (i) => `${quoted(texts[i][at])} ${percent(2 ** -bits[i][0])}`;
  return `They part after ${quoted(texts[0][at - 1])}: the model gave ${first(0)}, ${first(1)}. Over the ${n === 1 ? 'one token' : `${n} tokens`} that both have, ${by >= 0 ? 'this version' : 'the previous version'} is more likely, by ${figures(Math.abs(by))} bits.`;
}

// -- prompt -----------------------------------------------------------------------------------------------------------

export const PROMPT = {
  title: 'Prompt and sampling',
  prompt: 'Prompt',
  placeholder: 'Write the beginning of a story',
  show: 'Show me how it works',
  step: 'Step',
  stop: 'Stop',
  examples: 'Example prompts',
  reads: 'reads',
  sources: 'Examples',
};

/** @param {import('../state/state.js').State['run']['status']} status */
export const goSaid = (status, written) =>
  status === 'paused' && written ? 'Continue' : status === 'done' ? 'Run again' : 'Run';

const STORIES = ['The dragon was sad because', 'Tom and Sue went to the park', 'One day, a girl lost her'];
const ANY = ['Once upon a time', 'In the morning', '1, 2, 3, 4,']; // nothing that only large models know

/**
 * Prompts that suit a decoder.
 * @param {import('../state/state.js').LoadedModel | null} model
 */
export const examplePrompts = (model) =>
  !model || model.wordless ? [] : /^weights\/stories/.test(model.address) ? STORIES : ANY;

export const SAMPLING = {
  temperature: 'temperature',
  topK: 'top-k',
  topP: 'top-p',
  seed: 'seed',
  newSeed: 'New seed',
  maxTokens: 'max tokens',
  past: 'continue after end-of-story',
  pace: 'pace',
  threads: 'several threads',
  threadsHow:
    'This host does not send the two headers that threads need; the service worker adds them. The page loads again.',
};

export const PACES = /** @type {const} */ ([
  { key: 'reading', name: 'reading speed' },
  { key: 'fast', name: 'full speed' },
  { key: 'step', name: 'one token at a time' },
]);

export const temperatureSaid = (t) => (t === 0 ? '0, greedy' : t.toFixed(2));
export const topKSaid = (k) => (k === 0 ? 'off' : String(k));
export const topPSaid = (p) => (p === 1 ? 'off' : p.toFixed(2));

/** Names the fold of everything else. @param {Sampler} sampler */
export const foldSaid = ({ temperature }) => `Temperature ${temperatureSaid(temperature)}`;

// -- a run that is kept -----------------------------------------------------------------------------------------------

export const KEPT = {
  title: 'Two runs',
  about: 'change the temperature, the seed, the prompt or the model, and run again',
  forget: 'Forget the kept run',
};

export const runSaid = (name, { model, temperature, seed }) =>
  `${name}: ${model}, temperature ${temperatureSaid(temperature)}, seed ${seed}`;
