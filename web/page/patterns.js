// patterns.js - the attention rows seen so far, for every layer and head.
//
// A causal row of query q has q + 1 keys and never changes again, so rows are appended and kept as they came:
// per layer and query one Float32Array [n_heads, n_keys]. Rewinding the text drops rows from the end.

const POINT = /^(?:(blocks|encoder|decoder)\.)(\d+)\.(attn|cross_attn)\.hook_pattern$/;

export class PatternStore {
  /** @param {number} nLayers @param {number} nHeads */
  constructor(nLayers, nHeads) {
    this.nLayers = nLayers;
    this.nHeads = nHeads;
    /** @type {Float32Array[][]} [layer][query] */
    this.rows = Array.from({ length: nLayers }, () => []);
    /** grows whenever rows that were there have gone, so a painter knows to start again */
    this.epoch = 0;
  }

  /** Queries known in every layer. */
  get length() {
    return this.rows.reduce((n, layer) => Math.min(n, layer.length), Infinity);
  }

  /** Take what one forward pass captured: tensors [n_heads, queries, keys] whose last query is the last key.
   * @param {Record<string, { data: Float32Array, shape: number[] }>} captured */
  append(captured) {
    for (const [name, tensor] of Object.entries(captured)) {
      const match = POINT.exec(name);
      if (!match || match[1] === 'encoder' || match[3] === 'cross_attn') continue;
      const rows = this.rows[Number(match[2])];
      const [heads, queries, keys] = tensor.shape;
      for (let i = 0; i < queries; i++) {
        const query = keys - queries + i;
        if (query < rows.length) continue;
        if (query > rows.length) throw new Error(`${name}: row ${query} came after row ${rows.length - 1}`);
        const row = new Float32Array(heads * (query + 1));
        for (let h = 0; h < heads; h++) {
          const from = (h * queries + i) * keys;
          row.set(tensor.data.subarray(from, from + query + 1), h * (query + 1));
        }
        rows.push(row);
      }
    }
  }

  /** Keep the first n queries. @param {number} n */
  truncate(n) {
    if (this.length <= n) return;
    for (const layer of this.rows) layer.length = Math.min(layer.length, n);
    this.epoch++;
  }

  /** Weights of one query over keys 0..query, or null where it was not seen. A view: read it now.
   * @param {number} layer @param {number} head @param {number} query */
  row(layer, head, query) {
    const row = this.rows[layer]?.[query];
    return row ? row.subarray(head * (query + 1), (head + 1) * (query + 1)) : null;
  }

  /** Bytes held. */
  get bytes() {
    return this.rows.reduce((n, layer) => n + layer.reduce((m, row) => m + row.byteLength, 0), 0);
  }
}
