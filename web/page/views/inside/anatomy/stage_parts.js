// stage_parts.js - the stages of one forward pass as the configuration has them, with the points where their values can be
// read and the shape of what each makes
import {
  addsPositions,
  hasExperts,
  hasFfn,
  hasNorm1,
  hasNorms,
  hasTwoStacks,
  isGated,
  normsBefore,
  normsOutput,
  predicts,
  rotates,
} from '../../../state/facts/architecture.js';
import { blockPoint } from '../../../state/facts/hook_points.js';
import { VALUES } from '../../../text/stages_text.js';

/** @typedef {Record<string, any>} Config */
/** @typedef {[point: string, name: string]} Named  in order of computation */
/** has: whether the model has it. shape: where it is not that of the stream.
 * @typedef {[id: string, has: any, points: Named[], shape?: string]} Part */

/** @param {any} has @param {...Named} points @returns {Named[]} */
const when = (has, ...points) => (has ? points : []);
/** Values of a norm, which it has unless it is switched off. @param {Config} c @param {string} point @returns {Named[]} */
const ofNorm = (c, point, used = c.useNorm !== false) => when(used, [`${point}.hook_normalized`, VALUES.normalised(c)]);
/** Values of a norm in a block and, if it stands before a sublayer, what it reads. @param {Config} c @param {string} point @param {string} reads */
const ofBlockNorm = (c, point, reads) => [...ofNorm(c, point), ...when(normsBefore(c), [reads, VALUES.read])];

/** @param {Config} c @param {number} layer @param {number} n @returns {Part[]} */
function attentionParts(c, layer, n) {
  const block = blockPoint(c, layer);
  const at = `${block}.attn.hook_`;
  const [qd, kd] = [c.nHeads * c.dHead, c.nKvHeads * c.dHead];
  const isLast = !hasFfn(c) && !hasTwoStacks(c); // its sum is the stream after the block
  const qkv = [
    ...when(true, [`${at}q`, VALUES.q(c)], [`${at}k`, VALUES.k(c)], [`${at}v`, VALUES.v]),
    ...when(rotates(c, layer), [`${at}rot_q`, VALUES.rotatedQ], [`${at}rot_k`, VALUES.rotatedK]),
  ];
  const after = when(!c.parallelResidual && !isLast, [`${block}.hook_resid_mid`, VALUES.after]);
  return [
    ['norm1', hasNorm1(c, layer), ofBlockNorm(c, `${block}.ln1`, `${block}.hook_resid_pre`)],
    ['qkv', true, qkv, c.nKvHeads === c.nHeads ? `3 × [${n}, ${qd}]` : `q [${n}, ${qd}], k v [${n}, ${kd}]`],
    ['heads', true, [[`${at}z`, VALUES.z]], `pattern [${c.nHeads}, ${n}, ${n}]`],
    ['post1', hasNorms(c) && c.normPlacement === 'sandwich', ofNorm(c, `${block}.ln1_post`)],
    ['out', true, [[`${block}.hook_attn_out`, VALUES.added], ...after]],
  ];
}

/** @param {Config} c @param {string} block @param {number} n @param {number} m @returns {Part[]} */
function crossParts(c, block, n, m) {
  const two = hasTwoStacks(c);
  /** @type {Named[]} */
  const cross = [
    [`${block}.cross_attn.hook_q`, VALUES.q({})],
    [`${block}.cross_attn.hook_z`, VALUES.z],
    [`${block}.hook_cross_attn_out`, VALUES.added],
    ...when(hasFfn(c), [`${block}.hook_resid_mid_cross`, VALUES.after]),
  ];
  return [
    ['cross', two, cross, `pattern [${c.nHeads}, ${n}, ${m}]`],
    ['encoder', two, [[`encoder.${c.nEncoderLayers - 1}.hook_resid_post`, VALUES.encoded]], `[${m}, ${c.dModel}]`],
  ];
}

/** @param {Config} c @param {number} layer @param {number} n @returns {Part[]} */
function ffnParts(c, layer, n) {
  const block = blockPoint(c, layer);
  const at = `${block}.mlp.hook_`;
  const experts = hasExperts(c, layer);
  const middle = c.parallelResidual ? 'resid_pre' : hasTwoStacks(c) ? 'resid_mid_cross' : 'resid_mid';
  /** @type {Named} */
  const added = [`${block}.hook_mlp_out`, VALUES.added];
  const ffn = [
    ...when(
      experts,
      [`${at}router_logits`, VALUES.router],
      [`${at}expert_weights`, VALUES.experts],
      [`${at}expert_indices`, VALUES.chosen],
    ),
    ...when(experts && c.dSharedExpert > 0, [`${at}shared_gate`, VALUES.sharedGate]),
    ...when(!experts, [`${at}pre`, VALUES.pre(c)]),
    ...when(!experts && isGated(c), [`${at}pre_linear`, VALUES.up]),
    ...when(!experts, [`${at}post`, VALUES.post(c)]),
    ...when(!normsOutput(c), added),
  ];
  const sum = [...when(normsOutput(c) && hasFfn(c), added), ...when(true, [`${block}.hook_resid_post`, VALUES.stream])];
  return [
    ['norm2', hasNorms(c) && hasFfn(c) && !c.sharedNorm, ofBlockNorm(c, `${block}.ln2`, `${block}.hook_${middle}`)],
    ['ffn', hasFfn(c), ffn, experts ? `${c.nExpertsUsed} × [${n}, ${c.dExpert}]` : `[${n}, ${c.dFf}]`],
    ['post2', hasNorms(c) && hasFfn(c) && c.normPlacement === 'sandwich', ofNorm(c, `${block}.ln2_post`)],
    ['resid', true, sum],
  ];
}

/**
 * The stages of a pass, in their order, those included that the model does not have.
 * @param {Config} c
 * @param {number} layer  that is open
 * @param {number} n  tokens
 * @param {number} m  tokens of a source
 * @returns {Part[]}
 */
export function partsOfPass(c, layer, n, m) {
  const block = blockPoint(c, layer);
  const last = `${blockPoint(c, c.nLayers - 1)}.hook_resid_post`;
  const whole = hasTwoStacks(c) ? 'decoder.' : '';
  const embed = [
    ...when(true, [`${whole}hook_embed`, VALUES.embedding]),
    ...when(addsPositions(c), [`${whole}hook_pos_embed`, VALUES.position]),
    ...when(c.nTokenTypes, ['hook_token_type_embed', VALUES.tokenType]),
    ...(c.embedNorm ? ofNorm(c, `${whole}embed.ln`) : []),
  ];
  const final = [
    ...(c.finalNorm ? ofNorm(c, `${whole}ln_final`, c.useFinalNorm !== false) : []),
    ...when(c.finalNorm, [last, VALUES.read]),
    ...(c.mlmHead && c.kind === 'encoder' ? ofNorm(c, 'mlm_head.ln') : []),
    ...when(c.pooler, ['pooler.hook_pooler_out', VALUES.pooled]),
    ...when(['first', 'mean', 'pooler'].includes(c.labelPooling), ['classifier.hook_input', VALUES.labelled]),
  ];
  const logits = `[${n}, ${c.vocabSize}]`;
  return [
    ['embed', true, embed],
    ['before', layer > 0, [[`${block}.hook_resid_pre`, VALUES.into]]],
    ...attentionParts(c, layer, n),
    ...crossParts(c, block, n, m),
    ...ffnParts(c, layer, n),
    ['more', layer + 1 < c.nLayers, [[last, VALUES.last]]],
    [
      'final',
      c.finalNorm || c.pooler || c.mlmHead || (c.kind === 'encoder' && c.nLabels > 0),
      final,
      c.mlmHead ? logits : undefined,
    ],
    ['head', predicts(c), [], logits],
  ];
}
