// lens.js - the residual stream read with the model's own head: the logit lens, and the exact split of one logit.
//
// Both need the final norm's gain and the head applied to vectors of our choice. The engine does that itself: a pass
// over as many dummy tokens as there are vectors, with each position's normalised stream set to one of them, gives their
// logits. Nothing is computed here but the norm's division.

const SCALED = 'ln_final.hook_normalized';

/** The normalised vector: what the final norm makes of x before its gain, or of a part of x under x's own scale.
 * @param {Float32Array} x @param {any} config @param {number} scale */
function normalised(x, config, scale) {
  const mean = config.norm === 'layernorm' ? x.reduce((a, b) => a + b, 0) / x.length : 0;
  return x.map((v) => (v - mean) / scale);
}

/** What the final norm divides by. @param {Float32Array} x @param {any} config */
function scaleOf(x, config) {
  const mean = config.norm === 'layernorm' ? x.reduce((a, b) => a + b, 0) / x.length : 0;
  return Math.sqrt(x.reduce((a, v) => a + (v - mean) ** 2, 0) / x.length + config.normEps);
}

/** Logits of vectors that stand behind the final norm's division.
 * @param {any} api the model @param {Float32Array[]} vectors @param {AbortSignal} [signal] @returns {Promise<Float32Array[]>} */
async function project(api, vectors, signal) {
  const at = Math.min(api.config.contextLength, 96);
  const out = [];
  for (let i = 0; i < vectors.length; i += at) {
    const some = vectors.slice(i, i + at);
    const { logits } = await api.forward(some.map(() => 0), { edits: some.map((set, position) => ({ at: SCALED, position, set })), signal });
    const size = logits.shape[1];
    some.forEach((_, p) => out.push(logits.data.subarray(p * size, (p + 1) * size)));
  }
  return out;
}

const row = (/** @type {{ data: Float32Array, shape: number[] }} */ t, /** @type {number} */ p) => {
  const width = t.data.length / t.shape[0];
  return t.data.subarray(p * width, (p + 1) * width);
};

/** Whether this model can be read so. @param {any} config @param {(point: string) => boolean} has */
export const readable = (config, has) => config.kind === 'decoder' && config.normPlacement === 'pre' && has(SCALED) && has('blocks.0.hook_resid_post') && has('blocks.0.attn.hook_result');

/**
 * The logit lens.
 * @param {any} api @param {number[]} ids @param {number} first first position wanted @param {AbortSignal} [signal]
 * @returns {Promise<{ logits: Float32Array[][], norms: number[][] }>} [layer][position - first], layer 0 being the embedding
 */
export async function lens(api, ids, first, signal) {
  const { config } = api;
  const points = ['blocks.0.hook_resid_pre', ...Array.from({ length: config.nLayers }, (_, l) => `blocks.${l}.hook_resid_post`)];
  const { captured } = await api.forward(ids, { capture: points, signal });
  const positions = Array.from({ length: ids.length - first }, (_, i) => first + i);
  const streams = points.map((name) => positions.map((p) => row(captured[name], p)));
  const flat = await project(api, streams.flat().map((x) => normalised(x, config, scaleOf(x, config))), signal);
  return {
    logits: points.map((_, l) => positions.map((_, i) => flat[l * positions.length + i])),
    norms: streams.map((list) => list.map((x) => Math.sqrt(x.reduce((a, v) => a + v * v, 0)))),
  };
}

/**
 * Direct logit attribution: the logit of one token after the last id, split into what each part wrote into the stream,
 * with the final norm's scale held fixed.
 * @param {any} api @param {number[]} ids @param {number} token @param {AbortSignal} [signal]
 * @returns {Promise<{ embedding: number, heads: number[][], ffn: number[], rest: number, sum: number, logit: number }>}
 */
export async function attribution(api, ids, token, signal) {
  const { config } = api;
  const { nLayers, nHeads, dModel } = config;
  const layers = Array.from({ length: nLayers }, (_, l) => l);
  const { captured, logits } = await api.forward(ids, {
    capture: ['blocks.0.hook_resid_pre', `blocks.${nLayers - 1}.hook_resid_post`, ...layers.flatMap((l) => [`blocks.${l}.attn.hook_result`, `blocks.${l}.hook_attn_out`, `blocks.${l}.hook_mlp_out`])], signal,
  });
  const p = ids.length - 1;
  const at = (/** @type {string} */ name) => row(captured[name], p);
  const scale = scaleOf(at(`blocks.${nLayers - 1}.hook_resid_post`), config);
  const vectors = [at('blocks.0.hook_resid_pre')];
  for (const l of layers) {
    const results = at(`blocks.${l}.attn.hook_result`);
    const bias = at(`blocks.${l}.hook_attn_out`).slice();   // what no head wrote
    for (let h = 0; h < nHeads; h++) {
      const one = results.subarray(h * dModel, (h + 1) * dModel);
      vectors.push(one);
      one.forEach((v, i) => { bias[i] -= v; });
    }
    vectors.push(bias, at(`blocks.${l}.hook_mlp_out`));
  }
  const zero = new Float32Array(dModel);
  const found = await project(api, [zero, ...vectors.map((v) => normalised(v, config, scale))], signal);
  const base = found[0][token];
  const part = found.slice(1).map((x) => x[token] - base);
  const per = nHeads + 2;
  const heads = layers.map((l) => part.slice(1 + l * per, 1 + l * per + nHeads));
  const ffn = layers.map((l) => part[1 + l * per + nHeads + 1]);
  const rest = base + layers.reduce((sum, l) => sum + part[1 + l * per + nHeads], 0);
  return { embedding: part[0], heads, ffn, rest, sum: part.reduce((a, b) => a + b, base), logit: row(logits, p)[token] };
}
