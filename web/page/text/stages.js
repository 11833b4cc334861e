// stages.js - what the stages of a forward pass are called and what they do, for each architecture. `c` is the
// configuration.

export const NORM = {
  rmsnorm: { title: 'RMSNorm', formula: 'y = x / √(mean(x²) + ε) · gain' },
  layernorm: { title: 'LayerNorm', formula: 'y = (x − mean) / √(var + ε) · gain + bias' },
};
export const FFN = {
  swiglu: { title: 'SwiGLU', formula: 'y = W_down (silu(W_gate x) ⊙ W_up x)' },
  relu: { title: 'ReLU FFN', formula: 'y = W_down relu(W_up x)' },
  gelu_erf: { title: 'GELU-erf FFN', formula: 'y = W_down gelu_erf(W_up x)' },
  gelu_tanh: { title: 'GELU-tanh FFN', formula: 'y = W_down gelu_tanh(W_up x)' },
};
const POSITION = {
  none: 'the model has no position embedding',
  sinusoidal: 'sines and cosines of the position are added',
  learned: 'a learned row for the position is added',
  rope: 'the position enters later, where q and k are rotated',
};

/** 1 block, 4 blocks. @param {number} n */
export const blocks = (n) => `${n} block${n === 1 ? '' : 's'}`;
const POST_NORM = 'Rescales the residual stream itself, after each sum (post-norm).';

/** @typedef {Record<string, any>} Config */

/** Title, formula and sentence of each stage. @type {Record<string, (c: Config, layer: number) => { title: string, formula: string, words: string }>} */
export const STAGES = {
  embed: (c) => ({
    title: ['learned', 'sinusoidal'].includes(c.position) ? 'Embedding + position' : 'Embedding',
    formula: 'x₀ = E[token]',
    words: `Each token selects its row of a table of ${c.vocabSize} rows; ${/** @type {any} */ (POSITION)[c.position]}.`,
  }),
  before: (_, layer) => ({
    title: `Stream into block ${layer + 1}`,
    formula: '',
    words: `What the embedding and the ${layer === 1 ? 'block' : `${layer} blocks`} before this one wrote to the residual stream. Choose another layer above the picture to open it.`,
  }),
  norm1: (c) => ({
    .../** @type {any} */ (NORM)[c.norm],
    words:
      c.normPlacement === 'post'
        ? POST_NORM
        : 'Rescales what the heads read. The residual stream itself is not changed (pre-norm).',
  }),
  qkv: (c) => ({
    title: 'q  k  v',
    formula: `q = W_q x, k = W_k x, v = W_v x${c.position === 'rope' ? '; q, k rotated by position' : ''}`,
    words:
      c.nKvHeads === c.nHeads
        ? 'Each head computes a query (q), a key (k) and a value (v) for each token.'
        : `Each head computes a query (q) for each token; ${c.nKvHeads} groups of heads share keys (k) and values (v).`,
  }),
  heads: (c) => ({
    title: `${c.nHeads} heads`,
    formula: `A = softmax(q kᵀ / √${c.dHead}${c.causal ? ' + mask' : ''}), z = A v`,
    words: `Each query is compared with ${c.causal ? 'its own key and every key before it' : 'every key'}. The softmax of the scores gives the weight of each value.`,
  }),
  out: (c) => ({
    title: 'Out + residual',
    formula: c.normPlacement === 'post' ? 'x = norm(x + W_o z)' : 'x = x + W_o z',
    words: 'The output of the heads is added to the residual stream.',
  }),
  cross: (c) => ({
    title: `${c.nHeads} heads, cross-attention`,
    formula: `A = softmax(q kᵀ / √${c.dHead}), z = A v, ${c.normPlacement === 'post' ? 'x = norm(x + W_o z)' : 'x = x + W_o z'}; k, v from the encoder`,
    words:
      'Queries come from the text that is written, keys and values from the encoder. There is no mask: the whole source is known from the start.',
  }),
  encoder: (c) => ({
    title: `Encoder, ${blocks(c.nEncoderLayers)}`,
    formula: 'k = W_k e, v = W_v e',
    words:
      'The source passes through blocks of its own, in which every token attends to every other. The result is computed once and kept.',
  }),
  norm2: (c) => ({
    .../** @type {any} */ (NORM)[c.norm],
    words: c.normPlacement === 'post' ? POST_NORM : 'Rescales what the FFN reads.',
  }),
  ffn: (c) => ({
    .../** @type {any} */ (FFN)[c.ffn],
    words: `Each position by itself: ${c.dModel} numbers become ${c.dFf}, pass the activation function, and become ${c.dModel} again.`,
  }),
  resid: (c, layer) => ({
    title: 'Residual',
    formula: c.normPlacement === 'post' ? 'x = norm(x + y)' : 'x = x + y',
    words:
      layer + 1 < c.nLayers
        ? 'The residual stream that the next block reads.'
        : 'The residual stream after the last block.',
  }),
  more: (c, layer) => ({
    title: `${blocks(c.nLayers - 1 - layer)} after`,
    formula: '',
    words: 'The same stages, each block with weights of its own. Choose another layer above the picture to open it.',
  }),
  final: (c) => ({
    .../** @type {any} */ (NORM)[c.norm],
    title: `Final ${/** @type {any} */ (NORM)[c.norm].title}`,
    words: 'Rescales the residual stream for the last time.',
  }),
  head: (c) => ({
    title: c.tieWordEmbeddings ? 'Head, tied' : 'Head',
    formula: c.tieWordEmbeddings ? 'logits = E x' : 'logits = W x',
    words: c.tieWordEmbeddings
      ? 'Multiplies by the embedding table again: one score for each token of the vocabulary, no new parameters.'
      : 'One score for each token of the vocabulary.',
  }),
};

/** Names of the values of a stage. */
export const VALUES = {
  embedding: 'embedding',
  position: 'position',
  into: 'stream into the block',
  normalised: 'before the gain',
  q: 'q',
  k: 'k',
  v: 'v',
  rotatedQ: 'q, rotated',
  rotatedK: 'k, rotated',
  z: 'z, the mixed values',
  added: 'what is added',
  after: 'the stream after it',
  pre: 'before activation',
  post: 'activation',
  stream: 'the stream after the block',
  last: 'the stream after the last block',
  encoded: 'output of the encoder',
};
