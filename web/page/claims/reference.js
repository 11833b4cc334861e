// claims/reference.js - the tutorials' forward passes in plain JavaScript and double precision.
//
// Written from the formulas, apart from the engine: it reads a checkpoint under the tutorial's own names and is what
// the engine's numbers are held against. Slow and small on purpose. A matrix is a list of rows; a weight is [out, in].

/** @typedef {{shape: number[], data: Float32Array}} Weight */
/** @typedef {Record<string, Weight>} Weights */
/** @typedef {Float64Array[]} Matrix [positions, width] */

/**
 * @param {Matrix} x
 * @param {Weight} w
 * @param {Weight} [b]
 * @returns {Matrix}
 */
function linear(x, w, b) {
  const [out, inner] = w.shape;
  return x.map((row) =>
    Float64Array.from({ length: out }, (_, r) => {
      let s = b ? b.data[r] : 0;
      for (let c = 0; c < inner; c++) s += w.data[r * inner + c] * row[c];
      return s;
    }),
  );
}

/**
 * @param {Matrix} a
 * @param {Matrix} b
 * @returns {Matrix}
 */
const add = (a, b) => a.map((row, i) => row.map((v, j) => v + b[i][j]));

/**
 * (x - mean) / sqrt(variance + eps).
 * @param {Matrix} x
 * @param {number} eps
 * @param {Weight} [gain]
 * @param {Weight} [bias]
 * @returns {Matrix}
 */
export function layerNorm(x, eps, gain, bias) {
  return x.map((row) => {
    const mean = row.reduce((s, v) => s + v, 0) / row.length;
    const scale = 1 / Math.sqrt(row.reduce((s, v) => s + (v - mean) ** 2, 0) / row.length + eps);
    return row.map((v, j) => (v - mean) * scale * (gain ? gain.data[j] : 1) + (bias ? bias.data[j] : 0));
  });
}

/** x / sqrt(mean of squares + eps); outside: x / (sqrt(mean of squares) + eps), which Llama does not do.
 * @param {Matrix} x @param {number} eps @param {Weight} [gain] @param {boolean} [outside] @returns {Matrix} */
export function rmsNorm(x, eps, gain, outside = false) {
  return x.map((row) => {
    const square = row.reduce((s, v) => s + v * v, 0) / row.length;
    const scale = outside ? 1 / (Math.sqrt(square) + eps) : 1 / Math.sqrt(square + eps);
    return row.map((v, j) => v * scale * (gain ? gain.data[j] : 1));
  });
}

/**
 * Series near zero, continued fraction of erfc beyond.
 * @param {number} x
 */
export function erf(x) {
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  if (a < 2.5) {
    let term = x,
      s = x;
    for (let n = 1; n < 60; n++) s += (term *= (-x * x) / n) / (2 * n + 1);
    return (2 / Math.sqrt(Math.PI)) * s;
  }
  let f = 0;
  for (let k = 60; k > 0; k--) f = k / 2 / (a + f);
  return Math.sign(x) * (1 - Math.exp(-a * a) / Math.sqrt(Math.PI) / (a + f));
}

/** @type {Record<string, (x: number) => number>} */
export const activations = {
  relu: (x) => Math.max(0, x),
  gelu_erf: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/**
 * Turn the pairs (i, i + d/2) of each head by position times frequency.
 * @param {Matrix} x
 * @param {number} heads
 * @param {number[]} positions
 * @param {number} theta
 * @returns {Matrix}
 */
export function rotate(x, heads, positions, theta) {
  return x.map((row, t) => {
    const out = row.slice(),
      d = row.length / heads,
      half = d / 2;
    for (let h = 0; h < heads; h++) {
      for (let i = 0; i < half; i++) {
        const angle = positions[t] * theta ** ((-2 * i) / d),
          cos = Math.cos(angle),
          sin = Math.sin(angle);
        const a = h * d + i,
          b = a + half;
        out[a] = row[a] * cos - row[b] * sin;
        out[b] = row[a] * sin + row[b] * cos;
      }
    }
    return out;
  });
}

/**
 * @param {number} position
 * @param {number} width
 */
export function sinusoid(position, width) {
  return Float64Array.from({ length: width }, (_, j) => {
    const angle = position / 10000 ** ((j - (j % 2)) / width);
    return j % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/**
 * @param {Float64Array} row
 * @param {number} position
 */
function withSinusoid(row, position) {
  const wave = sinusoid(position, row.length);
  return row.map((v, j) => v + wave[j]);
}

/**
 * softmax(q k^T / sqrt(d_head)) v, the heads side by side.
 * @param {Matrix} q
 * @param {Matrix} k
 * @param {Matrix} v
 * @param {number} heads
 * @param {(query: number, key: number) => boolean} sees
 * @returns {Matrix}
 */
function attend(q, k, v, heads, sees) {
  const d = q[0].length / heads;
  return q.map((row, i) => {
    const out = new Float64Array(row.length);
    for (let h = 0; h < heads; h++) {
      const scores = k.map((key, j) => {
        if (!sees(i, j)) return -Infinity;
        let s = 0;
        for (let c = h * d; c < (h + 1) * d; c++) s += row[c] * key[c];
        return s / Math.sqrt(d);
      });
      const top = Math.max(...scores),
        e = scores.map((s) => Math.exp(s - top)),
        total = e.reduce((a, b) => a + b, 0);
      for (let j = 0; j < k.length; j++) for (let c = h * d; c < (h + 1) * d; c++) out[c] += (e[j] / total) * v[j][c];
    }
    return out;
  });
}

const causal = (/** @type {number} */ i, /** @type {number} */ j) => j <= i;
const every = () => true;

/**
 * @param {Weight} table
 * @param {number[]} ids
 * @returns {Matrix}
 */
const look = (table, ids) =>
  ids.map((id) => Float64Array.from(table.data.subarray(id * table.shape[1], (id + 1) * table.shape[1])));

/**
 * Tutorial 1: the modern decoder and its classical variants, names as in that tutorial's state_dict.
 * @param {Weights} w
 * @param {any} c      its config.json
 * @param {number[]} ids
 * @param {{positions?: number[], epsOutside?: boolean}} [wrong]  faults, to see what they would do
 * @returns {Matrix} logits
 */
export function decoder(w, c, ids, { positions = ids.map((_, i) => i), epsOutside = false } = {}) {
  const norm = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    c.norm === 'rmsnorm'
      ? rmsNorm(x, c.norm_eps, w[`${name}.gamma`], epsOutside)
      : layerNorm(x, c.norm_eps, w[`${name}.gamma`], w[`${name}.beta`]);
  const project = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    linear(x, w[`${name}.weight`], w[`${name}.bias`]);
  let x = look(w['token_emb.weight'], ids);
  if (c.positional === 'sinusoidal') x = x.map(withSinusoid);
  for (let l = 0; l < c.n_layers; l++) {
    const b = `blocks.${l}`;
    const attention = (/** @type {Matrix} */ y) => {
      let [q, k, v] = ['Q', 'K', 'V'].map((n) => project(y, `${b}.attn.W_${n}`));
      if (c.positional === 'rope') [q, k] = [q, k].map((m) => rotate(m, c.n_heads, positions, c.rope_base));
      return project(attend(q, k, v, c.n_heads, causal), `${b}.attn.W_O`);
    };
    const ffn = (/** @type {Matrix} */ y) => {
      if (c.ffn !== 'swiglu')
        return project(
          project(y, `${b}.ffn.W_1`).map((row) => row.map(activations.gelu_erf)),
          `${b}.ffn.W_2`,
        );
      const up = project(y, `${b}.ffn.W_up`);
      return project(
        project(y, `${b}.ffn.W_gate`).map((row, t) => row.map((v, j) => activations.silu(v) * up[t][j])),
        `${b}.ffn.W_down`,
      );
    };
    if (c.pre_norm) {
      x = add(x, attention(norm(x, `${b}.norm1`)));
      x = add(x, ffn(norm(x, `${b}.norm2`)));
    } else {
      x = norm(add(x, attention(x)), `${b}.norm1`);
      x = norm(add(x, ffn(x)), `${b}.norm2`);
    }
  }
  return linear(norm(x, 'final_norm'), w[c.tie_embeddings ? 'token_emb.weight' : 'lm_head.weight']);
}

/**
 * Tutorial 2: the encoder-decoder of 2017.
 * @param {Weights} w @param {any} c @param {number[]} source @param {number[]} ids @returns {Matrix} logits
 */
export function encoderDecoder(w, c, source, ids) {
  const project = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    linear(x, w[`${name}.weight`], w[`${name}.bias`]);
  const addNorm = (/** @type {Matrix} */ x, /** @type {Matrix} */ y, /** @type {string} */ name) =>
    layerNorm(add(x, y), c.layer_norm_eps, w[`${name}.norm.gamma`], w[`${name}.norm.beta`]);
  const attention = (
    /** @type {Matrix} */ x,
    /** @type {Matrix} */ from,
    /** @type {string} */ name,
    /** @type {any} */ sees,
  ) =>
    project(
      attend(
        project(x, `${name}.q_linear`),
        project(from, `${name}.k_linear`),
        project(from, `${name}.v_linear`),
        c.num_heads,
        sees,
      ),
      `${name}.fc`,
    );
  const ffn = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    project(
      project(x, `${name}.linear1`).map((row) => row.map(activations.relu)),
      `${name}.linear2`,
    );
  const embed = (/** @type {number[]} */ list) => look(w['token_embedding.embedding'], list).map(withSinusoid);
  let memory = embed(source);
  for (let l = 0; l < c.num_layers; l++) {
    const b = `encoder.layers.${l}`;
    memory = addNorm(memory, attention(memory, memory, `${b}.self_attn`, every), `${b}.add_norm1`);
    memory = addNorm(memory, ffn(memory, `${b}.ff`), `${b}.add_norm2`);
  }
  let x = embed(ids);
  for (let l = 0; l < c.num_layers; l++) {
    const b = `decoder.layers.${l}`;
    x = addNorm(
      x,
      attention(x, x, `${b}.masked_self_attn`, c.mask_mode === 'nomask' ? every : causal),
      `${b}.add_norm1`,
    );
    x = addNorm(x, attention(x, memory, `${b}.enc_dec_attn`, every), `${b}.add_norm2`);
    x = addNorm(x, ffn(x, `${b}.ff`), `${b}.add_norm3`);
  }
  return project(x, 'final_linear');
}

/**
 * Tutorials 3 and 5: the plain pre-norm GPT.
 * @param {Weights} w @param {any} c @param {number[]} ids @returns {Matrix} logits
 */
export function gpt(w, c, ids) {
  const norm = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    layerNorm(x, c.norm_eps, w[`${name}.weight`], w[`${name}.bias`]);
  let x = add(
    look(w['tok_emb.weight'], ids),
    look(
      w['pos_emb.weight'],
      ids.map((_, i) => i),
    ),
  );
  for (let l = 0; l < c.n_layers; l++) {
    const b = `blocks.${l}`,
      y = norm(x, `${b}.ln1`),
      d = c.d_model;
    const qkv = c.fused_qkv ? linear(y, w[`${b}.attn.qkv.weight`]) : null;
    const [q, k, v] = ['q', 'k', 'v'].map((n, i) =>
      qkv ? qkv.map((row) => row.slice(i * d, (i + 1) * d)) : linear(y, w[`${b}.attn.${n}.weight`]),
    );
    x = add(x, linear(attend(q, k, v, c.n_heads, causal), w[`${b}.attn.proj.weight`]));
    x = add(
      x,
      linear(
        linear(norm(x, `${b}.ln2`), w[`${b}.mlp.fc1.weight`]).map((row) => row.map(activations.gelu_erf)),
        w[`${b}.mlp.fc2.weight`],
      ),
    );
  }
  return linear(norm(x, 'ln_f'), w['tok_emb.weight']);
}

/**
 * Tutorial 4: GPT-2, whose files store matrices [in, out].
 * @param {Weights} w @param {any} c @param {number[]} ids @returns {Matrix} logits
 */
export function gpt2(w, c, ids) {
  const norm = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    layerNorm(x, c.layer_norm_epsilon, w[`${name}.weight`], w[`${name}.bias`]);
  const project = (/** @type {Matrix} */ x, /** @type {string} */ name) => {
    const {
      shape: [inner, out],
      data,
    } = w[`${name}.weight`];
    return x.map((row) =>
      Float64Array.from({ length: out }, (_, r) =>
        row.reduce((s, v, i) => s + v * data[i * out + r], w[`${name}.bias`].data[r]),
      ),
    );
  };
  const d = c.n_embd;
  let x = add(
    look(w['wte.weight'], ids),
    look(
      w['wpe.weight'],
      ids.map((_, i) => i),
    ),
  );
  for (let l = 0; l < c.n_layer; l++) {
    const qkv = project(norm(x, `h.${l}.ln_1`), `h.${l}.attn.c_attn`);
    const [q, k, v] = [0, 1, 2].map((i) => qkv.map((row) => row.slice(i * d, (i + 1) * d)));
    x = add(x, project(attend(q, k, v, c.n_head, causal), `h.${l}.attn.c_proj`));
    x = add(
      x,
      project(
        project(norm(x, `h.${l}.ln_2`), `h.${l}.mlp.c_fc`).map((row) => row.map(activations.gelu_tanh)),
        `h.${l}.mlp.c_proj`,
      ),
    );
  }
  return linear(norm(x, 'ln_f'), w['wte.weight']);
}

/** @param {Matrix} m */
export const flat = (m) => Float64Array.from(m.flatMap((row) => [...row]));
