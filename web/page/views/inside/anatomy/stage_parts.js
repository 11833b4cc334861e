// stage_parts.js - the stages of one forward pass as the configuration has them: the shape of what each makes, its
// operations for one more token, and where its values can be read
import {
  addsPositions,
  hasExperts,
  hasFfn,
  hasNorms,
  isGated,
  normsBefore,
  normsOutput,
  rotates,
} from '../../../state/architecture.js';
import { blockPoint } from '../../../state/points.js';
import { VALUES } from '../../../text/stages_text.js';
import * as cost from './stage_cost.js';

/** @typedef {Record<string, any>} Config */
/** @typedef {[point: string, name: string]} Named */
/** @typedef {Pick<import('./stages.js').Stage, 'id' | 'shape' | 'flops' | 'once' | 'points'>} Part */

/** @param {any} has @param {...Named} points @returns {Named[]} */
const when = (has, ...points) => (has ? points : []);
/** Prefix of points outside the blocks. @param {Config} c */
const whole = (c) => (c.kind === 'encoder_decoder' ? 'decoder.' : '');
/** Values of a norm, which it has unless it is switched off. @param {Config} c @param {string} point @returns {Named[]} */
const ofNorm = (c, point, used = c.useNorm !== false) => when(used, [`${point}.hook_normalized`, VALUES.normalised(c)]);
/** The same of a norm in a block and, where it stands before a sublayer, what it reads. @param {Config} c @param {string} point @param {string} reads */
const ofBlockNorm = (c, point, reads) => [...ofNorm(c, point), ...when(normsBefore(c), [reads, VALUES.read])];

/** @param {Config} c @param {number} n @returns {Part} */
export const embedPart = (c, n) => ({
  id: 'embed',
  shape: `[${n}, ${c.dModel}]`,
  flops: cost.embed(c),
  points: [
    [`${whole(c)}hook_embed`, VALUES.embedding],
    ...when(addsPositions(c), [`${whole(c)}hook_pos_embed`, VALUES.position]),
    ...when(c.nTokenTypes, ['hook_token_type_embed', VALUES.tokenType]),
    ...(c.embedNorm ? ofNorm(c, `${whole(c)}embed.ln`) : []),
  ],
});

/** @param {Config} c @param {number} layer @param {number} n @returns {Part[]} */
function attentionParts(c, layer, n) {
  const block = blockPoint(c, layer);
  const [d, qd, kd] = [c.dModel, c.nHeads * c.dHead, c.nKvHeads * c.dHead];
  const isLast = !hasFfn(c) && c.kind !== 'encoder_decoder'; // its sum is the stream after the block
  const after = when(!c.parallelResidual && !isLast, [`${block}.hook_resid_mid`, VALUES.after]);
  return [
    {
      id: 'norm1',
      shape: `[${n}, ${d}]`,
      flops: cost.norm(c),
      points: ofBlockNorm(c, `${block}.ln1`, `${block}.hook_resid_pre`),
    },
    {
      id: 'qkv',
      shape: c.nKvHeads === c.nHeads ? `3 × [${n}, ${qd}]` : `q [${n}, ${qd}], k v [${n}, ${kd}]`,
      flops: cost.qkv(c, layer),
      points: [
        [`${block}.attn.hook_q`, VALUES.q(c)],
        [`${block}.attn.hook_k`, VALUES.k(c)],
        [`${block}.attn.hook_v`, VALUES.v],
        ...when(
          rotates(c, layer),
          [`${block}.attn.hook_rot_q`, VALUES.rotatedQ],
          [`${block}.attn.hook_rot_k`, VALUES.rotatedK],
        ),
      ],
    },
    {
      id: 'heads',
      shape: `pattern [${c.nHeads}, ${n}, ${n}]`,
      flops: cost.heads(c, layer, n),
      points: [[`${block}.attn.hook_z`, VALUES.z]],
    },
    { id: 'post1', shape: `[${n}, ${d}]`, flops: cost.norm(c), points: ofNorm(c, `${block}.ln1_post`) },
    {
      id: 'out',
      shape: `[${n}, ${d}]`,
      flops: cost.out(c) + (c.parallelResidual ? 0 : cost.sum(c)),
      points: [[`${block}.hook_attn_out`, VALUES.added], ...after],
    },
  ];
}

/** @param {Config} c @param {number} layer @param {number} n @param {number} m @returns {Part[]} */
function crossParts(c, layer, n, m) {
  if (c.kind !== 'encoder_decoder') return [];
  const block = blockPoint(c, layer);
  return [
    {
      id: 'cross',
      shape: `pattern [${c.nHeads}, ${n}, ${m}]`,
      flops: cost.cross(c, m),
      points: [
        [`${block}.cross_attn.hook_q`, VALUES.q({})],
        [`${block}.cross_attn.hook_z`, VALUES.z],
        [`${block}.hook_cross_attn_out`, VALUES.added],
        ...when(hasFfn(c), [`${block}.hook_resid_mid_cross`, VALUES.after]),
      ],
    },
    {
      id: 'encoder',
      shape: `[${m}, ${c.dModel}]`,
      flops: 0, // for one more token: the source is read once
      once: encoderCost(c, m),
      points: [[`encoder.${c.nEncoderLayers - 1}.hook_resid_post`, VALUES.encoded]],
    },
  ];
}

/** @param {Config} c @param {number} layer @param {number} n @returns {Part[]} */
function ffnParts(c, layer, n) {
  const block = blockPoint(c, layer);
  const experts = hasExperts(c, layer);
  const d = c.dModel;
  const middle = c.parallelResidual
    ? 'hook_resid_pre'
    : c.kind === 'encoder_decoder'
      ? 'hook_resid_mid_cross'
      : 'hook_resid_mid';
  return [
    {
      id: 'norm2',
      shape: `[${n}, ${d}]`,
      flops: cost.norm(c),
      points: ofBlockNorm(c, `${block}.ln2`, `${block}.${middle}`),
    },
    {
      id: 'ffn',
      shape: experts ? `${c.nExpertsUsed} × [${n}, ${c.dExpert}]` : `[${n}, ${c.dFf}]`,
      flops: experts ? cost.experts(c) : cost.ffn(c),
      points: [
        ...when(
          experts,
          [`${block}.mlp.hook_router_logits`, VALUES.router],
          [`${block}.mlp.hook_expert_weights`, VALUES.experts],
          [`${block}.mlp.hook_expert_indices`, VALUES.chosen],
        ),
        ...when(experts && c.dSharedExpert > 0, [`${block}.mlp.hook_shared_gate`, VALUES.sharedGate]),
        ...when(!experts, [`${block}.mlp.hook_pre`, VALUES.pre(c)]),
        ...when(!experts && isGated(c), [`${block}.mlp.hook_pre_linear`, VALUES.up]),
        ...when(!experts, [`${block}.mlp.hook_post`, VALUES.post(c)]),
        ...when(!normsOutput(c), [`${block}.hook_mlp_out`, VALUES.added]),
      ],
    },
    { id: 'post2', shape: `[${n}, ${d}]`, flops: cost.norm(c), points: ofNorm(c, `${block}.ln2_post`) },
    {
      id: 'resid',
      shape: `[${n}, ${d}]`,
      flops: hasFfn(c) ? cost.sum(c) + (c.parallelResidual ? d : 0) : 0,
      points: [
        ...when(normsOutput(c) && hasFfn(c), [`${block}.hook_mlp_out`, VALUES.added]),
        [`${block}.hook_resid_post`, VALUES.stream],
      ],
    },
  ];
}

/**
 * The stages of a block that this configuration has.
 * @param {Config} c
 * @param {number} layer
 * @param {number} n  tokens
 * @param {number} m  tokens of a source
 * @returns {Part[]}
 */
export const blockParts = (c, layer, n, m) =>
  [...attentionParts(c, layer, n), ...crossParts(c, layer, n, m), ...ffnParts(c, layer, n)].filter(
    ({ id }) =>
      (c.normPlacement === 'sandwich' || !/^post/.test(id)) &&
      !(id === 'norm2' && c.sharedNorm) &&
      (hasNorms(c) || !/^(norm|post)\d/.test(id)) &&
      (hasFfn(c) || !/^(norm2|ffn|post2)$/.test(id)),
  );

/** Operations of the encoder for each token of a source. @param {Config} c @param {number} m */
function encoderCost(c, m) {
  const encoder = { ...c, kind: 'encoder', causal: false };
  let sum = 0;
  for (let layer = 0; layer < c.nEncoderLayers; layer++) sum += blockCost(encoder, layer, m, 0);
  return sum;
}

/** Operations of a whole block. @param {Config} c @param {number} layer @param {number} n @param {number} m */
export const blockCost = (c, layer, n, m) => blockParts(c, layer, n, m).reduce((sum, part) => sum + part.flops, 0);

/** @param {Config} c @param {number} n @returns {Part[]} */
export const lastParts = (c, n) => [
  {
    id: 'final',
    shape: c.mlmHead ? `[${n}, ${c.vocabSize}]` : `[${n}, ${c.dModel}]`,
    flops: cost.finalNorm(c) + cost.outputs(c),
    points: [
      ...(c.finalNorm ? ofNorm(c, `${whole(c)}ln_final`, c.useFinalNorm !== false) : []),
      ...when(c.finalNorm, [`${blockPoint(c, c.nLayers - 1)}.hook_resid_post`, VALUES.read]),
      ...(c.mlmHead ? ofNorm(c, 'mlm_head.ln') : []),
      ...when(c.pooler, ['pooler.hook_pooler_out', VALUES.pooled]),
    ],
  },
  { id: 'head', shape: `[${n}, ${c.vocabSize}]`, flops: cost.head(c), points: [] },
];
