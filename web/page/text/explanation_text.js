// explanation_text.js - sentences of the explanation of one number

/** What a point's number is called. @type {[RegExp, string][]} */
const NAMES = [
  [/^logits$/, 'logit'],
  [/hook_embed$/, 'embedding'],
  [/hook_pos_embed$/, 'position embedding'],
  [/hook_resid_pre$/, 'stream into the block'],
  [/hook_resid_mid$/, 'stream after attention'],
  [/hook_resid_mid_cross$/, 'stream after cross-attention'],
  [/hook_resid_post$/, 'stream after the block'],
  [/hook_scale$/, 'denominator of the norm'],
  [/ln_final\.hook_normalized$/, 'final norm, before the gain'],
  [/hook_normalized$/, 'norm, before the gain'],
  [/hook_rot_q$/, 'query, rotated'],
  [/hook_rot_k$/, 'key, rotated'],
  [/hook_q$/, 'query'],
  [/hook_k$/, 'key'],
  [/hook_v$/, 'value'],
  [/scores_raw$/, 'score before scaling'],
  [/scores_scaled$/, 'scaled score'],
  [/scores$/, 'score'],
  [/pattern$/, 'attention weight'],
  [/hook_z$/, 'mixed values'],
  [/hook_result$/, 'output of the head'],
  [/cross_attn_out$/, 'output of cross-attention'],
  [/attn_out$/, 'output of attention'],
  [/mlp\.hook_pre$/, 'neuron before activation'],
  [/mlp\.hook_pre_linear$/, 'up projection of the neuron'],
  [/mlp\.hook_post$/, 'neuron after activation'],
  [/mlp\.hook_router_logits$/, 'router, expert'],
  [/mlp\.hook_shared_gate$/, 'gate of the shared expert'],
  [/mlp\.hook_expert_weights$/, 'probability of expert'],
  [/mlp\.hook_expert_indices$/, 'chosen expert, place'],
  [/mlp_out$/, 'output of the FFN'],
];

/** @param {string} at  name of a point, or 'logits' */
export const nameOfPoint = (at) => NAMES.find(([pattern]) => pattern.test(at))?.[1] ?? at;

export const EXPLANATION = {
  /** Headings of the columns that depend on how the terms are combined. @type {Record<string, [string, string]>} */
  columns: {
    share: ['score', 'e^(score − largest)'],
    root: ['deviation', 'squared'],
    product: ['number', 'factor'],
    given: ['number', 'value'],
    sum: ['number', 'adds'],
  },
  term: 'term',
  rounded: 'rounded',
  times: 'times',
  masked: 'Masked: this position does not attend to that key.',
  tableEnds: 'The explanation ends here: this number is a parameter, stored in the embedding table.',
  positionEnds: 'The explanation ends here: this number depends on the position alone.',
  gap: 'The small gap is quantisation rounding.',
  rounds: 'The engine rounds these numbers before it multiplies them; the terms contain the rounded numbers.',
  engine: 'engine’s value',
  largest: 'Explain the largest term',
  first: 'Explain the first term',
  tanh: 'tanh of that',
  capped: (cap) => `soft cap: ${cap} × tanh(that ÷ ${cap})`,
  /** @param {string} of  what is explained, "cell" or "value" */
  way: (of) => `Path to this ${of}`,
  terms: (of) => `Terms of the ${of}`,
};
