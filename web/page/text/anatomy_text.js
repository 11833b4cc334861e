// anatomy_text.js - sentences of the picture of a forward pass and of its inspector
import { int, quoted, tokensSaid } from './format.js';
import { blocks } from './stages_text.js';
import { say } from '../state/base/language.js';

export const ANATOMY = {
  title: say`Anatomy`,
  about: say`one forward pass over the text; choose a stage to see its values`,
  first: say`The pass that wrote this token`,
  aboutFirst: say`from left to right for each token; choose a part to open it`,
  stages: say`The forward pass, stage by stage`,
  queries: say`queries`,
  keys: say`keys`,
  sourceKeys: say`keys of the source`,
  neuronsHint: say`Select a neuron to see what it responds to, or to switch it off.`,
};
export const STEPPERS = {
  layer: { name: say`Layer`, before: say`Previous layer`, after: say`Next layer` },
  head: { name: say`Head`, before: say`Previous head`, after: say`Next head` },
};

/** Layers and heads are counted from 1 here. */
export const nameOfBlock = (layer, layers) => say`block ${layer + 1} of ${layers}`;
export const nameOfHead = (layer, head, heads) => say`layer ${layer + 1}, head ${head + 1} of ${heads}`;
/** @param {number} index  from 0 */
export const oneOf = (index, count) => say`${index + 1} of ${count}`;

/** The caption of the head on the first screen, where it opens the candidates for the next token. */
export const NEXT_CAPTION = { title: say`Next token`, shape: say`T = 1 · logits ▾` };

/** The embedding and what is added to it, where its name has little room. */
export const EMBEDDING = say`Embedding`;

/** What a stage does, below its caption on the first screen. @param {string} id @param {boolean} causal @param {number} layer */
export const underFirst = (id, causal, layer) =>
  ({
    embed: layer ? '' : say`as numbers`,
    before: say`as numbers`,
    qkv: say`query, key and value`,
    heads: causal ? say`how much of each earlier token` : say`how much of each token`,
    out: say`mixed and added`,
    cross: say`how much of the source`,
    ffn: say`each token by itself`,
    more: say`the same again`,
    head: NEXT_CAPTION.shape,
  })[id] ?? '';

/** The second line of a caption. */
export const underCaption = (id, shape, layer) =>
  id === 'embed' && layer
    ? ''
    : id === 'before'
      ? say`${blocks(layer)} before`
      : ['norm1', 'norm2', 'post1', 'post2', 'final', 'resid'].includes(id)
        ? ''
        : shape;

export const FACTS = {
  formula: say`Computes`,
  shape: say`Output`,
  params: say`Parameters`,
  flops: say`Operations (FLOPs)`,
  time: say`Measured`,
};
export const paramsOf = (params) => (params ? int(params) : say`none of its own`);
export const passFor = (cost, tokens) => say`${cost} for ${tokensSaid(tokens)} in one pass`;

/** @typedef {{ text: string, id: number }} Token */
export const STRONGEST = say`Strongest neurons`;
/** @param {Token} token */
export const strongestAt = (token) => say`${STRONGEST} at ${quoted(token)}`;
export const OFF = say`, off`;
