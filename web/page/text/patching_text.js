// patching_text.js - sentences of the patching and steering experiments
import { say } from '../state/base/language.js';
import { tokensSaid } from './format.js';

export const PATCHING = {
  title: say`Patch activations`,
  about: say`which activation carries the answer from one prompt to another`,
  how: say`Two prompts of equal length have different answers. In each cell the second prompt is read again, with one activation replaced by that of the first prompt. 100 % means that the first prompt’s answer is back, 0 % that nothing changed.`,
  first: say`first prompt`,
  second: say`second prompt`,
  place: say`replace`,
  places: {
    resid: say`the residual stream before each layer`,
    attn: say`the output of each attention`,
    ffn: say`the output of each FFN`,
  },
  go: say`Patch every layer and position`,
  stop: say`Stop`,
  notDecoder: say`Patching compares next tokens, so it needs a decoder: the loaded model is of another kind.`,
  lengths: (a, b) =>
    say`The first prompt has ${tokensSaid(a)}, the second ${b}. Patching needs equally many, so that positions correspond.`,
  same: say`The two prompts are the same tokens: there is nothing to patch.`,
  long: (n, most) => say`The prompts have ${n} tokens; at most ${most} are drawn.`,
  sameAnswer: (word) =>
    say`Both prompts are most likely continued with ${word}. Choose prompts with different next words.`,
  answers: (a, b) => say`First prompt: ${a}. Second prompt: ${b}.`,
  cell: (value, layer, token) => say`${value} of the first answer is restored by layer ${layer} at ${token}`,
  layers: say`Layer`,
  layer: (n) => say`layer ${n}`,
};

export const STEERING = {
  title: say`Steer`,
  about: say`add the difference of two prompts to the residual stream while the model writes`,
  how: say`The direction is the mean residual stream of the first text after the chosen layer, minus that of the second. It is added at every position, times the strength. Both continuations use the sampler and seed of the page.`,
  towards: say`towards`,
  away: say`away from`,
  layer: say`after layer`,
  strength: say`strength`,
  plain: say`strength 0`,
  steered: (s) => say`strength ${s}`,
  notDecoder: say`Steering needs a decoder: the loaded model is of another kind.`,
  norm: (direction, stream) => say`The direction has norm ${direction}, the mean stream of the prompt ${stream}.`,
};
