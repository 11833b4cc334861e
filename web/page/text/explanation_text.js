// explanation_text.js - sentences of the explanation of one number
import { say } from '../state/base/language.js';

/** What a point's number is called. @type {[RegExp, string][]} */
const NAMES = [
  [/^logits$/, say`logit`],
  [/hook_embed$/, say`embedding`],
  [/hook_pos_embed$/, say`position embedding`],
  [/hook_resid_pre$/, say`stream into the block`],
  [/hook_resid_mid$/, say`stream after attention`],
  [/hook_resid_mid_cross$/, say`stream after cross-attention`],
  [/hook_resid_post$/, say`stream after the block`],
  [/hook_scale$/, say`denominator of the norm`],
  [/ln_final\.hook_normalized$/, say`final norm, before the gain`],
  [/hook_normalized$/, say`norm, before the gain`],
  [/hook_rot_q$/, say`query, rotated`],
  [/hook_rot_k$/, say`key, rotated`],
  [/hook_q$/, say`query`],
  [/hook_k$/, say`key`],
  [/hook_v$/, say`value`],
  [/scores_raw$/, say`score before scaling`],
  [/scores_scaled$/, say`scaled score`],
  [/scores$/, say`score`],
  [/pattern$/, say`attention weight`],
  [/hook_z$/, say`mixed values`],
  [/hook_result$/, say`output of the head`],
  [/cross_attn_out$/, say`output of cross-attention`],
  [/attn_out$/, say`output of attention`],
  [/mlp\.hook_pre$/, say`neuron before activation`],
  [/mlp\.hook_pre_linear$/, say`up projection of the neuron`],
  [/mlp\.hook_post$/, say`neuron after activation`],
  [/mlp\.hook_router_logits$/, say`router, expert`],
  [/mlp\.hook_shared_gate$/, say`gate of the shared expert`],
  [/mlp\.hook_expert_weights$/, say`probability of expert`],
  [/mlp\.hook_expert_indices$/, say`chosen expert, place`],
  [/mlp_out$/, say`output of the FFN`],
];

/** @param {string} at  name of a point, or 'logits' */
export const nameOfPoint = (at) => NAMES.find(([pattern]) => pattern.test(at))?.[1] ?? at;

export const EXPLANATION = {
  /** Headings of the columns that depend on how the terms are combined. @type {Record<string, [string, string]>} */
  columns: {
    share: [say`score`, say`e^(score − largest)`],
    root: [say`deviation`, say`squared`],
    product: [say`number`, say`factor`],
    given: [say`number`, say`value`],
    sum: [say`number`, say`adds`],
  },
  term: say`term`,
  rounded: say`rounded`,
  times: say`times`,
  masked: say`Masked: this position does not attend to that key.`,
  tableEnds: say`The explanation ends here: this number is a parameter, stored in the embedding table.`,
  positionEnds: say`The explanation ends here: this number depends on the position alone.`,
  gap: say`The small gap is quantisation rounding.`,
  rounds: say`The engine rounds these numbers before it multiplies them; the terms contain the rounded numbers.`,
  engine: say`engine’s value`,
  largest: say`Explain the largest term`,
  first: say`Explain the first term`,
  tanh: say`tanh of that`,
  capped: (cap) => say`soft cap: ${cap} × tanh(that ÷ ${cap})`,
  /** @param {string} of  what is explained, "cell" or "value" */
  way: (of) => say`Path to this ${of}`,
  terms: (of) => say`Terms of the ${of}`,
};
