// patching_text.js - sentences of the patching and steering experiments

export const PATCHING = {
  title: 'Patch activations',
  about: 'which activation carries the answer from one prompt to another',
  how:
    'Two prompts of equal length have different answers. In each cell the second prompt is read again, with one activation ' +
    'replaced by that of the first prompt. 100 % means that the first prompt’s answer is back, 0 % that nothing changed.',
  first: 'first prompt',
  second: 'second prompt',
  place: 'replace',
  places: {
    resid: 'the residual stream before each layer',
    attn: 'the output of each attention',
    ffn: 'the output of each FFN',
  },
  go: 'Patch every layer and position',
  stop: 'Stop',
  notDecoder: 'Patching compares next tokens, so it needs a decoder: the loaded model is of another kind.',
  lengths: (a, b) =>
    `The first prompt has ${a} tokens, the second ${b}. Patching needs equally many, so that positions correspond.`,
  same: 'The two prompts are the same tokens: there is nothing to patch.',
  long: (n, most) => `The prompts have ${n} tokens; at most ${most} are drawn.`,
  sameAnswer: (word) =>
    `Both prompts are most likely continued with ${word}. Choose prompts with different next words.`,
  answers: (a, b) => `First prompt: ${a}. Second prompt: ${b}.`,
  cell: (value, layer, token) => `${value} of the first answer is restored by layer ${layer} at ${token}`,
  layer: (n) => `layer ${n}`,
};

export const STEERING = {
  title: 'Steer',
  about: 'add the difference of two prompts to the residual stream while the model writes',
  how:
    'The direction is the mean residual stream of the first text after the chosen layer, minus that of the second. It is ' +
    'added at every position, times the strength. Both continuations use the sampler and seed of the page.',
  towards: 'towards',
  away: 'away from',
  layer: 'after layer',
  strength: 'strength',
  plain: 'strength 0',
  steered: (s) => `strength ${s}`,
  notDecoder: 'Steering needs a decoder: the loaded model is of another kind.',
  norm: (direction, stream) => `The direction has norm ${direction}, the mean stream of the prompt ${stream}.`,
};
