// anatomy_text.js - sentences of the picture of a forward pass and of its inspector
import { int, quoted } from './format.js';
import { blocks } from './stage_words.js';

export const ANATOMY = {
  title: 'Anatomy',
  about: 'one forward pass over the text; choose a stage to see its values',
  stages: 'The forward pass, stage by stage',
  queries: 'queries',
  keys: 'keys',
  sourceKeys: 'keys of the source',
  neuronsHint: 'Press one to switch it off. “Switch parts off” compares the text with and without it.',
};
export const STEPPERS = {
  layer: { name: 'Layer', before: 'Previous layer', after: 'Next layer' },
  head: { name: 'Head', before: 'Previous head', after: 'Next head' },
};

/** Layers and heads are counted from 1 here. */
export const nameOfBlock = (layer, layers) => `block ${layer + 1} of ${layers}`;
export const nameOfHead = (layer, head, heads) => `layer ${layer + 1}, head ${head + 1} of ${heads}`;
/** @param {number} index  from 0 */
export const oneOf = (index, count) => `${index + 1} of ${count}`;

/** The second line of a caption. */
export const underCaption = (id, shape, layer) =>
  id === 'embed' && layer
    ? ''
    : id === 'before'
      ? `${blocks(layer)} before`
      : ['norm1', 'norm2', 'post1', 'post2', 'final', 'resid'].includes(id)
        ? ''
        : shape;

export const FACTS = {
  formula: 'Computes',
  shape: 'Output',
  params: 'Parameters',
  flops: 'FLOPs per token',
  time: 'Measured',
};
export const paramsOf = (params) => (params ? int(params) : 'none of its own');
export const onceFor = (flops) => `${flops} for each token of the source, once`;
export const timeFor = (time, tokens) => `${time} for ${tokens} tokens in one pass`;

/** @typedef {{ text: string, id: number }} Token */
export const STRONGEST = 'Strongest neurons';
/** @param {Token} token */
export const strongestAt = (token) => `${STRONGEST} at ${quoted(token)}`;
export const OFF = ', off';
