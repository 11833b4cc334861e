// parts_text.js - sentences of the card of each part of the anatomy: a plain name, the term of the field, its shape in
// words. Formulas: stage_formulas.js
import { hasExperts } from '../state/facts/architecture.js';
import { figures, headsSaid, int, keysSaid, percent, queriesSaid } from './format.js';
import { say } from '../state/base/language.js';

const width = (c) => say`${int(c.dModel)} numbers for each token (d_model)`;
const heads = (n, c) => say`${headsSaid(n)} × ${int(c.dHead)} = ${int(n * c.dHead)} numbers for each token`;
const queries = (c) => heads(c.nHeads, c);
const keys = (c) => heads(c.nKvHeads, c);
const weights = (c, n) => say`${headsSaid(c.nHeads)} × ${queriesSaid(n)} × ${keysSaid(n)}`;
const words = (c) => say`one of ${int(c.vocabSize)} tokens`;
const neurons = (c, _, layer) =>
  hasExperts(c, layer)
    ? say`${int(c.nExpertsUsed)} of ${int(c.nExperts)} experts, ${int(c.dExpert)} neurons each`
    : say`${int(c.dFf)} neurons for each token = ${figures(c.dFf / c.dModel)} × ${int(c.dModel)}`;

const PATTERN = /A = [^=]*(?=, z)/;
/**
 * A part. stage: that a click opens. learn: page of the textbook. shape: with n tokens. formula: where it is not that of
 * the stage, the part that is its own, or another.
 * @type {(name: string, term: string, stage: string, learn: string, shape: (c: any, n: number, layer: number) => string, formula?: RegExp | string) => any}
 */
const part = (name, term, stage, learn, shape, formula) => ({ name, term, stage, learn, shape, formula });
const norm = (stage) => part(say`Rescaled vector`, say`norm`, stage, 'norm', width);

export const PARTS = {
  token: part(say`Token`, say`id`, 'embed', 'token', words),
  embed: part(say`Vector of the token`, say`embedding`, 'embed', 'embedding', width),
  before: part(say`Vector into the block`, say`residual stream`, 'before', 'stream', width),
  stream: part(say`Vector on its way past the layers`, say`residual stream`, 'resid', 'stream', width),
  norm1: norm('norm1'),
  norm2: norm('norm2'),
  post1: norm('post1'),
  post2: norm('post2'),
  final: norm('final'),
  q: part(say`What this token looks for`, say`query, q`, 'qkv', 'qkv', queries, /q = [^,;]*/),
  k: part(say`What it can be found by`, say`key, k`, 'qkv', 'qkv', keys, /k = [^,;]*/),
  v: part(say`What it hands on`, say`value, v`, 'qkv', 'qkv', keys, /v = [^,;]*/),
  heads: part(say`Who looks at whom`, say`attention pattern`, 'heads', 'heads', weights, PATTERN),
  weight: part(
    say`How much attention this token pays to that one`,
    say`attention weight`,
    'heads',
    'softmax',
    weights,
    PATTERN,
  ),
  early: part(say`Attention to all earlier tokens`, say`sum of weights`, 'heads', 'softmax', weights),
  masked: part(say`A key that comes later`, say`masked`, 'heads', 'mask', weights),
  mix: part(say`Values mixed by their weights`, 'z', 'heads', 'mix', queries, /z = .*/),
  out: part(say`What the heads add`, say`attention output`, 'out', 'mix', width),
  cross: part(say`Who looks at which word of the source`, say`cross-attention`, 'cross', 'cross', queries),
  source: part(
    say`How much attention this token pays to that one of the source`,
    say`attention weight`,
    'cross',
    'cross',
    weights,
  ),
  added: part(say`What cross-attention adds`, say`its output`, 'cross', 'cross', width),
  encoder: part(say`Vectors of the source`, say`output of the encoder`, 'encoder', 'cross', width),
  ffn: part(say`Neurons of this token`, say`feed-forward network`, 'ffn', 'ffn', neurons),
  resid: part(say`Vector after the block`, say`residual stream`, 'resid', 'stream', width),
  more: part(say`Vector after the last block`, say`residual stream`, 'more', 'stream', width),
  logits: part(
    say`Score of every token`,
    say`logits`,
    'head',
    'logits',
    (c) => say`${int(c.vocabSize)} scores, one per token`,
  ),
  next: part(
    say`A token that may follow`,
    say`probability`,
    'head',
    'sampling',
    words,
    'p = softmax(logits / temperature)',
  ),
};

export const CARD = {
  label: say`Selected part`,
  keys: say`Picture of the forward pass. Arrow keys move over its parts, Enter goes to the card of one.`,
  shape: say`Shape`,
  formula: say`Formula`,
  here: say`Here`,
  open: (stage) => say`Open ${stage}`,
  write: (word) => say`Continue with ${word}`,
  explain: say`Explain`,
  code: say`Code`,
  learn: say`Learn`,
  close: say`Close the card`,
  resting: say`shown when writing pauses`,
  of: (token) => say`of ${token}`,
  pair: (query, key) => say`of ${query} for ${key}`,
  after: (token) => say`after ${token}`,
  headOf: (head) => say`head ${head + 1}: `,
  /** @param {{ length: number, index: number, most: number, first: number[] }} of */
  vector: ({ length, index, most, first }) =>
    say`${first.map(figures).join(', ')}, … · length ${figures(length)} · largest: number ${index}, ${figures(most)}`,
  token: (id, position) => say`number ${int(id)} of the table, position ${position}`,
  masked: say`0: a token cannot look at what comes after it`,
  most: (weight, key) => say`most, ${percent(weight)}, for ${key}`,
  next: (p, logit) => `${percent(p)}${logit === null ? '' : say`, logit ${figures(logit)}`}`,
};

/** Files of src/model, by stage, of what decoder.c leaves out. */
const FILES = {
  ...{ embed: 'embed.c', norm1: 'norm.c', norm2: 'norm.c', post1: 'norm.c', post2: 'norm.c', final: 'norm.c' },
  ...{ qkv: 'attention.c', heads: 'attend_cached.c', out: 'attention.c', cross: 'attention.c', ffn: 'ffn.c' },
  ...{ resid: 'block.c', before: 'block.c', more: 'block.c', encoder: 'session_stack.c', head: 'head.c' },
};
export const CODE = {
  title: 'src/reference/decoder.c',
  elsewhere: (stage, experts) =>
    say`decoder.c does not cover this variant; see src/model/${experts && stage === 'ffn' ? 'experts.c' : FILES[stage]} computes this stage.`,
};
