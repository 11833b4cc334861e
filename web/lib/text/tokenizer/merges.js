// merges.js - byte pair encoding: neighbours are joined by the rank of their pair, of equal ranks the leftmost first
//
// A linked list of symbols and a heap of pairs: n symbols take n log n steps.

/** @param {number} n  pairs */
const slotsOf = (n) => 2 ** Math.ceil(Math.log2(2 * n + 2));

/** Pairs of ids in an open-addressed table: the entry of a pair has its rank and the id that it makes. */
export class Merges {
  #used = 0;
  #slots;

  /** @param {number} n  pairs at first */
  constructor(n) {
    this.left = new Int32Array(n);
    this.right = new Int32Array(n);
    /** What a pair becomes; -1: it is not joined. */
    this.made = new Int32Array(n);
    this.ranks = new Int32Array(n);
    this.#slots = new Int32Array(slotsOf(n));
  }

  /**
   * Merges whose entries and ranks are their places.
   * @param {{left: Int32Array, right: Int32Array, made: Int32Array}} lists  owned by the table from now on
   */
  static of({ left, right, made }) {
    const merges = new Merges(0);
    const ranks = new Int32Array(left.length);
    Object.assign(merges, { left, right, made, ranks });
    merges.#used = left.length;
    merges.#slots = new Int32Array(slotsOf(left.length));
    for (let i = 0; i < left.length; i++) {
      ranks[i] = i;
      merges.#slots[merges.#slot(left[i], right[i])] = i + 1;
    }
    return merges;
  }

  get size() {
    return this.#used;
  }

  /**
   * The entry of a pair; -1: it has none.
   * @param {number} a
   * @param {number} b
   */
  find(a, b) {
    return this.#slots[this.#slot(a, b)] - 1;
  }

  /**
   * Set the entry of a pair.
   * @param {number} a
   * @param {number} b
   * @param {number} made
   * @param {number} rank
   * @returns {number} the entry
   */
  set(a, b, made, rank) {
    if (this.#used === this.left.length) this.#grow();
    const slot = this.#slot(a, b);
    const entry = this.#slots[slot] ? this.#slots[slot] - 1 : this.#used++;
    this.#slots[slot] = entry + 1;
    this.left[entry] = a;
    this.right[entry] = b;
    this.made[entry] = made;
    this.ranks[entry] = rank;
    return entry;
  }

  /** @param {number} a @param {number} b */
  #slot(a, b) {
    let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    hash ^= hash >>> 13;
    const slots = this.#slots;
    const { left, right } = this;
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot] - 1;
      if (entry < 0 || (left[entry] === a && right[entry] === b)) return slot;
    }
  }

  #grow() {
    const larger = new Merges(2 * this.left.length + 16);
    for (let i = 0; i < this.#used; i++) larger.set(this.left[i], this.right[i], this.made[i], this.ranks[i]);
    Object.assign(this, { left: larger.left, right: larger.right, made: larger.made, ranks: larger.ranks });
    this.#slots = larger.#slots;
  }
}

/** Ranks and places in one number: the least is joined next. */
const PLACES = 2 ** 31;

/** The symbols of a word and the pairs that may be joined. The arrays are used again for the next word. */
export class Word {
  length = 0;
  ids = new Int32Array(64);
  #before = new Int32Array(64);
  #after = new Int32Array(64);
  /** A binary heap of ranks and places, and the entry of each. */
  #keys = new Float64Array(192);
  #entries = new Int32Array(192);
  #waiting = 0;

  /** @param {number} id */
  push(id) {
    if (this.length === this.ids.length) {
      const larger = new Int32Array(2 * this.length);
      larger.set(this.ids);
      this.ids = larger;
    }
    this.ids[this.length++] = id;
  }

  /**
   * Join the symbols, and append those that are left.
   * @param {{find(a: number, b: number): number, left: Int32Array, right: Int32Array, made: Int32Array,
   *   ranks: Int32Array}} merges
   * @param {number[]} out
   */
  join(merges, out) {
    const n = this.length;
    if (n > this.#before.length) this.#reserve(n);
    const { ids } = this;
    const before = this.#before;
    const after = this.#after;
    this.#waiting = 0;
    for (let i = 0; i < n; i++) {
      before[i] = i - 1;
      after[i] = i + 1;
      if (i) this.#queue(merges, i - 1, i);
    }
    while (this.#waiting) {
      const at = this.#keys[0] % PLACES;
      const entry = this.#pop();
      const next = after[at];
      // one of the two was joined to another one meanwhile
      if (next >= n || ids[at] !== merges.left[entry] || ids[next] !== merges.right[entry]) continue;
      ids[at] = merges.made[entry];
      ids[next] = Word.GONE;
      after[at] = after[next];
      if (after[at] < n) {
        before[after[at]] = at;
        this.#queue(merges, at, after[at]);
      }
      if (before[at] >= 0) this.#queue(merges, before[at], at);
    }
    for (let i = 0; i < n; i = after[i]) out.push(ids[i]);
    this.length = 0;
  }

  /** The id of a symbol that was joined to the one before it. */
  static GONE = -0x80000000;

  /** @param {number} n */
  #reserve(n) {
    this.#before = new Int32Array(n);
    this.#after = new Int32Array(n);
    this.#keys = new Float64Array(3 * n);
    this.#entries = new Int32Array(3 * n);
  }

  /**
   * @param {Parameters<Word['join']>[0]} merges
   * @param {number} at
   * @param {number} next
   */
  #queue(merges, at, next) {
    const entry = merges.find(this.ids[at], this.ids[next]);
    if (entry < 0 || merges.made[entry] < 0) return;
    const keys = this.#keys;
    const entries = this.#entries;
    const key = merges.ranks[entry] * PLACES + at;
    let hole = this.#waiting++;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (keys[parent] <= key) break;
      keys[hole] = keys[parent];
      entries[hole] = entries[parent];
      hole = parent;
    }
    keys[hole] = key;
    entries[hole] = entry;
  }

  /** Take the least pair off the heap. @returns {number} its entry */
  #pop() {
    const keys = this.#keys;
    const entries = this.#entries;
    const first = entries[0];
    const n = --this.#waiting;
    const key = keys[n];
    const entry = entries[n];
    let hole = 0;
    for (let child = 1; child < n; child = 2 * hole + 1) {
      if (child + 1 < n && keys[child + 1] < keys[child]) child++;
      if (keys[child] >= key) break;
      keys[hole] = keys[child];
      entries[hole] = entries[child];
      hole = child;
    }
    keys[hole] = key;
    entries[hole] = entry;
    return first;
  }
}
