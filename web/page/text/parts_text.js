// parts_text.js - what the card says of each part of the anatomy that can be pointed at: a plain name, the term of the
// field, its shape in words. Formulas: formulas.js
import { hasExperts } from '../state/architecture.js';
import { figures, int, percent } from './format.js';

/** @typedef {Record<string, any>} Config */
/**
 * @typedef {object} PartWords
 * @property {string} name
 * @property {string} term
 * @property {string} stage   that a click opens
 * @property {string} learn   page of the textbook
 * @property {(c: Config, n: number, layer: number) => string} shape  n: tokens
 * @property {RegExp | string} [formula]  where it is not that of the stage: the part that is its own, or another
 */

const width = (c) => `${int(c.dModel)} numbers for each token (d_model)`;
const heads = (n, c) =>
  `${n === 1 ? '1 head' : `${int(n)} heads`} × ${int(c.dHead)} = ${int(n * c.dHead)} numbers for each token`;
const weights = (c, n) => `${int(c.nHeads)} heads × ${int(n)} queries × ${int(n)} keys`;
const words = (c) => `one of ${int(c.vocabSize)} tokens`;
const neurons = (c, _, layer) =>
  hasExperts(c, layer)
    ? `${int(c.nExpertsUsed)} of ${int(c.nExperts)} experts, ${int(c.dExpert)} neurons each`
    : `${int(c.dFf)} neurons for each token = ${figures(c.dFf / c.dModel)} × ${int(c.dModel)}`;

/** @type {(name: string, term: string, stage: string, learn: string, shape: PartWords['shape'], formula?: PartWords['formula']) => PartWords} */
const part = (name, term, stage, learn, shape, formula) => ({ name, term, stage, learn, shape, formula });
const norm = (stage) => part('Rescaled vector', 'norm', stage, 'norm', width);

/** @type {Record<string, PartWords>} */
export const PARTS = {
  token: part('Token', 'id', 'embed', 'token', words),
  embed: part('Vector of the token', 'embedding', 'embed', 'embedding', width),
  before: part('Vector into the block', 'residual stream', 'before', 'stream', width),
  stream: part('Vector on its way past the layers', 'residual stream', 'resid', 'stream', width),
  norm1: norm('norm1'),
  norm2: norm('norm2'),
  post1: norm('post1'),
  post2: norm('post2'),
  final: norm('final'),
  q: part('What this token looks for', 'query, q', 'qkv', 'qkv', (c) => heads(c.nHeads, c), /q = [^,;]*/),
  k: part('What it can be found by', 'key, k', 'qkv', 'qkv', (c) => heads(c.nKvHeads, c), /k = [^,;]*/),
  v: part('What it hands on', 'value, v', 'qkv', 'qkv', (c) => heads(c.nKvHeads, c), /v = [^,;]*/),
  heads: part('Who looks at whom', 'attention pattern', 'heads', 'heads', weights, /A = [^=]*(?=, z)/),
  weight: part('How much a query takes of a key', 'attention weight', 'heads', 'softmax', weights, /A = [^=]*(?=, z)/),
  early: part('What it takes of all earlier keys', 'sum of weights', 'heads', 'softmax', weights),
  masked: part('A key that comes later', 'masked', 'heads', 'mask', weights),
  mix: part('Values mixed by their weights', 'z', 'heads', 'mix', (c) => heads(c.nHeads, c), /z = .*/),
  out: part('What the heads add', 'attention output', 'out', 'mix', width),
  cross: part('Who looks at which word of the source', 'cross-attention', 'cross', 'cross', (c) => heads(c.nHeads, c)),
  source: part('How much a query takes of a key of the source', 'attention weight', 'cross', 'cross', weights),
  added: part('What cross-attention adds', 'its output', 'cross', 'cross', width),
  encoder: part('Vectors of the source', 'output of the encoder', 'encoder', 'cross', width),
  ffn: part('Neurons of this token', 'feed-forward network', 'ffn', 'ffn', neurons),
  resid: part('Vector after the block', 'residual stream', 'resid', 'stream', width),
  more: part('Vector after the last block', 'residual stream', 'more', 'stream', width),
  logits: part('Score of every token', 'logits', 'head', 'logits', (c) => `${int(c.vocabSize)} scores, one a token`),
  next: part('A token that may follow', 'probability', 'head', 'sampling', words, 'p = softmax(logits / temperature)'),
};

export const CARD = {
  label: 'The part that is pointed at',
  keys: 'Picture of the forward pass. Arrow keys move over its parts, Enter goes to the card of one.',
  shape: 'Shape',
  formula: 'Formula',
  here: 'Here',
  open: (stage) => `Open ${stage}`,
  write: (word) => `Continue with ${word}`,
  explain: 'Explain',
  code: 'Code',
  learn: 'Learn',
  close: 'Close the card',
  resting: 'comes when the text rests',
  of: (token) => `of ${token}`,
  pair: (query, key) => `of ${query} for ${key}`,
  after: (token) => `after ${token}`,
  headOf: (head) => `head ${head + 1}: `,
  /** @param {{ length: number, index: number, most: number, first: number[] }} of */
  vector: ({ length, index, most, first }) =>
    `${first.map(figures).join(', ')}, … · length ${figures(length)} · largest: number ${index}, ${figures(most)}`,
  token: (id, position) => `number ${int(id)} of the table, position ${position}`,
  masked: '0: a token cannot look at what comes after it',
  most: (weight, key) => `most, ${percent(weight)}, for ${key}`,
  next: (p, logit) => `${percent(p)}${logit === null ? '' : `, logit ${figures(logit)}`}`,
};

/** Files of src/model, by stage, of what decoder.c leaves out. */
const FILES = {
  ...{ embed: 'embed.c', norm1: 'norm.c', norm2: 'norm.c', post1: 'norm.c', post2: 'norm.c', final: 'norm.c' },
  ...{ qkv: 'attention.c', heads: 'attend_cached.c', out: 'attention.c', cross: 'attention.c', ffn: 'ffn.c' },
  ...{ resid: 'block.c', before: 'block.c', more: 'block.c', encoder: 'session_run.c', head: 'head.c' },
};
export const CODE = {
  title: 'src/reference/decoder.c',
  elsewhere: (stage, experts) =>
    `The reference does not have all that this model has; src/model/${experts && stage === 'ffn' ? 'experts.c' : FILES[stage]} computes this stage.`,
};
