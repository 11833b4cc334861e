// capture.js - capture points: their names, patterns of names, and the joining of several passes into one tensor
//
// Names are TransformerLens's without the batch axis: hook_embed, blocks.0.attn.hook_pattern; in an encoder_decoder
// every name begins with encoder. or decoder. (decoder.hook_embed, encoder.0.attn.hook_pattern).
import { capture, captured, edit } from '../engine/probe.js';
import { fail, show } from '../base/errors.js';
import { LIMITS } from '../base/values.js';

/** @typedef {import('../engine/engine.js').Engine} Engine */
/** @typedef {import('../engine/session.js').EngineSession} EngineSession */
/** @typedef {import('../engine/engine.js').Tensor} Tensor */
/** @typedef {import('../formats/config.js').Config} Config */
/**
 * @typedef {object} Point
 * @property {string} name
 * @property {number} stack   0 decoder, 1 encoder
 * @property {number} layer   -1: of the whole model
 * @property {number} point   index into the schema's list
 * @property {string} axes    D, Q, K, S, F, R or 1: see glassformer.h
 * @property {boolean} source its rows (or keys) are the source's positions: encoder points, cross keys and values
 */
/**
 * @typedef {object} Edit
 * @property {string} at          a point's name; `*` matches anything, dots included
 * @property {number} [head]      one head; all when absent
 * @property {number} [position]  one absolute position; all when absent
 * @property {number} [index] one place of the row: a neuron of the FFN, a component of the stream or of a head, a key
 *   of a pattern
 * @property {number} [scale]     multiply
 * @property {number | ArrayLike<number>} [set]  replace: one row's worth, or one number
 * @property {number | ArrayLike<number>} [add]  add: one row's worth, or one number
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
function fits(name, pattern) {
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
  /** Cached matches. @type {Map<string, Point[]>} */
  #byPattern = new Map();
  #config;

  /**
   * Finds the points of this architecture by switching the capture of each on and off.
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
            capture(session, place, true);
          } catch {
            return;
          }
          capture(session, place, false);
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

  get names() {
    return this.#all.map((p) => p.name);
  }

  /**
   * The points that these patterns name, in the order of the computation's stacks and layers.
   * @param {string[]} patterns
   * @returns {Point[]}
   */
  match(patterns) {
    const found = new Set([...new Set(patterns)].flatMap((pattern) => this.one(pattern)));
    return this.#all.filter((p) => found.has(p));
  }

  /**
   * @param {string} pattern
   * @returns {Point[]} at least one
   */
  one(pattern) {
    const known = this.#byPattern.get(pattern);
    if (known) return known;
    const found = this.#all.filter((p) => fits(p.name, pattern));
    if (found.length && this.#byPattern.size < MAX_PATTERNS) this.#byPattern.set(pattern, found);
    if (!found.length) {
      const last = pattern.slice(pattern.lastIndexOf('.') + 1).replace(/\*/g, '');
      const near = this.names.filter((n) => last && n.includes(last)).slice(0, 3);
      fail(
        'unknown-point',
        `this model has no point ${show(pattern)}; ${near.length ? `near it: ${near.join(', ')}` : `there are ${this.names.slice(0, 3).join(', ')}, ...`}`,
      );
    }
    return found;
  }

  /**
   * Bytes of these points for given numbers of queries, keys and source positions.
   * @param {Point[]} points
   * @param {number} queries
   * @param {number} keys
   * @param {number} source
   */
  bytes(points, queries, keys, source) {
    const c = this.#config;
    return (
      4 *
      points.reduce((sum, p) => {
        const rows = p.source ? source : queries;
        const cross = p.axes === 'S' && p.name.includes('cross_attn');
        /** @type {Record<string, number>} */
        const width = {
          D: c.d_model,
          F: c.d_ff,
          Q: c.n_heads * c.d_head,
          K: c.n_kv_heads * c.d_head,
          R: c.n_heads * c.d_model,
          1: 1,
          S: c.n_heads * (cross || p.source ? source : keys),
        };
        return sum + rows * width[p.axes];
      }, 0)
    );
  }
}

/** Captures points of a session: collects them after each pass and joins the passes into whole tensors. */
export class Recorder {
  /** @type {Map<Point, {data: Float32Array, dims: number[]}[]>} */
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
    for (const p of points) capture(session, p, true);
  }

  /**
   * Collect the points of an eval (source false) or of an encode (source true).
   * @param {boolean} [source]
   */
  gather(source = false) {
    for (const p of this.#points) {
      if (p.source !== source) continue;
      const part = captured(this.#session, p);
      if (!part) fail('bad-state', `${p.name} was not captured`);
      const parts = this.#parts.get(p);
      if (parts) parts.push(part);
      else this.#parts.set(p, [part]);
    }
  }

  /**
   * The tensors collected since the last call.
   * @returns {Record<string, Tensor>}
   */
  take() {
    /** @type {Record<string, Tensor>} */
    const out = {};
    for (const p of this.#points) {
      const parts = this.#parts.get(p);
      if (parts)
        out[p.name] =
          p.axes === 'S' ? joinScores(parts, p.name.includes('scores') ? -Infinity : 0) : joinRows(parts, p.axes);
    }
    this.#parts.clear();
    return out;
  }
}

/**
 * @param {{data: Float32Array, dims: number[]}[]} parts
 * @param {string} axes
 * @returns {Tensor} the rows of all parts in order
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
 * Join scores or patterns of passes, each of which has more keys than the one before.
 * @param {{data: Float32Array, dims: number[]}[]} parts  [head, query, key]
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
    dims: [, n, seen],
  } of parts) {
    for (let h = 0; h < heads; h++) {
      for (let i = 0; i < n; i++) {
        data.set(part.subarray((h * n + i) * seen, (h * n + i + 1) * seen), (h * queries + row + i) * keys);
      }
    }
    row += n;
  }
  return { data, shape: [heads, queries, keys] };
}

/**
 * Apply edits to a session.
 * @param {EngineSession} session
 * @param {Points} points
 * @param {Edit[]} edits  checked: see arguments.js
 */
export function applyEdits(session, points, edits) {
  let changes = 0;
  for (const [i, { at, scale, set, add, head, position, index }] of edits.entries()) {
    const hows = Object.entries({ scale, set, add }).filter(([, by]) => by !== undefined && by !== null);
    const all = points.one(at);
    changes += all.length * hows.length;
    if (changes > LIMITS.editChanges)
      fail(
        'bad-option',
        `edits[${i}]: with it the edits are ${changes} changes at single points, at most ${LIMITS.editChanges} are taken`,
      );
    for (const p of all) {
      for (const [how, by] of hows)
        edit(
          session,
          p,
          head ?? -1,
          position ?? -1,
          index ?? -1,
          /** @type {'scale' | 'set' | 'add'} */ (how),
          /** @type {number | ArrayLike<number>} */ (by),
        );
    }
  }
}
