// formulas.js - the formula of every capture point: the terms that each of its values is computed from
import { headResult, mixture, patternWeight, projection, score } from './formulas_attention.js';
import { activation, choice } from './formulas_ffn.js';
import { normScale, normalized } from './formulas_norm.js';
import { positionEmbedding, rotation } from './formulas_position.js';
import { added, blockInput, logit, pooled, residual, tokenEmbedding, tokenType } from './formulas_stream.js';
import { product, shareOf } from './terms.js';
import { isGated } from '../formats/config.js';
import { fail } from '../base/errors.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./terms.js').Derivation} Derivation */

/**
 * The formula of one value of the point.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} head   0 for points without heads
 * @param {number} index
 * @returns {Derivation}
 */
export function formula(pass, position, head, index) {
  const { config: c, block, point } = pass;
  const row = head * c.d_head + index; // of q, k and v
  const which = /** @type {'q'|'k'|'v'} */ (point.at(-1));
  switch (point.replace('cross_attn.', 'attn.').replace(/^.*ln.*\./, 'ln.')) {
    case 'logits':
      return logit(pass, position, index);
    case 'hook_embed':
      return tokenEmbedding(pass, position, index);
    case 'hook_pos_embed':
      return positionEmbedding(pass, position, index);
    case 'hook_token_type_embed':
      return tokenType(pass, position, index);
    case 'hook_resid_pre':
      return blockInput(pass, position, index);
    case 'hook_resid_mid':
      return residual(pass, 'attn', position, index);
    case 'hook_resid_mid_cross':
      return residual(pass, 'cross_attn', position, index);
    case 'hook_resid_post':
      return residual(pass, 'ffn', position, index);
    case 'ln.hook_scale':
      return normScale(pass, position);
    case 'ln.hook_normalized':
      return normalized(pass, position, index);
    case 'attn.hook_q':
    case 'attn.hook_k':
    case 'attn.hook_v':
      return projection(pass, which, position, row);
    case 'attn.hook_rot_q':
    case 'attn.hook_rot_k':
      return rotation(pass, /** @type {'q'|'k'} */ (which), position, head, index);
    case 'attn.hook_attn_scores_raw':
    case 'attn.hook_attn_scores_scaled':
    case 'attn.hook_attn_scores':
      return score(pass, position, head, index);
    case 'attn.hook_pattern':
      return patternWeight(pass, position, head, index);
    case 'attn.hook_z':
      return mixture(pass, position, head, index);
    case 'attn.hook_result':
      return headResult(pass, position, head, index);
    case 'hook_attn_out':
      return added(pass, 'attn', position, index);
    case 'hook_cross_attn_out':
      return added(pass, 'cross_attn', position, index);
    case 'mlp.hook_pre': {
      const name = `${block}.ffn.${isGated(c) ? 'gate' : 'up'}`;
      return product(pass, name, index, pass.inputOf('ffn', position), position, 'dimension');
    }
    case 'mlp.hook_pre_linear':
      return product(pass, `${block}.ffn.up`, index, pass.inputOf('ffn', position), position, 'dimension');
    case 'mlp.hook_post':
      return activation(pass, position, index);
    case 'mlp.hook_router_logits':
      return product(pass, `${block}.ffn.router`, index, pass.inputOf('ffn', position), position, 'dimension');
    case 'mlp.hook_shared_gate':
      return product(pass, `${block}.ffn.shared_gate`, index, pass.inputOf('ffn', position), position, 'dimension');
    case 'mlp.hook_expert_weights': {
      const at = pass.inBlock('mlp.hook_router_logits');
      return shareOf(pass.row(at, position), 'logit of expert', { at, position });
    }
    case 'mlp.hook_expert_indices':
      return choice(pass, position, index);
    case 'hook_mlp_out':
      return added(pass, 'ffn', position, index);
    case 'pooler.hook_pooler_out':
      return pooled(pass, index);
    default:
      return fail('unsupported', `${pass.at} cannot be explained`);
  }
}
