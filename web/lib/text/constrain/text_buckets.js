// text_buckets.js - many short texts by their first two bytes; a bucket is sorted when it is asked for
//
// The texts of a sorted bucket are a trie in preorder: each begins with `shared` bytes of the one before it. It takes a
// quarter of a second to sort the 262,144 tokens of Gemma, and most places of a JSON text need few of them.

/** Buckets of one first byte: texts of this byte alone, and those of each second byte. */
export const SECONDS = 257;

export class TextBuckets {
  #isSorted = new Uint8Array(256 * SECONDS);

  /**
   * @param {Uint8Array} bytes
   * @param {Uint32Array} starts  of the texts, by id
   * @param {Uint32Array} ends
   * @param {Int32Array} members  the ids of the texts, none of which is empty
   */
  constructor(bytes, starts, ends, members) {
    this.bytes = bytes;
    this.starts = starts;
    this.ends = ends;
    /** The index in `ids` at which each bucket begins, then the end of the last one. */
    this.begins = new Int32Array(256 * SECONDS + 1);
    const n = members.length;
    const buckets = new Int32Array(n);
    for (let i = 0; i < n; i++) {
      const start = starts[members[i]];
      const isLong = ends[members[i]] > start + 1;
      const bucket = SECONDS * bytes[start] + (isLong ? 1 + bytes[start + 1] : 0);
      this.begins[bucket + 1]++;
      buckets[i] = bucket;
    }
    for (let i = 1; i < this.begins.length; i++) this.begins[i] += this.begins[i - 1];
    const next = this.begins.slice();
    this.ids = new Int32Array(n);
    this.shared = new Int32Array(n);
    for (let i = 0; i < n; i++) this.ids[next[buckets[i]]++] = members[i];
  }

  /** Sort a bucket of texts of two bytes or more. @param {number} bucket */
  sort(bucket) {
    if (this.#isSorted[bucket]) return;
    this.#isSorted[bucket] = 1;
    const { ids, shared } = this;
    const [from, to] = [this.begins[bucket], this.begins[bucket + 1]];
    ids.subarray(from, to).sort((a, b) => this.#compare(a, b));
    for (let i = from; i < to; i++) shared[i] = i === from ? 2 : this.#common(ids[i - 1], ids[i]);
  }

  /** @param {number} a @param {number} b */
  #compare(a, b) {
    const n = this.#common(a, b);
    const [x, y] = [this.starts[a] + n, this.starts[b] + n];
    if (x === this.ends[a] || y === this.ends[b]) return this.ends[a] - x - (this.ends[b] - y) || a - b;
    return this.bytes[x] - this.bytes[y];
  }

  /** How many of their first bytes two texts of a bucket have in common. @param {number} a @param {number} b */
  #common(a, b) {
    const { bytes } = this;
    const x = this.starts[a];
    const y = this.starts[b];
    const most = Math.min(this.ends[a] - x, this.ends[b] - y);
    let n = 2;
    while (n < most && bytes[x + n] === bytes[y + n]) n++;
    return n;
  }
}
