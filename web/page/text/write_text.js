// write_text.js - sentences of the view in which text is written: prompt, text, next token, parameters in short

import { figures, int, percent, quoted, tokensSaid } from './format.js';
import { say } from '../state/base/language.js';
import { SAMPLER } from '../state/facts/sampler_options.js';
import { hasOnlyNumbers } from '../state/facts/shipped_models.js';

// -- next token -------------------------------------------------------------------------------------------------------

export const NEXT = {
  title: say`Next token`,
  none: say`encoders do not predict a next token`,
  blank: say`Fill the blank`,
  inPlace: (token) => say`instead of ${quoted(token)}`,
  fill: say`The model sees the words on both sides. Click a word to fill the blank.`,
  columns: [say`token`, 'logit', '÷ T', say`softmax`, say`after top-p`],
  close: say`Close the candidates`,
  continueFrom: say`Click a word to continue from it.`,
};

/**
 * @param {import('../state/store/state.js').Token} token
 * @param {number | null} entropy  bits, null where it is not known
 */
export const afterToken = (token, entropy) =>
  say`after ${quoted(token)}${entropy === null ? '' : say`, uncertainty (entropy) ${figures(entropy)} bits`}`;

/** @typedef {import('../state/facts/sampler_options.js').Sampler} Sampler */

/**
 * How many tokens the sampler may draw.
 * @param {Sampler} sampler
 * @param {{ drawable: number | null, size: number | null }} next
 */
export function passing(sampler, { drawable, size }) {
  if (drawable === null || size === null) return NEXT.continueFrom;
  const which =
    drawable === size
      ? say`All ${int(size)} tokens can be picked`
      : say`${int(drawable)} of ${int(size)} tokens can be picked (${cutBy(sampler, drawable)})`;
  return `${which}. ${NEXT.continueFrom}`;
}

/** What leaves the others out. @param {Sampler} sampler */
export const cutBy = ({ temperature, topK, topP }, drawable) =>
  temperature === 0 ? 'T = 0' : topP === 1 || (topK > 0 && (drawable ?? 0) >= topK) ? 'top-k' : 'top-p';

/**
 * One candidate as a screen reader reads it, after its word.
 * @param {import('../state/facts/token_probabilities.js').Candidate} candidate
 */
export function candidateSaid({ model, sampled }, drawn, fills = false) {
  const sampler =
    sampled === null ? '' : sampled === 0 ? say`, excluded by the sampler` : say`, sampler ${percent(sampled)}`;
  return say`${percent(model)} by the model${sampler}${drawn ? say`, drawn` : fills ? say`, fill it in` : say`, continue from it`}`;
}

// -- text -------------------------------------------------------------------------------------------------------------

export const TEXT = {
  title: say`Text`,
  tokens: say`Tokens of the text`,
  expected: say`expected`,
  surprising: say`surprising`,
  arcs: say`Where the chosen head looks`,
  copyLink: say`Copy link`,
  copyAs: say`Copy as`,
  saveJson: say`Save as JSON`,
  startOver: say`Start over`,
  keep: say`Keep this run`,
};

/** @param {string} language */
export const copyAs = (language) => say`Copy as ${language}`;

const REASON = {
  maxTokens: say`max tokens`,
  eos: say`the end of the story`,
  stop: say`a stop text`,
  contextFull: say`the end of the context`,
};

const speedSaid = (v) => (v ? say`, ${v < 100 ? figures(v) : int(v)} tokens per second` : '');

/** @type {(written: number, speed: number) => string} */
export const pausedSaid = (written, speed) => say`Paused after ${tokensSaid(written)}${speedSaid(speed)}`;

/** @type {(reason: string) => typeof pausedSaid} */
export const endedSaid = (reason) => (written, speed) =>
  say`Stopped after ${tokensSaid(written)}: ${REASON[reason] ?? reason}${speedSaid(speed)}`;

/** Why a text ends, by its reason. @type {Record<string, (engine: import('../state/store/state.js').State['engine']) => string>} */
const ENDS = {
  contextFull: ({ model }) => say`Stopped: the context of ${int(model?.config.contextLength)} tokens is full.`,
  maxTokens: ({ maxTokens }) => say`Stopped at max tokens, ${int(maxTokens)}.`,
  eos: () => say`The model ended the text.`,
};
/** The sentence beside a text that has ended, '' before. @param {import('../state/store/state.js').State['engine']} engine */
export const ended = (engine) => (engine.status === 'done' && ENDS[engine.stopReason]?.(engine)) || '';

/**
 * A token in one line.
 * @param {import('../state/store/state.js').Token | undefined} token
 */
export const tokenSaid = (token, position) =>
  token
    ? say`${quoted(token)} · position ${position}${token.logprob === null ? '' : say`, probability ${percent(Math.exp(token.logprob))} at T = 1`}`
    : '';

// -- previous versions ------------------------------------------------------------------------------------------------

export const VERSIONS = {
  list: say`Previous versions`,
  compare: say`Compare`,
  compared: say`Two versions compared`,
  names: [say`This version`, say`Previous version`],
  empty: say`empty`,
};

/** @param {import('../state/store/state.js').Token} token */
export const backTo = (token) => say`Back to ${quoted(token)}`;

/** @param {number[]} bits  of each token */
export function likelihoodSaid(bits) {
  if (!bits.length) return VERSIONS.empty;
  const sum = bits.reduce((a, b) => a + b, 0);
  return bits.length === 1
    ? say`log₂ p = ${figures(-sum)} over 1 token`
    : say`log₂ p = ${figures(-sum)} over ${bits.length} tokens, ${figures(sum / bits.length)} bits each`;
}

/** @param {import('../state/store/state.js').Token} token */
export const bitsSaid = (token, bits) => say`${quoted(token)}: ${figures(bits)} bits`;

/**
 * Where two texts part and which the model finds likelier.
 * @param {import('../state/store/state.js').Token[][]} texts
 * @param {number[][]} bits  of each token from there on
 */
export function partingSaid(texts, bits, at) {
  const n = Math.min(bits[0].length, bits[1].length);
  if (!n) return '';
  const sum = (list) => list.slice(0, n).reduce((a, b) => a + b, 0);
  const by = sum(bits[1]) - sum(bits[0]);
  const first = (i) => `${quoted(texts[i][at])} ${percent(2 ** -bits[i][0])}`;
  return say`The two versions differ after ${quoted(texts[0][at - 1])}, where the model gave ${first(0)} and ${first(1)}. Over the ${n === 1 ? say`one token` : say`${n} tokens`} that both have, ${by >= 0 ? say`this version` : say`the previous version`} is more likely, by ${figures(Math.abs(by))} bits.`;
}

// -- prompt -----------------------------------------------------------------------------------------------------------

export const PROMPT = {
  title: say`Prompt and sampling`,
  prompt: say`Prompt`,
  /** @param {import('../state/store/state.js').LoadedModel | null} model */
  placeholder: (model) =>
    model?.config.kind === 'encoder_decoder'
      ? say`Leave empty, or begin the answer`
      : say`Write the beginning of a story`,
  show: say`Show me how it works`,
  step: say`Step`,
  stop: say`Stop`,
  examples: say`Example prompts`,
  reads: say`reads`,
  sources: say`Examples`,
};

/** @param {import('../state/store/state.js').State['engine']['status']} status */
export const goSaid = (status, written) =>
  status === 'paused' && written ? say`Continue` : status === 'done' ? say`Run again` : say`Run`;

const STORIES = ['The dragon was sad because', 'Tom and Sue went to the park', 'One day, a girl lost her'];
const ANY = ['Once upon a time', 'In the morning', '1, 2, 3, 4,']; // nothing that only large models know

/**
 * Prompts that suit a decoder.
 * @param {import('../state/store/state.js').LoadedModel | null} model
 */
export const examplePrompts = (model) =>
  !model || model.wordless || hasOnlyNumbers(model) ? [] : /^weights\/stories/.test(model.address) ? STORIES : ANY;

export const SAMPLING = {
  newSeed: say`New seed`,
  maxTokens: say`max tokens`,
  pace: say`pace`,
  threads: say`use multiple threads`,
  threadsHow: say`Multithreading needs two HTTP headers that this site does not send. Turning it on adds them with a service worker and reloads the page.`,
};

export const PACES = { reading: say`reading speed`, fast: say`full speed`, step: say`step by step` };

const temperatureSaid = (t) => SAMPLER.temperature.said?.(t);

/** Names the fold of everything else. @param {Sampler} sampler */
export const foldSaid = ({ temperature }) => say`Temperature ${temperatureSaid(temperature)}`;

// -- a run that is kept -----------------------------------------------------------------------------------------------

export const KEPT = {
  title: say`Two runs`,
  about: say`change the temperature, the seed, the prompt or the model, and run again`,
  forget: say`Forget the kept run`,
};

export const runSaid = (name, { model, temperature, seed }) =>
  say`${name}: ${model}, temperature ${temperatureSaid(temperature)}, seed ${seed}`;
