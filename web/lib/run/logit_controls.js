// logit_controls.js - what changes the logits of one generation: logit bias, penalties, minTokens, a grammar
//
// It is loaded at the first generation with such an option. The engine adds the bias after the repetition penalty and
// before the temperature (struct gf_adjustment).
import { biasOf } from '../engine/bias_and_penalties.js';

/** @import { LoadedModel } from './loaded_model.js' */
/** @import { GenerationOptions } from './generate.js' */

/**
 * The controls of a generation.
 * @param {LoadedModel} model
 * @param {GenerationOptions} o
 * @param {number[]} prompt
 * @returns {Promise<Controls>}
 */
export async function controlsOf(model, o, prompt) {
  const { constraint: posted } = /** @type {Record<string, any>} */ (o.controls);
  const constrain = posted && (await import('../text/constrain/constraint.js'));
  return new Controls(o, o.ignoreEos ? [] : model.special.eos, constrain?.constraintOf(model, posted, prompt) ?? null);
}

/** The state of one generation. Its user repeats: `adjustment`, the draw of a token, `accept`. */
export class Controls {
  /** How often each token was generated. @type {Map<number, number>} */
  #counts = new Map();
  #generated = 0;

  /**
   * @param {GenerationOptions} o
   * @param {number[]} eos  tokens that end the text
   * @param {import('../text/constrain/constraint.js').Constraint | null} constraint
   */
  constructor(o, eos, constraint) {
    this.o = /** @type {Record<string, any>} */ (o.controls);
    this.minTokens = o.minTokens;
    this.eos = eos;
    this.constraint = constraint;
  }

  /** Whether the text is complete and nothing can follow it. */
  get complete() {
    return this.constraint?.complete ?? false;
  }

  /**
   * The changes of the logits before the next token.
   * @returns {import('../engine/engine.js').Adjustment}
   */
  adjustment() {
    const { logitBias = [], presencePenalty, frequencyPenalty } = this.o;
    const { ids, bias } = biasOf(logitBias, this.#counts, presencePenalty, frequencyPenalty);
    if (this.#generated < this.minTokens) {
      for (const id of this.eos) {
        ids.push(id);
        bias.push(-Infinity);
      }
    }
    return { ids, bias, allowed: this.constraint ? this.constraint.allowed(this.eos) : null };
  }

  /**
   * Count a token that was drawn and is no end token.
   * @param {number} id
   */
  accept(id) {
    this.#generated++;
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    this.constraint?.accept(id);
  }
}
