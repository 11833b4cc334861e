// capture.js - capture points: finds those of a model, matches patterns of names, and collects values
//
// Names are those of TransformerLens: hook_embed, blocks.0.attn.hook_pattern. Tensors have no batch axis. In an
// encoder_decoder every name begins with encoder. or decoder. (decoder.hook_embed, encoder.0.attn.hook_pattern).
import { readCapture, setCapture, stopBefore } from '../../engine/engine_captures.js';
import { fail, show } from '../../base/errors.js';
import { didYouMean } from '../../base/nearest.js';
import { remembered } from '../../base/lazy_value.js';
import { narrowWidth, stackConfig } from '../../engine/config/config.js';

/** @import { Engine, Tensor } from '../../engine/engine.js' */
/** @import { EngineSession } from '../../engine/engine_session.js' */
/** @import { Config } from '../../engine/config/config.js' */
/**
 * One point of a model.
 * @typedef {object} Point
 * @property {string} name
 * @property {number} stack   0 decoder, 1 encoder
 * @property {number} layer   -1: outside the blocks
 * @property {number} point   index into the schema's list
 * @property {string} axes    D, N, Q, K, S, F, R, E, C, P or 1: see glassformer.h
 * @property {boolean} source whether its rows (or keys) are positions of the source: encoder points, and keys and
 *   values of cross-attention
 */
/** Default of the option captureBudget, in bytes. */
export const CAPTURE_BUDGET = 512 * 2 ** 20;

/** Most patterns whose points are cached. */
const MAX_PATTERNS = 1024;

/**
 * Whether a name matches a pattern in which `*` stands for any text. Each piece between stars is matched at its first
 * occurrence.
 * @param {string} name
 * @param {string} pattern
 */
export function matches(name, pattern) {
  const [first, ...between] = pattern.split('*');
  const last = between.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const piece of between) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at + last.length <= name.length;
}

/** The capture points of one model. */
export class Points {
  /** @type {Point[]} */
  #all = [];
  /** @type {Map<string, Point[]>} the points of patterns that were used before */
  #byPattern = new Map();
  #config;

  /**
   * Find the points of an architecture: the engine refuses to capture a point that does not exist.
   * @param {Engine} engine
   * @param {Config} config
   * @param {EngineSession} session  any session of the model; no capture remains on in it
   */
  constructor(engine, config, session) {
    this.#config = config;
    const two = config.kind === 'encoder_decoder';
    const stacks = two
      ? [
          { stack: 1, whole: 'encoder.', block: 'encoder.', n: config.n_encoder_layers },
          { stack: 0, whole: 'decoder.', block: 'decoder.', n: config.n_layers },
        ]
      : [{ stack: config.kind === 'encoder' ? 1 : 0, whole: '', block: 'blocks.', n: config.n_layers }];
    for (const { stack, whole, block, n } of stacks) {
      for (let layer = -1; layer < n; layer++) {
        engine.schema.points.forEach(([name, axes, isWhole], point) => {
          if (!!isWhole !== layer < 0) return;
          const place = { stack, layer, point };
          try {
            setCapture(session, place, true);
          } catch {
            return;
          }
          setCapture(session, place, false);
          this.#all.push({
            name: layer < 0 ? whole + name : `${block}${layer}.${name}`,
            ...place,
            axes,
            source: two && (stack === 1 || /^cross_attn\.hook_[kv]$/.test(name)),
          });
        });
      }
    }
  }

  /** The names of all points, by stack and layer. */
  get names() {
    return this.#all.map((p) => p.name);
  }

  /**
   * The points that match patterns, by stack and layer.
   * @param {string[]} patterns
   * @returns {Point[]}
   */
  match(patterns) {
    const found = new Set([...new Set(patterns)].flatMap((pattern) => this.matchOne(pattern)));
    return this.#all.filter((p) => found.has(p));
  }

  /**
   * The points that match a pattern. A pattern without a match is refused.
   * @param {string} pattern
   * @returns {Point[]} at least one
   */
  matchOne(pattern) {
    const cached = this.#byPattern.get(pattern);
    if (cached) return cached;
    const found = this.#all.filter((p) => matches(p.name, pattern));
    if (found.length && this.#byPattern.size < MAX_PATTERNS) this.#byPattern.set(pattern, found);
    return found.length ? found : this.refuse(pattern);
  }

  /**
   * Throws the error for a name or pattern that no point of this model has.
   * @param {string} pattern
   * @param {string} [where]  before the message
   * @returns {never}
   */
  refuse(pattern, where = '') {
    const last = pattern.slice(pattern.lastIndexOf('.') + 1).replace(/\*/g, '');
    const near = this.names.filter((n) => last && n.includes(last)).slice(0, 3);
    const hint = near.length
      ? `; near it: ${near.join(', ')}`
      : didYouMean(pattern, this.names) || `; there are ${this.names.slice(0, 3).join(', ')}, ...`;
    return fail('unknown-point', `${where}this model has no point ${show(pattern)}${hint}`);
  }

  /** The points in the order in which a pass computes them. */
  get inOrder() {
    const isLast = (/** @type {Point} */ p) => /ln_final|mlm_head|pooled/.test(p.name);
    return [...this.#all.filter((p) => !isLast(p)), ...this.#all.filter(isLast)];
  }

  /**
   * The shape of a point at one position: without the axis of positions, and for scores and patterns without keys.
   * @param {Point} p
   * @returns {number[]}
   */
  shape({ axes, stack }) {
    const c = stackConfig(this.#config, stack === 1);
    /** @type {Record<string, number[]>} */
    const shapes = {
      D: [c.d_model],
      N: [narrowWidth(c)],
      P: [c.d_model],
      F: [c.d_ff],
      Q: [c.n_heads, c.d_head],
      K: [c.n_kv_heads, c.d_head],
      R: [c.n_heads, c.d_model],
      1: [1],
      E: [c.n_experts],
      C: [c.n_experts_used],
      S: [c.n_heads, 1],
    };
    return shapes[axes];
  }

  /**
   * The bytes that the values of points take.
   * @param {Point[]} points
   * @param {number} queries  number of positions in the pass
   * @param {number} keys     number of positions that they attend to
   * @param {number} source   number of positions of the source
   */
  bytes(points, queries, keys, source) {
    return points.reduce((sum, p) => {
      const rows = p.axes === 'P' ? 1 : p.source ? source : queries;
      const columns = p.axes !== 'S' ? 1 : p.name.includes('cross_attn') || p.source ? source : keys;
      return sum + 4 * rows * columns * this.shape(p).reduce((a, b) => a * b, 1);
    }, 0);
  }
}

/**
 * Captures points of a session: collects their values after each pass, and joins the passes into one tensor a point.
 */
export class Recorder {
  /** @type {Map<Point, {data: Float32Array<ArrayBuffer>, dims: number[]}[]>} */
  #parts = new Map();
  #session;
  #points;

  /**
   * @param {EngineSession} session
   * @param {Point[]} points
   */
  constructor(session, points) {
    this.#session = session;
    this.#points = points;
    for (const p of points) setCapture(session, p, true);
  }

  /**
   * Let passes of the decoder end behind the last block with a point. Outside the blocks only points of the embedding
   * lie before them.
   * @param {number} layers  of the decoder
   */
  stopAfter(layers) {
    const ends = this.#points.map((p) =>
      p.stack !== 0 ? 0 : p.layer >= 0 ? p.layer + 1 : /embed/.test(p.name) ? 0 : layers,
    );
    stopBefore(this.#session, Math.max(...ends));
  }

  /**
   * Collect the values of the last pass.
   * @param {boolean} [source]  whether it was the encoder's pass over a source
   */
  gather(source = false) {
    for (const p of this.#points) {
      if (p.source !== source) continue;
      const part = readCapture(this.#session, p);
      if (!part) fail('bad-state', `${p.name} was not captured`);
      remembered(this.#parts, p, () => []).push(part);
    }
  }

  /**
   * The tensors collected since the last call. What a point's passes gave is let go as soon as it is joined.
   * @returns {Record<string, Tensor>}
   */
  take() {
    /** @type {Record<string, Tensor>} */
    const out = {};
    for (const p of this.#points) {
      const parts = this.#parts.get(p);
      this.#parts.delete(p);
      if (parts)
        out[p.name] =
          p.axes === 'S' ? joinScores(parts, p.name.includes('scores') ? -Infinity : 0) : joinRows(parts, p.axes);
    }
    return out;
  }
}

/**
 * Joins the rows of several passes, in order.
 * @param {{data: Float32Array<ArrayBuffer>, dims: number[]}[]} parts  one for each pass
 * @param {string} axes  of the point
 * @returns {Tensor} [position, ...]
 */
function joinRows(parts, axes) {
  const inner = 'QKR'.includes(axes) ? parts[0].dims.slice(1) : [parts[0].dims[1]];
  const rows = parts.reduce((n, p) => n + p.dims[0], 0);
  if (parts.length === 1) return { data: parts[0].data, shape: [rows, ...inner] };
  const data = new Float32Array(rows * inner.reduce((a, b) => a * b, 1));
  let at = 0;
  for (const p of parts) {
    data.set(p.data, at);
    at += p.data.length;
  }
  return { data, shape: [rows, ...inner] };
}

/**
 * Joins scores or patterns of several passes, each of which has more keys than the one before.
 * @param {{data: Float32Array<ArrayBuffer>, dims: number[]}[]} parts  [head, query, key]
 * @param {number} masked  value for the keys that a pass did not have
 * @returns {Tensor} [head, query, key]
 */
function joinScores(parts, masked) {
  const heads = parts[0].dims[0];
  const keys = parts[parts.length - 1].dims[2];
  const queries = parts.reduce((n, p) => n + p.dims[1], 0);
  if (parts.length === 1) return { data: parts[0].data, shape: [heads, queries, keys] };
  const data = new Float32Array(heads * queries * keys).fill(masked);
  let row = 0;
  for (const {
    data: part,
    dims: [, n, nKeys],
  } of parts) {
    for (let h = 0; h < heads; h++) {
      for (let i = 0; i < n; i++) {
        data.set(part.subarray((h * n + i) * nKeys, (h * n + i + 1) * nKeys), (h * queries + row + i) * keys);
      }
    }
    row += n;
  }
  return { data, shape: [heads, queries, keys] };
}
