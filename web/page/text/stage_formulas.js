// stage_formulas.js - the formulas of the stages of a forward pass, as the configuration has them. `c` is the
// configuration.
import {
  addsPositions,
  hasAlibi,
  hasDistanceBias,
  hasExperts,
  hasFfn,
  isGated,
  isNarrow,
  normsOutput,
  rotaryDim,
  rotaryHeads,
  rotates,
  ropeTheta,
  scoreScale,
} from '../state/facts/architecture.js';
import { say } from '../state/base/language.js';
import { activationOf } from './ffn_text.js';
import { int } from './format.js';

/** A factor of the configuration: at most four significant digits. */
export const factor = (x) => String(Number(x.toPrecision(4)));
const times = (x, term) => (x === 1 ? term : `${factor(x)} · ${term}`);
const capped = (cap, term) =>
  cap > 0 ? `${factor(cap)} tanh(${/[+/]/.test(term) ? `(${term})` : term} / ${factor(cap)})` : term;
const affine = (name, x, bias) => `W_${name} ${x}${bias ? ` + b_${name}` : ''}`;

/** @param {boolean} [used]  false: the norm is switched off */
function norm(c, used = true, kind = c.norm) {
  if (used === false) return 'y = x';
  const gain = c.normGain === false ? '' : ' · gain';
  return kind === 'rmsnorm'
    ? `y = x / √(mean(x²) + ε)${gain}`
    : `y = (x − mean) / √(var + ε)${gain}${c.biasNorm ? ' + bias' : ''}`;
}

function embed(c) {
  const row = times(c.embeddingScale ?? 1, 'E[token]');
  const projected = c.dEmbed && !isNarrow(c) ? `W_in ${row.includes('·') ? `(${row})` : row}` : row;
  const place = c.positionOffset ? `P[position + ${c.positionOffset}]` : 'P[position]';
  const placed = addsPositions(c) ? `${projected} + ${place}` : projected;
  const sum = c.nTokenTypes ? `${placed} + T[type]` : placed;
  const whole = c.embedNorm && c.useNorm !== false ? `norm(${sum})` : sum;
  return `x₀ = ${isNarrow(c) ? `W_in ${/^norm\(/.test(whole) ? whole : `(${whole})`} + b_in` : whole}`;
}

/** What happens to q and k between their product and the scores. */
function rotationOf(c, layer) {
  if (!rotates(c, layer)) return '';
  const part = rotaryDim(c) === c.dHead ? '' : say` in ${rotaryDim(c)} of ${c.dHead} components`;
  const heads = rotaryHeads(c) === c.nHeads ? '' : say` in ${rotaryHeads(c)} of ${c.nHeads} heads`;
  return say`q, k rotated by position${part + heads}${c.ropeLocalTheta > 0 ? say`, base ${int(ropeTheta(c, layer))}` : ''}`;
}

const QK_NORM = 'q = norm(q), k = norm(k)';
const qkv = (c, layer) =>
  [
    ['q', 'k', 'v'].map((name) => `${name} = ${affine(name, 'x', c.biasQkv)}`).join(', '),
    c.clipQkv > 0 ? say`q, k, v limited to ±${factor(c.clipQkv)}` : '',
    c.qkNorm && !c.qkNormRotated ? QK_NORM : '',
    rotationOf(c, layer),
    c.qkNormRotated ? QK_NORM : '',
  ]
    .filter(Boolean)
    .join('; ');

/** q · k with its factor. */
function scaledScore(c, layer) {
  if (c.scaleScores === false) return 'q kᵀ';
  const scale = scoreScale(c, layer);
  if (scale === 1) return 'q kᵀ';
  return Math.fround(scale) === Math.fround(1 / Math.sqrt(c.dHead)) ? `q kᵀ / √${c.dHead}` : `${factor(scale)} · q kᵀ`;
}

function attention(c, { cross = false, layer = 0 } = {}) {
  const score = capped(c.scoreSoftcap ?? 0, scaledScore(c, layer));
  const distance = !cross && hasAlibi(c) ? ' − m · distance' : '';
  const bias = !cross && hasDistanceBias(c) ? ' + b[distance]' : '';
  return `A = softmax(${score}${distance}${bias}${!cross && c.causal ? ' + mask' : ''}), z = A v`;
}

/**
 * The sum after a sublayer.
 * @param {string} output  of the sublayer
 */
function sum(c, output) {
  const normed = c.useNorm !== false;
  const added = normsOutput(c) && normed ? `norm(${output})` : output;
  const scale = c.residualScale ?? 1;
  const term = scale === 1 ? added : times(scale, /[+·]/.test(added) && added === output ? `(${added})` : added);
  const before = c.residualNormed && normed ? 'norm(x)' : 'x';
  const sum = c.useResidual === false ? term : `${before} + ${term}`;
  return `x = ${c.normPlacement === 'post' && normed ? `norm(${sum})` : sum}`;
}
const out = (c) =>
  c.parallelResidual ? `a = ${affine('o', 'z', c.biasAttnOut)}` : sum(c, affine('o', 'z', c.biasAttnOut));
/** Cross-attention of a decoder. */
const cross = (c) =>
  `${attention(c, { cross: true })}, ${sum(c, affine('o', 'z', c.biasAttnOut))}; ${say`k, v from the encoder`}`;
/** What cross-attention reads of the encoder's output e. */
const encoder = (c) => ['k', 'v'].map((name) => `${name} = ${affine(name, 'e', c.biasQkv)}`).join(', ');
const residual = (c) => {
  if (!hasFfn(c)) return ''; // nothing is added after the heads
  if (!c.parallelResidual) return sum(c, 'y');
  const scale = c.residualScale ?? 1;
  const both = scale === 1 ? 'a + y' : times(scale, '(a + y)');
  return `x = ${c.useResidual === false ? both : `x + ${both}`}`;
};

function ffn(c) {
  const up = affine('up', 'x', c.biasFfn);
  const grouped = c.biasFfn ? `(${up})` : up;
  const inner = isGated(c)
    ? `${activationOf(c.ffn)}(${affine('gate', 'x', c.biasFfn)}) ⊙ ${grouped}`
    : `${activationOf(c.ffn)}(${up})`;
  return `y = ${affine('down', isGated(c) ? `(${inner})` : inner, c.biasFfn)}`;
}

function head(c) {
  const row = c.tieWordEmbeddings ? 'E' : 'W';
  const read = c.mlmHead ? `norm(${transform(c)})` : `${c.dEmbed ? 'W_out ' : ''}x`;
  const product = `${row} ${read}${c.biasHead ? ' + b' : ''}`;
  const scale = c.logitScale ?? 1;
  return `logits = ${capped(c.logitSoftcap ?? 0, times(scale, c.biasHead && scale !== 1 ? `(${product})` : product))}`;
}

/** What the layer before the head computes, without its norm. */
const transform = (c) => {
  const own = c.headActivation ?? 'none';
  return `${own === 'none' ? activationOf(c.ffn) : own}(W x${c.biasHeadTransform === false ? '' : ' + b'})`;
};

/** What an encoder makes of its last states. */
const outputs = (c) =>
  [
    c.mlmHead ? `logits = ${c.tieWordEmbeddings ? 'E' : 'W'} norm(${transform(c)})${c.biasHead ? ' + b' : ''}` : '',
    c.pooler ? 'p = tanh(W x₀ + b)' : '',
  ]
    .filter(Boolean)
    .join(', ');

const EXPERTS = say`p = softmax(W_router x), y = Σ w_e FFN_e(x) over the experts e with the largest p`;
const blockNorm = (c) => norm(c, c.useNorm);

/** The formula of each stage that has one of its own. @type {Record<string, (c: any, layer: number) => string>} */
export const FORMULAS = {
  embed,
  norm1: blockNorm,
  qkv,
  heads: (c, layer) => attention(c, { layer }),
  post1: blockNorm,
  out,
  cross,
  encoder,
  norm2: blockNorm,
  ffn: (c, layer) => (hasExperts(c, layer) ? EXPERTS : ffn(c)),
  post2: blockNorm,
  resid: residual,
  final: (c) =>
    [c.finalNorm && norm(c, c.useFinalNorm, c.finalNormKind ?? c.norm), outputs(c)].filter(Boolean).join('; '),
  head,
};
