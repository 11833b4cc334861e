// formulas_ffn.js - the formulas of the feed-forward layer
import { linear, product, shareOf, short, term } from './terms.js';
import { headActivation, isSparse } from '../../engine/config/config.js';
import { activationOf, isGated } from '../../engine/config/config_fields.js';

/** @import { PassValues } from './pass_values.js' */
/** @import { Derivation, Formula } from './terms.js' */

/**
 * Activation functions by their name in the configuration.
 * @type {Record<string, (x: number) => number>}
 */
export const ACTIVATIONS = {
  relu: (x) => Math.max(0, x),
  relu2: (x) => Math.max(0, x) ** 2,
  gelu_erf: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
  quick_gelu: (x) => x / (1 + Math.exp(-1.702 * x)),
  mish: (x) => x * Math.tanh(Math.log1p(Math.exp(x))),
  tanh: Math.tanh,
};

/**
 * The error function: Abramowitz & Stegun 7.1.26, absolute error below 1.5e-7.
 * @param {number} x
 */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - p * Math.exp(-x * x));
}

/**
 * A neuron after the activation function.
 * @type {Formula}
 */
export function activation(pass) {
  const { config: c } = pass;
  const pre = term(pass, pass.inBlock('mlp.hook_pre'));
  const gate = activationOf(c);
  if (!isGated(c)) return { how: 'activation', formula: c.ffn, terms: [pre] };
  return {
    how: 'product',
    formula: `${gate}(gate) × up`,
    terms: [
      { ...pre, name: `${gate}(gate)`, input: pre.value, value: ACTIVATIONS[gate](pre.value) },
      term(pass, pass.inBlock('mlp.hook_pre_linear')),
    ],
  };
}

/**
 * A neuron before the activation function, or another row of a matrix that reads the input of the layer.
 * @param {PassValues} pass
 * @param {string} name  of the matrix in the layer
 * @returns {Derivation}
 */
export const inputProduct = (pass, name) => product(pass, `${pass.block}.ffn.${name}`, pass.index, pass.inputOf('ffn'));

/**
 * The probability of an expert.
 * @type {Formula}
 */
export function expertWeight(pass) {
  const at = pass.inBlock('mlp.hook_router_logits');
  return shareOf(pass.row(at), 'logit of expert', { at, position: pass.position });
}

/**
 * What the feed-forward layer computes, or the experts in its place.
 * @type {Formula}
 */
export function feedForward(pass) {
  const { config: c, block, index } = pass;
  if (!isSparse(c, pass.layer)) {
    const at = pass.inBlock('mlp.hook_post');
    return product(pass, `${block}.ffn.down`, index, { at, x: pass.row(at) }, 'neuron');
  }
  const ends = c.norm_expert_weights ? ' divided by the sum of these' : '';
  return {
    how: 'sum',
    formula: `the chosen experts, times their probabilities${ends}`,
    terms: chosen(pass).map(({ name, weights, share, ...of }) => {
      const [y] = linear(pass, `${weights}.down`, neurons(pass, weights), [index]);
      return { ...of, name: `${name}: ${short(y)} × ${short(share)}`, value: y * share };
    }),
  };
}

/**
 * All of what the feed-forward layer computes at a position.
 * @param {PassValues} pass
 * @returns {Float64Array} [d_model]
 */
export function feedForwardRow(pass) {
  const { config: c, block } = pass;
  if (!isSparse(c, pass.layer)) return linear(pass, `${block}.ffn.down`, pass.row(pass.inBlock('mlp.hook_post')));
  const sum = new Float64Array(c.d_model);
  for (const { weights, share } of chosen(pass)) {
    const y = linear(pass, `${weights}.down`, neurons(pass, weights));
    for (let j = 0; j < sum.length; j++) sum[j] += share * y[j];
  }
  return sum;
}

/**
 * The experts that work on a position: those that it chose, the most probable first, and the shared one. share: the
 * weight of its output; input: the probability or gate that the share is computed from; weights: their prefix.
 * @param {PassValues} pass
 * @returns {{name: string, weights: string, share: number, input: number, from: import('./explain.js').Cell}[]}
 */
function chosen(pass) {
  const { config: c, block, position } = pass;
  const at = pass.inBlock('mlp.hook_expert_weights');
  const p = pass.row(at);
  const experts = [...pass.row(pass.inBlock('mlp.hook_expert_indices'))];
  const sum = c.norm_expert_weights ? experts.reduce((a, e) => a + p[e], 0) || 1 : 1;
  const list = experts.map((e) => ({
    name: `expert ${e}`,
    weights: `${block}.ffn.experts.${e}`,
    share: p[e] / sum,
    input: p[e],
    from: { at, position, index: e },
  }));
  if (!c.d_shared_expert) return list;
  const gate = pass.inBlock('mlp.hook_shared_gate');
  const [input] = pass.row(gate);
  const share = 1 / (1 + Math.exp(-input));
  const from = { at: gate, position, index: 0 };
  return [...list, { name: 'the shared expert', weights: `${block}.ffn.shared_expert`, share, input, from }];
}

/**
 * The neurons of an expert after their activation.
 * @param {PassValues} pass
 * @param {string} name  prefix of its weights
 * @returns {Float32Array} [width]
 */
function neurons(pass, name) {
  const { x } = pass.inputOf('ffn');
  const up = Float32Array.from(linear(pass, `${name}.up`, x));
  const act = ACTIVATIONS[activationOf(pass.config)];
  if (!isGated(pass.config)) return up.map(act);
  return Float32Array.from(linear(pass, `${name}.gate`, x), (gate, j) => act(gate) * up[j]);
}

/**
 * A place in the list of the chosen experts, the most probable first.
 * @type {Formula}
 */
export function choice(pass) {
  const { position, index } = pass;
  const at = pass.inBlock('mlp.hook_expert_weights');
  const expert = pass.row(pass.at)[index];
  const input = pass.row(at)[expert];
  return {
    how: 'sum',
    formula: `the expert whose probability is number ${index + 1} from the largest`,
    terms: [{ name: `expert ${expert}`, value: expert, input, from: { at, position, index: expert } }],
  };
}

/**
 * The row of the layer before the head of a masked language model: the activation of W h + b.
 * @param {PassValues} pass
 * @returns {Float64Array} [d_model]
 */
export const transformed = (pass) =>
  linear(pass, 'head_transform', pass.hidden().x).map(ACTIVATIONS[headActivation(pass.config)]);
