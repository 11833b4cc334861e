// merge_pieces.js - the merges of a SentencePiece model of the kind BPE, such as Llama's tokenizer.model

/** Longest piece of which merges are made, as trained by default at most 16 characters. */
const LONGEST = 512;

/**
 * The merges of pieces, the best first: those of a better score, then those of longer parts, as in transformers.
 * @param {{texts: string[], scores: number[]}} pieces  by id
 * @returns {[string, string][]}
 */
export function mergesOf({ texts, scores }) {
  const ids = new Map(texts.map((text, id) => [text, id]));
  /** @type {{left: string, right: string, score: number, lengths: [number, number]}[]} */
  const merges = [];
  for (const [id, text] of texts.entries()) {
    const characters = Array.from(text);
    /** @type {[number, number, number][]} ids of the parts, and where they meet */
    const cuts = [];
    for (let cut = 1; cut < Math.min(characters.length, LONGEST); cut++) {
      const left = ids.get(characters.slice(0, cut).join(''));
      const right = left === undefined ? undefined : ids.get(characters.slice(cut).join(''));
      if (left !== undefined && right !== undefined) cuts.push([left, right, cut]);
    }
    cuts.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [left, right, cut] of cuts) {
      const lengths = /** @type {[number, number]} */ ([cut, characters.length - cut]);
      merges.push({ left: texts[left], right: texts[right], score: scores[id], lengths });
    }
  }
  merges.sort((a, b) => b.score - a.score || b.lengths[0] - a.lengths[0] || b.lengths[1] - a.lengths[1]);
  return merges.map(({ left, right }) => [left, right]);
}
