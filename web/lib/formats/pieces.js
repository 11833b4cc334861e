// pieces.js - SentencePiece vocabularies, of GGUF's "llama" kind and of llama2.c, in the shape of a tokenizer.json
import { BYTE, NORMAL, common, pieceModels } from './tokenizer_json.js';

/** @typedef {import('./tokenizer_json.js').Base} Base */

/** The type of a SentencePieces model in a tokenizer's text; no tokenizer.json has it. */
export const PIECES = 'SentencePieces';

/**
 * A SentencePiece vocabulary as the model of a tokenizer.json. The rank of a pair is the rank of the score of the
 * joined token: better scores have lower ranks, and among equal ranks the leftmost pair is joined. Ranks are computed
 * on demand, since 32,000 tokens have 60,000 pairs and a text contains few of them; `merges` is empty.
 */
export class SentencePieces {
  type = 'BPE';
  fuse_unk = true;
  /** @type {string[][]} */
  merges = [];

  /**
   * @param {Map<string, number>} ids
   * @param {number[]} types
   * @param {number[]} scores
   * @param {number} unk
   */
  constructor(ids, types, scores, unk) {
    this.ids = ids;
    this.texts = [...ids.keys()];
    this.types = types;
    this.scores = scores;
    this.unk_token = this.texts[unk];
    this.byte_fallback = types.includes(BYTE);
    this.ascending = Float64Array.from(scores).sort();
    pieceModels.add(this);
  }

  /** JSON has no infinite numbers; scores are f32, so the largest double is as good. */
  toJSON() {
    const { texts, types, scores, unk_token } = this;
    const most = Number.MAX_VALUE;
    return {
      type: PIECES,
      texts,
      types: Array.from(types),
      scores: Array.from(scores, (s) => Math.min(Math.max(s, -most), most)),
      unk: this.ids.get(unk_token),
    };
  }

  /** @param {{texts: string[], types: number[], scores: number[], unk: number}} json what toJSON gave */
  static fromJSON({ texts, types, scores, unk }) {
    return new SentencePieces(new Map(texts.map((text, id) => [text, id])), types, scores, unk);
  }

  get vocab() {
    return Object.fromEntries(this.ids);
  }

  /** The model without its vocabulary, for the library to build. */
  get outline() {
    const { type, fuse_unk, byte_fallback, unk_token, merges } = this;
    return { type, fuse_unk, byte_fallback, unk_token, merges, vocab: {} };
  }

  /**
   * The rank of a pair: the interface of the Map that the library uses.
   * @param {string} key the pair as JSON
   * @returns {number | undefined}
   */
  get(key) {
    const [a, b] = JSON.parse(key);
    const id = this.plain(a + b);
    return id === undefined || this.plain(a) === undefined || this.plain(b) === undefined
      ? undefined
      : this.better(this.scores[id]);
  }

  /**
   * @param {string} text
   * @returns {number | undefined}
   */
  plain(text) {
    const id = this.ids.get(text);
    return id !== undefined && this.types[id] === NORMAL ? id : undefined;
  }

  /**
   * Number of better scores.
   * @param {number} score
   */
  better(score) {
    let low = 0;
    let high = this.ascending.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ascending[middle] > score) high = middle;
      else low = middle + 1;
    }
    return this.ascending.length - low;
  }

  /**
   * Install this vocabulary in the library's model that was built from the outline.
   * @param {any} model
   */
  enter(model) {
    model.tokens_to_ids = this.ids;
    model.vocab = this.texts;
    model.unk_token_id = this.ids.get(this.unk_token);
    model.bpe_ranks = this;
  }
}

/**
 * @param {Base & {scores: number[], unk: number, prefix: boolean, space?: string}} v space: what the texts have for one
 */
export function spmJson({ scores, unk, prefix, space = '\u2581', ...base }) {
  return {
    ...common(base),
    normalizer: {
      type: 'Sequence',
      normalizers: [
        ...(prefix ? [{ type: 'Prepend', prepend: space }] : []),
        { type: 'Replace', pattern: { String: ' ' }, content: space },
      ],
    },
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: space }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: new SentencePieces(base.ids, base.types, scores, unk),
  };
}
