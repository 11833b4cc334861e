// advance.js - runs one token in each of several sequences, together where it is possible

/** @import { LoadedModel } from './loaded_model.js' */

/**
 * Run the last token of each sequence. Sequences without captures and edits share one pass over the weights.
 * @param {LoadedModel} model
 * @param {import('./sequence.js').Sequence[]} sequences
 * @param {number[][]} lists  all tokens of each sequence, including the one to run
 */
export function advanceAll(model, sequences, lists) {
  const groupSize = model.config.causal && sequences.every((r) => r.unobserved) ? model.engine.schema.chunk : 1;
  for (let at = 0; at < sequences.length; at += groupSize) {
    const group = sequences.slice(at, at + groupSize);
    if (group.length === 1) group[0].advance(lists[at]);
    else {
      model.engine.evalAll(
        group.map((r) => r.session),
        lists.slice(at, at + groupSize).map((ids) => ids[ids.length - 1]),
      );
      for (const sequence of group) sequence.afterSharedPass();
    }
  }
}
