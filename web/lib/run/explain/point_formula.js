// point_formula.js - the formula of every capture point: the terms that each of its values is computed from
import { headResult, mixture, patternWeight, projection, score } from './formulas_attention.js';
import { activation, choice, expertWeight, inputProduct } from './formulas_ffn.js';
import { normScale, normalized } from './formulas_norm.js';
import { positionEmbedding, rotation } from './formulas_position.js';
import {
  added,
  blockInput,
  labelInput,
  logit,
  pooled,
  residual,
  tokenEmbedding,
  tokenType,
} from './formulas_stream.js';
import { isGated } from '../../engine/config/config_fields.js';
import { fail } from '../../base/errors.js';

/** @import { Formula } from './terms.js' */

/**
 * By the name of the point in its block or stack. `ln` stands for every norm, `attn` also for cross-attention.
 * @type {Record<string, Formula>}
 */
const FORMULAS = {
  logits: logit,
  hook_embed: tokenEmbedding,
  hook_pos_embed: positionEmbedding,
  hook_token_type_embed: tokenType,
  hook_resid_pre: blockInput,
  hook_resid_mid: (pass) => residual(pass, 'attn'),
  hook_resid_mid_cross: (pass) => residual(pass, 'cross_attn'),
  hook_resid_post: (pass) => residual(pass, pass.lastSublayer),
  'ln.hook_scale': normScale,
  'ln.hook_normalized': normalized,
  'attn.hook_q': (pass) => projection(pass, 'q'),
  'attn.hook_k': (pass) => projection(pass, 'k'),
  'attn.hook_v': (pass) => projection(pass, 'v'),
  'attn.hook_rot_q': (pass) => rotation(pass, 'q'),
  'attn.hook_rot_k': (pass) => rotation(pass, 'k'),
  'attn.hook_attn_scores_raw': score,
  'attn.hook_attn_scores_scaled': score,
  'attn.hook_attn_scores': score,
  'attn.hook_pattern': patternWeight,
  'attn.hook_z': mixture,
  'attn.hook_result': headResult,
  hook_attn_out: (pass) => added(pass, 'attn'),
  hook_cross_attn_out: (pass) => added(pass, 'cross_attn'),
  'mlp.hook_pre': (pass) => inputProduct(pass, isGated(pass.config) ? 'gate' : 'up'),
  'mlp.hook_pre_linear': (pass) => inputProduct(pass, 'up'),
  'mlp.hook_post': activation,
  'mlp.hook_router_logits': (pass) => inputProduct(pass, 'router'),
  'mlp.hook_shared_gate': (pass) => inputProduct(pass, 'shared_gate'),
  'mlp.hook_expert_weights': expertWeight,
  'mlp.hook_expert_indices': choice,
  hook_mlp_out: (pass) => added(pass, 'ffn'),
  'pooler.hook_pooler_out': pooled,
  'classifier.hook_input': labelInput,
};

/**
 * The formula of the value of a pass.
 * @type {Formula}
 */
export function formula(pass) {
  const name = pass.point.replace('cross_attn.', 'attn.').replace(/^.*ln.*\./, 'ln.');
  return FORMULAS[name]?.(pass) ?? fail('unsupported', `${pass.at} cannot be explained`);
}
