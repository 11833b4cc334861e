// gradients.js - the forward and backward pass of a decoder in double precision, written from the papers' formulas for
// the tests of depth(). It shares only the random number generator (src/base/rng.h) and the order of its numbers with
// the engine.
//
// LayerNorm, GELU-tanh, learned positions, no linear biases, tied head. Every operation records its backward
// function.

const MASK = (1n << 64n) - 1n;

/** xoshiro256++ (Blackman & Vigna 2019), seeded by splitmix64. */
class Random {
  constructor(seed) {
    let z = BigInt(seed);
    this.s = Array.from({ length: 4 }, () => {
      z = (z + 0x9e3779b97f4a7c15n) & MASK;
      let x = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
      x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK;
      return x ^ (x >> 31n);
    });
  }

  next() {
    const { s } = this,
      left = (x, k) => ((x << k) | (x >> (64n - k))) & MASK;
    const out = (left((s[0] + s[3]) & MASK, 23n) + s[0]) & MASK,
      t = (s[1] << 17n) & MASK;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = left(s[3], 45n);
    return out;
  }

  uniform() {
    return Number(this.next() >> 11n) / 2 ** 53;
  }

  /** Marsaglia's polar method. */
  normal() {
    for (;;) {
      const u = 2 * this.uniform() - 1,
        v = 2 * this.uniform() - 1,
        q = u * u + v * v;
      if (q > 0 && q < 1) return u * Math.sqrt((-2 * Math.log(q)) / q);
    }
  }
}

/** A matrix with its gradient; `back` adds to those that it was made of. */
class Matrix {
  constructor(rows, cols, back = () => {}) {
    Object.assign(this, { rows, cols, data: new Float64Array(rows * cols), grad: new Float64Array(rows * cols), back });
  }
}

/** Operations in the order in which they were done. */
class Tape {
  list = [];

  made(rows, cols, back) {
    const m = new Matrix(rows, cols, back);
    this.list.push(m);
    return m;
  }

  /** x w^T */
  linear(x, w) {
    const y = this.made(x.rows, w.rows, () => {
      for (let i = 0; i < x.rows; i++)
        for (let r = 0; r < w.rows; r++) {
          const g = y.grad[i * w.rows + r];
          for (let c = 0; c < w.cols; c++) {
            x.grad[i * w.cols + c] += g * w.data[r * w.cols + c];
            w.grad[r * w.cols + c] += g * x.data[i * w.cols + c];
          }
        }
    });
    for (let i = 0; i < x.rows; i++)
      for (let r = 0; r < w.rows; r++) {
        let sum = 0;
        for (let c = 0; c < w.cols; c++) sum += x.data[i * w.cols + c] * w.data[r * w.cols + c];
        y.data[i * w.rows + r] = sum;
      }
    return y;
  }

  add(a, b) {
    const y = this.made(a.rows, a.cols, () =>
      y.grad.forEach((g, i) => {
        a.grad[i] += g;
        b.grad[i] += g;
      }),
    );
    y.data.forEach((_, i) => {
      y.data[i] = a.data[i] + b.data[i];
    });
    return y;
  }

  /** Rows of a table. */
  rows(table, ids) {
    const d = table.cols,
      y = this.made(ids.length, d, () =>
        y.grad.forEach((g, i) => {
          table.grad[ids[Math.floor(i / d)] * d + (i % d)] += g;
        }),
      );
    y.data.forEach((_, i) => {
      y.data[i] = table.data[ids[Math.floor(i / d)] * d + (i % d)];
    });
    return y;
  }

  /** (x - mean) / sqrt(variance + eps) of each row (Ba et al. 2016); gains 1 and biases 0. */
  norm(x, eps) {
    const d = x.cols,
      inverse = [];
    const y = this.made(x.rows, d, () => {
      for (let i = 0; i < x.rows; i++) {
        const g = y.grad.subarray(i * d, i * d + d),
          n = y.data.subarray(i * d, i * d + d);
        const mean = g.reduce((a, b) => a + b) / d,
          along = g.reduce((a, b, j) => a + b * n[j], 0) / d;
        for (let j = 0; j < d; j++) x.grad[i * d + j] += inverse[i] * (g[j] - mean - n[j] * along);
      }
    });
    for (let i = 0; i < x.rows; i++) {
      const row = x.data.subarray(i * d, i * d + d),
        mean = row.reduce((a, b) => a + b) / d;
      inverse.push(1 / Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / d + eps));
      for (let j = 0; j < d; j++) y.data[i * d + j] = (row[j] - mean) * inverse[i];
    }
    return y;
  }

  gelu(x) {
    const k = Math.sqrt(2 / Math.PI),
      y = this.made(x.rows, x.cols, () =>
        y.grad.forEach((g, i) => {
          const v = x.data[i],
            t = Math.tanh(k * (v + 0.044715 * v ** 3));
          x.grad[i] += g * (0.5 * (1 + t) + 0.5 * v * (1 - t * t) * k * (1 + 3 * 0.044715 * v * v));
        }),
      );
    x.data.forEach((v, i) => {
      y.data[i] = 0.5 * v * (1 + Math.tanh(k * (v + 0.044715 * v ** 3)));
    });
    return y;
  }

  /** Causal attention of each head within sequences of `length` rows (Vaswani et al. 2017, equation 1). */
  attend(q, k, v, heads, length) {
    const d = q.cols / heads,
      at = (m, i, h) => m.data.subarray(i * q.cols + h * d, i * q.cols + h * d + d);
    const patterns = [],
      scale = 1 / Math.sqrt(d),
      dot = (a, b) => a.reduce((sum, x, j) => sum + x * b[j], 0);
    const grad = (m, i, h, from, by) => {
      for (let j = 0; j < d; j++) m.grad[i * q.cols + h * d + j] += from[j] * by;
    };
    const z = this.made(q.rows, q.cols, () => {
      for (const { i, h, first, p } of patterns) {
        const dz = z.grad.subarray(i * q.cols + h * d, i * q.cols + h * d + d);
        const dp = p.map((_, j) => dot(dz, at(v, first + j, h))),
          mean = dot(p, dp);
        p.forEach((x, j) => {
          const ds = x * (dp[j] - mean) * scale;
          grad(v, first + j, h, dz, x);
          grad(q, i, h, at(k, first + j, h), ds);
          grad(k, first + j, h, at(q, i, h), ds);
        });
      }
    });
    for (let i = 0; i < q.rows; i++)
      for (let h = 0; h < heads; h++) {
        const first = i - (i % length),
          scores = Array.from({ length: i - first + 1 }, (_, j) => dot(at(q, i, h), at(k, first + j, h)) * scale);
        const most = Math.max(...scores),
          e = scores.map((s) => Math.exp(s - most)),
          sum = e.reduce((a, b) => a + b),
          p = e.map((x) => x / sum);
        patterns.push({ i, h, first, p });
        p.forEach((x, j) =>
          at(v, first + j, h).forEach((y, c) => {
            z.data[i * q.cols + h * d + c] += x * y;
          }),
        );
      }
    return z;
  }

  /** The gradient of the mean cross-entropy, sent back to the beginning. */
  backward(logits, targets) {
    const v = logits.cols;
    targets.forEach((target, i) => {
      const row = logits.data.subarray(i * v, i * v + v),
        most = Math.max(...row),
        e = row.map((x) => Math.exp(x - most)),
        sum = e.reduce((a, b) => a + b);
      e.forEach((x, j) => {
        logits.grad[i * v + j] = (x / sum - Number(j === target)) / targets.length;
      });
    });
    for (const m of this.list.reverse()) m.back();
  }
}

const rms = (...lists) =>
  Math.sqrt(lists.reduce((a, l) => a + l.reduce((b, x) => b + x * x, 0), 0) / lists.reduce((n, l) => n + l.length, 0));

/**
 * The values that depth() returns.
 * @param
 *   {{vocab_size: number, d_model: number, n_layers: number, n_heads: number, d_ff: number, context_length: number, norm_eps: number, norm_placement?: string, use_norm?: boolean, use_residual?: boolean}}
 *   c
 * @param {number} seed
 * @param {number} n  tokens, whole contexts of them
 */
export function depthInDouble(c, seed, n) {
  const first = new Random(seed),
    weights = new Random(first.next()),
    { d_model: d, d_ff: wide } = c;
  const post = c.norm_placement === 'post',
    norms = c.use_norm ?? true,
    residuals = c.use_residual ?? true;
  const draw = (rows, cols) => {
    const m = new Matrix(rows, cols);
    m.data.forEach((_, i) => {
      m.data[i] = Math.fround(Math.fround(0.02) * Math.fround(weights.normal()));
    });
    return m;
  };
  const embed = draw(c.vocab_size, d),
    position = draw(c.context_length, d);
  const blocks = Array.from({ length: c.n_layers }, () =>
    [
      [d, d],
      [d, d],
      [d, d],
      [d, d],
      [wide, d],
      [d, wide],
    ].map(([r, k]) => draw(r, k)),
  );
  const ids = Array.from({ length: n }, () => Math.floor(first.uniform() * c.vocab_size)),
    targets = ids.map(() => Math.floor(first.uniform() * c.vocab_size));

  const tape = new Tape(),
    norm = (x) => (norms ? tape.norm(x, c.norm_eps) : x);
  const sublayer = (x, f) => {
    const y = f(post ? x : norm(x)),
      sum = residuals ? tape.add(x, y) : y;
    return post ? norm(sum) : sum;
  };
  let x = tape.add(
    tape.rows(embed, ids),
    tape.rows(
      position,
      ids.map((_, i) => i % c.context_length),
    ),
  );
  const streams = blocks.map(([q, k, v, o, up, down]) => {
    x = sublayer(x, (y) =>
      tape.linear(tape.attend(tape.linear(y, q), tape.linear(y, k), tape.linear(y, v), c.n_heads, c.context_length), o),
    );
    x = sublayer(x, (y) => tape.linear(tape.gelu(tape.linear(y, up)), down));
    return rms(x.data);
  });
  tape.backward(tape.linear(post ? x : tape.norm(x, c.norm_eps), embed), targets); // the final norm belongs to no block
  return blocks.map((matrices, l) => ({ weights: rms(...matrices.map((m) => m.grad)), stream: streams[l] }));
}
