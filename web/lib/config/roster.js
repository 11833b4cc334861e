// roster.js - every weight of a model, from its configuration alone
//
// The engine lists the same names in the same order; readers map the tensors of a file to them, and the parameter table
// counts them. A weight is [rows = out, cols = in].
import { BLOCKS, DTYPES, isDtype } from '../base/blocks.js';
import { fail, show } from '../base/errors.js';
import { isGated, isSparse, normKind } from './config.js';

/** @typedef {import('./config.js').Config} Config */
/** @typedef {'embedding'|'position'|'attention'|'cross_attention'|'ffn'|'norm'|'final_norm'|'head'} Component */
/**
 * @typedef {object} Weight
 * @property {string} name
 * @property {Component} component
 * @property {'decoder'|'encoder'|null} stack
 * @property {number|null} layer
 * @property {number[]} shape
 * @property {string} formula       in the names of the configuration: 'n_heads × d_head × d_model'
 */
/**
 * @typedef {object} ParameterRow
 * @property {string} name
 * @property {Component} component
 * @property {'decoder'|'encoder'|null} stack
 * @property {number|null} layer
 * @property {number[]} shape
 * @property {number} count         0 for a head that shares the embedding
 * @property {string} formula
 * @property {string} dtype
 * @property {number} bytes
 * @property {string|null} tiedTo   the name of the weight it shares
 */
/**
 * @typedef {object} ParameterTable
 * @property {ParameterRow[]} rows
 * @property {number} total
 * @property {number} active        total without the experts that a token does not choose
 * @property {number} nonEmbedding  total - token embedding tables - learned position tables; an untied head stays in
 * @property {number} bytes
 */

/**
 * The size of a dimension.
 * @param {Config} c
 * @param {string} dim  fields joined by × or by +
 */
const sizeOf = (c, dim) =>
  dim
    .split(' + ')
    .reduce(
      (sum, of) =>
        sum + of.split(' × ').reduce((n, f) => n * Number(f === '1' ? 1 : c[/** @type {keyof Config} */ (f)]), 1),
      0,
    );

/**
 * All weights in the engine's order.
 * @param {Config} c
 * @returns {Generator<Weight, void, void>}
 */
export function* roster(c) {
  const both = c.kind === 'encoder_decoder';
  const main = c.kind === 'encoder' ? 'encoder' : 'decoder';
  /**
   * @param {string} name
   * @param {Component} component
   * @param {Weight['stack']} stack
   * @param {number|null} layer
   * @param {string[]} dims products or sums of fields, outermost first
   * @returns {Weight}
   */
  const w = (name, component, stack, layer, ...dims) => ({
    name,
    component,
    stack,
    layer,
    shape: dims.map((dim) => sizeOf(c, dim)),
    formula: dims.map((dim) => (dims.length > 1 && dim.includes('+') ? `(${dim})` : dim)).join(' × '),
  });
  const q = 'n_heads × d_head';
  const kv = 'n_kv_heads × d_head';
  const sandwich = c.norm_placement === 'sandwich';
  const projected = c.d_embed > 0;
  const embedWidth = projected ? 'd_embed' : 'd_model';
  const positions = c.position_offset ? 'position_offset + context_length' : 'context_length';

  /**
   * @param {string} name
   * @param {Component} component
   * @param {Weight['stack']} stack
   * @param {number|null} layer
   */
  function* norm(name, component, stack, layer) {
    if (c.norm_gain) yield w(`${name}.weight`, component, stack, layer, 'd_model');
    if (c.bias_norm && normKind(c, component === 'final_norm') === 'layernorm')
      yield w(`${name}.bias`, component, stack, layer, 'd_model');
  }
  /**
   * A linear layer outside the blocks.
   * @param {string} name
   */
  function* dense(name) {
    yield w(`${name}.weight`, 'head', null, null, 'd_model', 'd_model');
    yield w(`${name}.bias`, 'head', null, null, 'd_model');
  }
  /**
   * The norm of q or k.
   * @param {string} name
   * @param {Weight['stack']} stack
   * @param {number} l
   * @param {number} heads
   * @param {string} all  their components together
   */
  function* headNorm(name, stack, l, heads, all) {
    const each = c.qk_norm_span === 'each_head';
    const width = c.qk_norm_span === 'projection' ? all : 'd_head';
    for (const end of c.bias_qk_norm ? ['weight', 'bias'] : ['weight'])
      for (let h = 0; h < (each ? heads : 1); h++)
        yield w(`${name}.${each ? `${h}.` : ''}${end}`, 'attention', stack, l, width);
  }
  /**
   * @param {string} p
   * @param {Component} part
   * @param {Weight['stack']} stack
   * @param {number} l
   * @param {boolean} qkNorm
   */
  function* attention(p, part, stack, l, qkNorm) {
    yield w(`${p}.q.weight`, part, stack, l, q, 'd_model');
    yield w(`${p}.k.weight`, part, stack, l, kv, 'd_model');
    yield w(`${p}.v.weight`, part, stack, l, kv, 'd_model');
    if (c.bias_qkv) {
      yield w(`${p}.q.bias`, part, stack, l, q);
      yield w(`${p}.k.bias`, part, stack, l, kv);
      yield w(`${p}.v.bias`, part, stack, l, kv);
    }
    if (qkNorm) {
      yield* headNorm(`${p}.q_norm`, stack, l, c.n_heads, q);
      yield* headNorm(`${p}.k_norm`, stack, l, c.n_kv_heads, kv);
    }
    yield w(`${p}.o.weight`, part, stack, l, 'd_model', q);
    if (c.bias_attn_out) yield w(`${p}.o.bias`, part, stack, l, 'd_model');
  }
  /**
   * A feed-forward layer.
   * @param {string} p
   * @param {Weight['stack']} stack
   * @param {number} l
   * @param {string} width
   */
  function* ffn(p, stack, l, width) {
    const gated = isGated(c);
    if (gated) yield w(`${p}.gate.weight`, 'ffn', stack, l, width, 'd_model');
    yield w(`${p}.up.weight`, 'ffn', stack, l, width, 'd_model');
    if (gated && c.bias_ffn) yield w(`${p}.gate.bias`, 'ffn', stack, l, width);
    if (c.bias_ffn) yield w(`${p}.up.bias`, 'ffn', stack, l, width);
    yield w(`${p}.down.weight`, 'ffn', stack, l, 'd_model', width);
    if (c.bias_ffn) yield w(`${p}.down.bias`, 'ffn', stack, l, 'd_model');
  }
  /**
   * @param {string} prefix
   * @param {'encoder'|'decoder'} stack
   * @param {number} n
   * @param {boolean} cross
   */
  function* blocks(prefix, stack, n, cross) {
    for (let l = 0; l < n; l++) {
      const b = `${prefix}.${l}`;
      yield* norm(`${b}.norm1`, 'norm', stack, l);
      yield* attention(`${b}.attn`, 'attention', stack, l, c.qk_norm);
      if (sandwich) yield* norm(`${b}.norm1_post`, 'norm', stack, l);
      if (cross) {
        yield* norm(`${b}.norm2`, 'norm', stack, l);
        yield* attention(`${b}.cross_attn`, 'cross_attention', stack, l, false);
      }
      if (!c.shared_norm) yield* norm(`${b}.norm${cross ? 3 : 2}`, 'norm', stack, l);
      if (isSparse(c, l)) {
        yield w(`${b}.ffn.router.weight`, 'ffn', stack, l, 'n_experts', 'd_model');
        if (c.d_shared_expert) yield w(`${b}.ffn.shared_gate.weight`, 'ffn', stack, l, '1', 'd_model');
        for (let e = 0; e < c.n_experts; e++) yield* ffn(`${b}.ffn.experts.${e}`, stack, l, 'd_expert');
        if (c.d_shared_expert) yield* ffn(`${b}.ffn.shared_expert`, stack, l, 'd_shared_expert');
      } else yield* ffn(`${b}.ffn`, stack, l, 'd_ff');
      if (sandwich) yield* norm(`${b}.norm2_post`, 'norm', stack, l);
    }
  }

  if (both && !c.shared_embedding) yield w('encoder.embed.weight', 'embedding', null, null, 'vocab_size', 'd_model');
  yield w('embed.weight', 'embedding', null, null, 'vocab_size', embedWidth);
  if (projected) yield w('embed_project.weight', 'embedding', null, null, 'd_model', 'd_embed');
  if (c.position === 'learned') {
    if (both) yield w('encoder.position.weight', 'position', null, null, positions, 'd_model');
    yield w('position.weight', 'position', null, null, positions, 'd_model');
  }
  if (c.relative_buckets) {
    for (const name of both ? ['encoder.relative_bias', 'relative_bias'] : ['relative_bias'])
      yield w(`${name}.weight`, 'position', null, null, 'relative_buckets', 'n_heads');
  }
  if (c.embed_norm && both) yield* norm('encoder.embed_norm', 'norm', null, null);
  if (c.n_token_types) yield w('token_type.weight', 'embedding', null, null, 'n_token_types', 'd_model');
  if (c.embed_norm) yield* norm('embed_norm', 'norm', null, null);
  if (both) {
    yield* blocks('encoder', 'encoder', c.n_encoder_layers, false);
    if (c.final_norm) yield* norm('encoder.final_norm', 'final_norm', null, null);
  }
  yield* blocks(both ? 'decoder' : 'blocks', main, c.n_layers, both);
  if (c.final_norm) yield* norm('final_norm', 'final_norm', null, null);
  if (c.pooler) yield* dense('pooler');
  if (c.mlm_head) {
    yield* dense('head_transform');
    yield* norm('head_norm', 'head', null, null);
  }
  if (c.kind !== 'encoder' || c.mlm_head) {
    if (projected) yield w('head_project.weight', 'head', null, null, 'd_embed', 'd_model');
    if (!c.tie_word_embeddings) yield w('head.weight', 'head', null, null, 'vocab_size', embedWidth);
    if (c.bias_head) yield w('head.bias', 'head', null, null, 'vocab_size');
  }
}

/**
 * Whether a weight belongs to an expert, which runs for the tokens that choose it.
 * @param {{name: string}} weight
 */
export const isExpert = ({ name }) => name.includes('.experts.');

/**
 * Bytes that n scalars take in a number format.
 * @param {number} n
 * @param {string} dtype
 */
export function dtypeBytes(n, dtype) {
  const [cols, bytes] = isDtype(dtype)
    ? BLOCKS[dtype]
    : fail('bad-argument', `there is no dtype ${show(dtype)}, expected one of ${DTYPES}`);
  return (n / cols) * bytes;
}

/**
 * The parameter table of a checked configuration.
 * @param {Config} config
 * @param {(weight: Weight) => string} [dtypeOf] number format of each weight; f32 when absent
 * @returns {ParameterTable}
 */
export function parameterTable(config, dtypeOf = () => 'f32') {
  /** @type {ParameterRow[]} */
  const rows = [];
  const tied = config.tie_word_embeddings;
  /**
   * @param {Weight} weight
   * @param {number} count
   * @param {string} dtype
   * @param {string|null} tiedTo
   */
  const row = ({ name, component, stack, layer, shape, formula }, count, dtype, tiedTo) => {
    rows.push({
      name,
      component,
      stack,
      layer,
      shape,
      count,
      formula,
      dtype,
      bytes: count && dtypeBytes(count, dtype),
      tiedTo,
    });
  };
  /** @type {Weight | undefined} */
  let embed;
  /** @param {Weight} e */
  const tiedHead = (e) =>
    row(
      { ...e, name: 'head.weight', component: 'head', formula: '0, shared with the embedding' },
      0,
      dtypeOf(e),
      e.name,
    );
  for (const weight of roster(config)) {
    if (weight.name === 'embed.weight') embed = weight;
    if (weight.name === 'head.bias' && tied && embed) tiedHead(embed);
    row(
      weight,
      weight.shape.reduce((a, b) => a * b, 1),
      dtypeOf(weight),
      null,
    );
  }
  if (tied && !config.bias_head && embed) tiedHead(embed);
  let total = 0,
    experts = 0,
    tables = 0,
    bytes = 0;
  for (const r of rows) {
    total += r.count;
    bytes += r.bytes;
    if (isExpert(r)) experts += r.count;
    if (r.component === 'position' || (r.component === 'embedding' && r.name !== 'embed_project.weight'))
      tables += r.count;
  }
  if (!Number.isSafeInteger(total))
    fail('bad-config', `the configuration asks for about ${total.toExponential(2)} parameters`);
  const idle = experts && experts - (experts / config.n_experts) * config.n_experts_used;
  return { rows, total, active: total - idle, nonEmbedding: total - tables, bytes };
}
