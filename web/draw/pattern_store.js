// pattern_store.js - the attention rows seen so far, for every layer and head.
//
// A causal row of query q has q + 1 keys and never changes again, so rows are appended and kept as they came:
// per layer and query one Float32Array [n_heads, n_keys]. Rewinding the text drops rows from the end. Where every query
// sees every key, rows come all at once; a cross-attention's keys are the source.

const POINT = /^(blocks|encoder|decoder)\.(\d+)\.(attn|cross_attn)\.hook_pattern$/;

/** @typedef {'self' | 'encoder' | 'cross'} Stack  'self' is the decoder's own, or the only one there is */

export class PatternStore {
  /**
   * @param {number} nLayers
   * @param {number} nHeads
   * @param {Stack} [stack]
   * @param {boolean} [causal]
   */
  constructor(nLayers, nHeads, stack = 'self', causal = true) {
    this.nLayers = nLayers;
    this.nHeads = nHeads;
    this.stack = stack;
    this.causal = causal && stack === 'self';
    /** whether a pass over more tokens changes every row */
    this.anew = !causal || stack === 'encoder';
    /** @type {Float32Array[][]} [layer][query] */
    this.rows = Array.from({ length: nLayers }, () => []);
    /** grows whenever rows that were there have gone, so a painter knows to start again */
    this.epoch = 0;
  }

  /** Queries known in every layer. */
  get length() {
    return this.rows.reduce((n, layer) => Math.min(n, layer.length), Infinity);
  }

  /** Queries known in the layer that knows most. */
  get most() {
    return this.rows.reduce((n, layer) => Math.max(n, layer.length), 0);
  }

  /** Queries known in a layer: at full speed not every layer is captured. @param {number} layer */
  known(layer) {
    return this.rows[layer]?.length ?? 0;
  }

  /** Take what one forward pass captured: tensors [n_heads, queries, keys] whose last query is the last key.
   * @param {Record<string, { data: Float32Array, shape: number[] }>} captured */
  append(captured) {
    for (const [name, tensor] of Object.entries(captured)) {
      const match = POINT.exec(name);
      const stack = match?.[1] === 'encoder' ? 'encoder' : match?.[3] === 'cross_attn' ? 'cross' : 'self';
      if (!match || stack !== this.stack) continue;
      const rows = this.rows[Number(match[2])];
      const [heads, queries, keys] = tensor.shape;
      if (this.anew) {
        rows.length = 0;
        this.epoch++;
      }
      // The last query of a causal pass is its last key. Across stacks the keys are the source: there the layer's own
      // attention, captured with it, knows which queries these are.
      const own = stack === 'cross' ? captured[`decoder.${match[2]}.attn.hook_pattern`].shape : tensor.shape;
      const first = this.causal || stack === 'cross' ? own[2] - own[1] : 0;
      for (let i = 0; i < queries; i++) {
        const query = first + i;
        if (query < rows.length) continue;
        if (query > rows.length) throw new Error(`${name}: row ${query} came after row ${rows.length - 1}`);
        const width = this.causal ? query + 1 : keys;
        const row = new Float32Array(heads * width);
        for (let h = 0; h < heads; h++) {
          const from = (h * queries + i) * keys;
          row.set(tensor.data.subarray(from, from + width), h * width);
        }
        rows.push(row);
      }
    }
  }

  /**
   * Keep the first n queries, where they have not seen those that go.
   * @param {number} n
   */
  truncate(n) {
    if (this.most <= n) return;
    for (const layer of this.rows) layer.length = this.anew ? 0 : Math.min(layer.length, n);
    this.epoch++;
  }

  /** Weights of one query over its keys (0..query where causal), or null where it was not seen. A view: read it now.
   * @param {number} layer @param {number} head @param {number} query */
  row(layer, head, query) {
    const row = this.rows[layer]?.[query];
    const width = row ? row.length / this.nHeads : 0;
    return row ? row.subarray(head * width, (head + 1) * width) : null;
  }

  /** The head to show first: the one that looks most at the token before, which is plain to see. */
  plainest() {
    let best = { layer: 0, head: 0 },
      most = -1;
    for (let layer = 0; layer < this.nLayers; layer++)
      for (let head = 0; head < this.nHeads; head++) {
        let sum = 0;
        for (let q = 1; q < this.known(layer); q++)
          sum += /** @type {Float32Array} */ (this.row(layer, head, q))[q - 1]; // q is known
        if (sum > most) {
          most = sum;
          best = { layer, head };
        }
      }
    return best;
  }

  /** Bytes held. */
  get bytes() {
    return this.rows.reduce((n, layer) => n + layer.reduce((m, row) => m + row.byteLength, 0), 0);
  }
}
