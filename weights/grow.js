#!/usr/bin/env node
// grow.js - initialises a larger model with the function of a small one (Net2Net: Chen, Goodfellow & Shlens 2016)
//
//   node weights/grow.js SMALL.gguf LARGE.gguf
//
// LARGE is a model with random weights, matrices in F32, of the same family (llama), with at least SMALL's width,
// heads, layers and d_ff, and the same d_head. Its weights are replaced in the file so that its output equals SMALL's:
//   - Nothing writes the new dimensions of the residual stream: zero columns in the embedding, zero rows in o and down.
//     Gains shrink by sqrt(d / D), because RMSNorm now divides by the mean over D.
//   - New heads, d_ff units and layers have no effect: new columns of o and down are zero.
// Weights that read new dimensions keep LARGE's random values, so they get gradients from the first step. Tokens are
// matched by their text; the embedding of a token that SMALL lacks is the mean of the tokens that spell it in SMALL.
import { writeFile } from 'node:fs/promises';
import { openGguf } from './gguf_file.js';

const [smallFile, largeFile] = process.argv.slice(2);
if (!smallFile || !largeFile) {
  console.error('usage: node weights/grow.js SMALL.gguf LARGE.gguf');
  process.exit(2);
}
const small = await open(smallFile),
  large = await open(largeFile);
const same = ['attention.key_length', 'rope.freq_base'].every(
  (k) => small.meta.get(`llama.${k}`) === large.meta.get(`llama.${k}`),
);
if (!same) throw new Error('both must be llama with the same d_head and rotation');

const d = small.matrix('output_norm.weight').cols,
  D = large.matrix('output_norm.weight').cols;
const layers = small.meta.get('llama.block_count');
const gain = Math.sqrt(d / D);
grow('output_norm.weight', { gain });
growEmbedding();
for (let l = 0; l < large.meta.get('llama.block_count'); l++) {
  const name = (part) => `blk.${l}.${part}.weight`;
  if (l >= layers) {
    // a new layer adds zero to the residual stream
    for (const part of ['attn_output', 'ffn_down']) large.matrix(name(part)).data.fill(0);
    continue;
  }
  for (const part of ['attn_norm', 'ffn_norm']) grow(name(part), { gain });
  for (const part of ['attn_q', 'attn_k', 'attn_v', 'ffn_gate', 'ffn_up']) grow(name(part));
  for (const part of ['attn_output', 'ffn_down']) grow(name(part), { clear: true });
}
await writeFile(largeFile, large.bytes);

/** Copy SMALL's tensor into the upper left corner of LARGE's. */
function grow(name, { gain: by = 1, clear = false } = {}) {
  const from = small.matrix(name),
    to = large.matrix(name);
  if (from.rows > to.rows || from.cols > to.cols)
    throw new Error(`${name}: [${to.rows}, ${to.cols}] does not hold [${from.rows}, ${from.cols}]`);
  if (clear) to.data.fill(0);
  if (by !== 1) to.data.fill(by);
  for (let r = 0; r < from.rows; r++) {
    for (let c = 0; c < from.cols; c++) to.data[r * to.cols + c] = by * from.data[r * from.cols + c];
  }
}

function growEmbedding() {
  const from = small.matrix('token_embd.weight'),
    to = large.matrix('token_embd.weight');
  const ids = new Map(
    small.meta
      .get('tokenizer.ggml.tokens')
      .toArray()
      .map((t, id) => [t, id]),
  );
  to.data.fill(0);
  large.meta
    .get('tokenizer.ggml.tokens')
    .toArray()
    .forEach((token, row) => {
      const pieces = spell(token, ids);
      for (const id of pieces) {
        for (let c = 0; c < d; c++) to.data[row * D + c] += from.data[id * d + c] / pieces.length;
      }
    });
}

/** Spell a text with known tokens: repeatedly the longest one that begins the rest. */
function spell(token, ids) {
  const pieces = [];
  for (let at = 0; at < token.length;) {
    let end = token.length;
    while (end > at && !ids.has(token.slice(at, end))) end--;
    if (end === at) throw new Error(`no token of the small model begins ${JSON.stringify(token.slice(at))}`);
    pieces.push(ids.get(token.slice(at, end)));
    at = end;
  }
  return pieces;
}

/** A file with its tensors as matrices. */
async function open(file) {
  const { bytes, meta, tensors } = await openGguf(file);
  if (meta.get('general.architecture') !== 'llama') throw new Error(`${file}: not of the llama family`);
  return {
    bytes,
    meta,
    matrix(wanted) {
      const found = tensors.find(({ name }) => name === wanted);
      if (!found) throw new Error(`${file}: no ${wanted}`);
      const cols = found.shape.at(-1);
      return { rows: found.data.length / cols, cols, data: found.data };
    },
  };
}
