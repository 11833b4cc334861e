// formulas.js - the formula of every capture point: the terms that each of its values is computed from
import { attentionOutput, headResult, mixture, patternWeight, score } from './formulas_attention.js';
import { GATES, activation } from './formulas_ffn.js';
import { normScale, normalized } from './formulas_norm.js';
import { positionEmbedding, rotation } from './formulas_position.js';
import { blockInput, logit, residual, tokenEmbedding, tokenType } from './formulas_stream.js';
import { product } from './terms.js';
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
  const { config: c, block, point, part, norms } = pass;
  const row = head * c.d_head + index; // of q, k and v
  switch (point.replace('cross_attn.', 'attn.')) {
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
      return residual(pass, 'norm1', 'ln1', 'hook_resid_pre', 'hook_attn_out', position, index);
    case 'hook_resid_mid_cross':
      return residual(pass, 'norm2', 'ln_cross', 'hook_resid_mid', 'hook_cross_attn_out', position, index);
    case 'hook_resid_post':
      return residual(pass, norms.ffn[1], 'ln2', norms.ffn[2], 'hook_mlp_out', position, index);
    case 'ln1.hook_scale':
    case 'ln2.hook_scale':
    case 'ln_cross.hook_scale':
    case 'ln_final.hook_scale':
    case 'embed.ln.hook_scale':
      return normScale(pass, position);
    case 'ln1.hook_normalized':
    case 'ln2.hook_normalized':
    case 'ln_cross.hook_normalized':
    case 'ln_final.hook_normalized':
    case 'embed.ln.hook_normalized':
      return normalized(pass, position, index);
    case 'attn.hook_q':
      return product(pass, `${block}.${part}.q`, row, pass.inputOf(part, position), position, 'dimension');
    case 'attn.hook_k':
    case 'attn.hook_v': {
      const input = pass.cross ? pass.encoderOutput(position) : pass.inputOf(part, position);
      return product(pass, `${block}.${part}.${point.at(-1)}`, row, input, position, 'dimension');
    }
    case 'attn.hook_rot_q':
    case 'attn.hook_rot_k':
      return rotation(pass, point.at(-1) === 'q' ? 'q' : 'k', position, head, index);
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
    case 'hook_cross_attn_out':
      return attentionOutput(pass, position, index);
    case 'mlp.hook_pre': {
      const name = `${block}.ffn.${GATES[c.ffn] ? 'gate' : 'up'}`;
      return product(pass, name, index, pass.inputOf('ffn', position), position, 'dimension');
    }
    case 'mlp.hook_pre_linear':
      return product(pass, `${block}.ffn.up`, index, pass.inputOf('ffn', position), position, 'dimension');
    case 'mlp.hook_post':
      return activation(pass, position, index);
    case 'hook_mlp_out': {
      const at = pass.inBlock('mlp.hook_post');
      return product(pass, `${block}.ffn.down`, index, { at, x: pass.row(at, position) }, position, 'neuron');
    }
    default:
      return fail('unsupported', `${pass.at} cannot be explained`);
  }
}
