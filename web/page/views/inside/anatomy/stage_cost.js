// stage_cost.js - operations of the stages for one more token: as the library's `trace` counts them
import { addsPositions, hasNorms, isGated, rotaryDim, rotates, windowOf } from '../../../state/architecture.js';

/** @typedef {Record<string, any>} Config */

const when = (/** @type {any} */ has, /** @type {number} */ n) => (has ? n : 0);
const linear = (/** @type {number} */ from, /** @type {number} */ to, /** @type {any} */ bias) =>
  2 * from * to + when(bias, to);
const scaled = (/** @type {number | undefined} */ factor) => (factor ?? 1) !== 1;
const normed = (/** @type {Config} */ c, kind = c.norm) => (kind === 'layernorm' ? 7 : 4) * c.dModel;

/** A norm inside the blocks. @param {Config} c */
export const norm = (c) => when(c.useNorm !== false && hasNorms(c), normed(c));
/** @param {Config} c */
export const finalNorm = (c) => when(c.useFinalNorm !== false, normed(c, c.finalNormKind ?? c.norm));

/** What is added to the stream. @param {Config} c */
export const sum = (c) => when(c.useResidual !== false, c.dModel) + when(scaled(c.residualScale), c.dModel);

/** @param {Config} c */
export const embed = (c) =>
  when(scaled(c.embeddingScale), c.dEmbed || c.dModel) +
  when(c.dEmbed, 2 * c.dEmbed * c.dModel) +
  when(addsPositions(c), c.dModel) +
  when(c.nTokenTypes, c.dModel) +
  when(c.embedNorm, norm(c));

/** @param {Config} c @param {number} layer */
export function qkv(c, layer) {
  const [rotated, rows] = [c.nHeads + c.nKvHeads, (c.nHeads + c.nKvHeads) * c.dHead];
  return (
    linear(c.dModel, rows + c.nKvHeads * c.dHead, c.biasQkv) +
    when(c.qkNorm, 4 * rows) +
    when(rotates(c, layer), 3 * rotated * rotaryDim(c))
  );
}

/** Scores and weighted values over n keys, fewer where the layer has a window. @param {Config} c @param {number} layer @param {number} n */
export const heads = (c, layer, n) => 4 * c.nHeads * c.dHead * Math.min(n, windowOf(c, layer) || n);

/** @param {Config} c */
export const out = (c) => linear(c.nHeads * c.dHead, c.dModel, c.biasAttnOut);

/** Its queries, and m keys of the source; their computation, once for each source, is left out. @param {Config} c @param {number} m */
export const cross = (c, m) =>
  norm(c) + linear(c.dModel, c.nHeads * c.dHead, c.biasQkv) + 4 * c.nHeads * c.dHead * m + out(c) + sum(c);

/** @param {Config} c */
export function ffn(c) {
  const gated = isGated(c);
  const activation = c.ffn === 'relu' ? 1 : gated ? 5 : 8;
  return (
    linear(c.dModel, gated ? 2 * c.dFf : c.dFf, c.biasFfn) + activation * c.dFf + linear(c.dFf, c.dModel, c.biasFfn)
  );
}

/** The router and the experts that one token uses. @param {Config} c */
export function experts(c) {
  const { nExpertsUsed: used, dExpert, dSharedExpert: shared, dModel: d } = c;
  const gates = c.nExperts + (shared ? 1 : 0);
  const expert = (/** @type {number} */ wide) => ffn({ ...c, dFf: wide, biasFfn: false }) + 2 * d; // and its part of the sum
  return linear(d, gates, false) + 4 * gates + used * expert(dExpert) + when(shared, expert(shared));
}

/** @param {Config} c */
export const head = (c) =>
  when(c.dEmbed, 2 * c.dModel * c.dEmbed) +
  linear(c.dEmbed || c.dModel, c.vocabSize, c.biasHead) +
  when(scaled(c.logitScale), c.vocabSize) +
  when(c.logitSoftcap > 0, 3 * c.vocabSize);

/** What an encoder makes of its last states; the pooler's product is that of the first position. @param {Config} c */
export const outputs = (c) =>
  when(c.pooler, linear(c.dModel, c.dModel, true) + c.dModel) +
  when(c.mlmHead, linear(c.dModel, c.dModel, true) + (c.ffn === 'relu' ? 1 : 8) * c.dModel + norm(c) + head(c));
