// lens.js - computes the logit lens and direct logit attribution
//
// logitLens: nostalgebraist 2020, "interpreting GPT: the logit lens". attribution: Elhage et al. 2021, "A Mathematical
// Framework for Transformer Circuits".
import { forwardOne } from './forward.js';
import { weight } from './weight.js';
import { Yielder } from '../base/event_loop.js';
import { numberInRange } from '../input/options.js';
import { fail, show } from '../base/errors.js';
import { checkedIds } from '../base/values.js';

/** @typedef {import('../run/loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('../engine/engine.js').Tensor} Tensor */
/** @typedef {{id: number, text: string, logprob: number, probability: number}} LensToken */
/**
 * One term of a logit.
 * @typedef {object} Part
 * @property {string} name embed, pos_embed, blocks.0.attn.head.3, blocks.0.ffn, blocks.0.attn.o.bias, final_norm.bias,
 *   head.bias, ...
 * @property {'embedding'|'position'|'head'|'ffn'|'bias'} kind
 * @property {number | null} layer
 * @property {number | null} head
 * @property {number} value  in logits
 */
/**
 * @typedef {object} Attribution
 * @property {number} token
 * @property {string} text
 * @property {number} position
 * @property {number} logit   as the model computed it
 * @property {number} sum     of the parts; for weights in f32, f16 or bf16 within 1e-4 of the logit. Quantised models
 *   also round activations, which no part contains
 * @property {Part[]} parts
 */

/**
 * The prefix of the blocks in names of points. Throws for models without logits.
 * @param {LoadedModel} model
 * @param {string} call  name of the call, for the message
 */
function blocksPrefix(model, call) {
  model.requireLogits(call);
  return model.config.kind === 'encoder_decoder' ? 'decoder' : 'blocks';
}

/**
 * Applies the final norm and the head to the residual stream after each layer. The engine itself computes them: in
 * another pass, an edit sets the stream after the last layer to the stream after this layer.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {{top?: number, source?: any, sourceMask?: any, addSpecialTokens?: boolean, pair?: string,
 *   tokenTypes?: ArrayLike<number>}} options
 * @param {import('../run/loaded_model.js').Hooks} hooks
 * @returns {Promise<LensToken[][][]>} [layer][position], the most likely first; the last layer gives the model's own
 *   prediction
 */
export async function logitLens(model, input, options, { signal } = {}) {
  const { top = 5, source, sourceMask } = options;
  const stack = blocksPrefix(model, 'logitLens');
  const { n_layers: layers, vocab_size: v, d_model: d } = model.config;
  numberInRange('top', top, 1, v, true);
  const yielder = new Yielder(signal);
  const { ids, types } = model.typedIds(input, 'input', options);
  const point = (/** @type {number} */ l) => `${stack}.${l}.hook_resid_post`;
  const { logits, captured } = await forwardOne(
    model,
    ids,
    { source, sourceMask, types, capture: [point(0).replace('.0.', '.*.')] },
    yielder,
  );
  /** @type {LensToken[][][]} */
  const out = [];
  for (let l = 0; l < layers; l++) {
    const stream = captured[point(l)].data;
    const edits = ids.map((_, position) => ({
      at: point(layers - 1),
      position,
      set: stream.subarray(position * d, (position + 1) * d),
    }));
    const { data } =
      l === layers - 1
        ? /** @type {Tensor} */ (logits)
        : /** @type {Tensor} */ ((await forwardOne(model, ids, { source, sourceMask, types, edits }, yielder)).logits);
    out.push(
      ids.map((_, i) =>
        model.engine
          .top(data.subarray(i * v, (i + 1) * v), top)
          .map(({ id, logprob }) => ({ id, text: model.tokenText(id), logprob, probability: Math.exp(logprob) })),
      ),
    );
  }
  return out;
}

/**
 * What a model has that attribution cannot divide among the parts, in words; '' for nothing.
 * @param {any} c  configuration
 */
function undivided(c) {
  if (c.norm_placement === 'sandwich' || c.norm_placement === 'output') return `norm_placement ${c.norm_placement}`;
  if (c.mlm_head) return 'a layer with an activation before the head (mlm_head)';
  if (c.residual_scale !== 1) return 'a residual_scale';
  if (c.logit_softcap) return 'a logit_softcap';
  return c.d_embed && c.d_embed !== c.d_model ? 'a projection of the embedding (d_embed)' : '';
}

/**
 * Decomposes one logit into the contributions of embedding, heads, feed-forward layers and biases. The scale of every
 * norm is fixed at its value in this pass, which makes the norm linear.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {{token?: number | string, position?: number, source?: any, sourceMask?: any, addSpecialTokens?: boolean}}
 *   options token: default the most likely; position: default the last
 * @param {import('../run/loaded_model.js').Hooks} hooks
 * @returns {Promise<Attribution>}
 */
export async function attribution(model, input, options, { signal } = {}) {
  const { source, sourceMask } = options;
  const stack = blocksPrefix(model, 'attribution');
  const c = model.config;
  const part = undivided(c);
  if (part) fail('unsupported', `attribution cannot divide a logit where there is ${part}, which this model has`);
  const ids = model.ids(input, 'input', options.addSpecialTokens);
  const position = numberInRange('position', options.position ?? ids.length - 1, 0, ids.length - 1, true);
  const whole = c.kind === 'encoder_decoder' ? 'decoder.' : '';
  const names = [
    'attn.hook_result',
    'cross_attn.hook_result',
    'hook_mlp_out',
    'hook_attn_out',
    'ln1.hook_scale',
    'ln_cross.hook_scale',
    'ln2.hook_scale',
  ];
  const all = (await model.points()).names.filter(
    (n) => n.startsWith(`${stack}.`) && names.some((m) => n.endsWith(`.${m}`)),
  );
  const outside = (await model.points()).names.filter((n) =>
    ['hook_embed', 'hook_pos_embed', 'embed.ln.hook_scale', 'ln_final.hook_scale'].some((m) => n === whole + m),
  );
  // With causal attention, later positions cannot influence this one and are not computed.
  const { logits, captured } = await forwardOne(
    model,
    c.causal ? ids.slice(0, position + 1) : ids,
    { source, sourceMask, capture: [...all, ...outside] },
    new Yielder(signal),
  );
  const { data } = /** @type {Tensor} */ (logits);
  const row = data.subarray(position * c.vocab_size, (position + 1) * c.vocab_size);
  const token = tokenOf(model, options.token ?? model.engine.top(row, 1)[0].id);

  /** @type {{name: string, kind: Part['kind'], layer: number | null, head: number | null, vector: Float64Array}[]} */
  let parts = [];
  const d = c.d_model;
  /**
   * @param {Part['kind']} kind
   * @param {string} name
   * @param {ArrayLike<number> | null} vector
   * @param {number | null} [layer]
   * @param {number | null} [head]
   */
  const add = (kind, name, vector, layer = null, head = null) => {
    if (vector) parts.push({ name, kind, layer, head, vector: Float64Array.from(vector) });
  };
  /**
   * The row of this position in a captured tensor, or the part of one head in it.
   * @param {string} name
   * @param {number} [head]
   */
  const at = (name, head) => {
    const t = captured[name];
    const width = t.shape.slice(1).reduce((a, b) => a * b, 1);
    const from = position * width + (head ?? 0) * d;
    return t.data.subarray(from, from + (head === undefined ? width : d));
  };
  /**
   * Apply a norm to all parts. With its scale fixed it is a linear map.
   * @param {string} name
   * @param {string} point  where its scale was captured
   * @param {number | null} layer
   */
  const norm = (name, point, layer) => {
    const gain = c.norm_gain ? weight(model, `${name}.weight`) : null;
    const isLayerNorm = (name.endsWith('final_norm') ? c.final_norm_kind : c.norm) === 'layernorm';
    const bias = isLayerNorm && c.bias_norm ? weight(model, `${name}.bias`) : null;
    const [scale] = at(point);
    for (const { vector } of parts) {
      const mean = isLayerNorm ? vector.reduce((a, b) => a + b, 0) / d : 0;
      for (let j = 0; j < d; j++) vector[j] = ((vector[j] - mean) / scale) * (gain ? gain[j] : 1);
    }
    add('bias', `${name}.bias`, bias, layer);
  };

  add('embedding', 'embed', at(`${whole}hook_embed`));
  if (captured[`${whole}hook_pos_embed`]) add('position', 'pos_embed', at(`${whole}hook_pos_embed`));
  if (c.embed_norm && c.use_norm) norm('embed_norm', `${whole}embed.ln.hook_scale`, null);
  const post = c.norm_placement === 'post';
  const cross = c.kind === 'encoder_decoder';
  for (let l = 0; l < c.n_layers; l++) {
    const b = `${stack}.${l}`;
    const sublayer = (/** @type {() => void} */ own, /** @type {string} */ normName, /** @type {string} */ scale) => {
      if (!c.use_residual) parts = [];
      own();
      if (post && c.use_norm) norm(`${b}.${normName}`, `${b}.${scale}`, l);
    };
    const attend = (/** @type {string} */ which) => () => {
      for (let h = 0; h < c.n_heads; h++)
        add('head', `${b}.${which}.head.${h}`, at(`${b}.${which}.hook_result`, h), l, h);
      if (c.bias_attn_out) add('bias', `${b}.${which}.o.bias`, weight(model, `${b}.${which}.o.bias`), l);
    };
    sublayer(attend('attn'), 'norm1', 'ln1.hook_scale');
    if (cross) sublayer(attend('cross_attn'), 'norm2', 'ln_cross.hook_scale');
    sublayer(
      () => {
        const out = Float64Array.from(at(`${b}.hook_mlp_out`));
        const bias = c.bias_ffn ? weight(model, `${b}.ffn.down.bias`) : null;
        if (bias) for (let j = 0; j < d; j++) out[j] -= bias[j];
        add('ffn', `${b}.ffn`, out, l);
        add('bias', `${b}.ffn.down.bias`, bias, l);
      },
      cross ? 'norm3' : 'norm2',
      'ln2.hook_scale',
    );
  }
  if (c.final_norm && c.use_final_norm) norm('final_norm', `${whole}ln_final.hook_scale`, null);
  const direction = weight(model, 'head.weight', token);
  const terms = parts.map(({ vector, ...part }) => ({
    ...part,
    value: c.logit_scale * vector.reduce((sum, x, j) => sum + x * direction[j], 0),
  }));
  if (c.bias_head)
    terms.push({
      name: 'head.bias',
      kind: 'bias',
      layer: null,
      head: null,
      value: c.logit_scale * weight(model, 'head.bias')[token],
    });
  return {
    token,
    text: model.tokenText(token),
    position,
    logit: row[token],
    sum: terms.reduce((n, p) => n + p.value, 0),
    parts: terms,
  };
}

/**
 * The id of the option `token`.
 * @param {LoadedModel} model
 * @param {number | string} token  an id, or a text that is one token
 */
function tokenOf(model, token) {
  const ids =
    typeof token === 'string'
      ? model.encode(token, { addSpecialTokens: false })
      : checkedIds([token], 'token', model.config.vocab_size);
  if (ids.length !== 1) fail('bad-option', `token is ${show(token)}, which is ${ids.length} tokens, expected one`);
  return ids[0];
}
