// advance.js - runs one token of each of several sequences
/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */

/**
 * Run the last token of each list in its sequence. Sequences without captures and edits share one pass over the
 * weights.
 * @param {LoadedModel} model
 * @param {import('./sequence.js').Sequence[]} sequences
 * @param {number[][]} lists  all tokens of each sequence
 */
export function advanceAll(model, sequences, lists) {
  const most = model.config.causal && sequences.every((r) => r.unobserved) ? model.engine.schema.chunk : 1;
  for (let at = 0; at < sequences.length; at += most) {
    const group = sequences.slice(at, at + most);
    if (group.length === 1) group[0].advance(lists[at]);
    else {
      model.engine.evalAll(
        group.map((r) => r.session),
        lists.slice(at, at + most).map((ids) => ids[ids.length - 1]),
      );
      for (const sequence of group) sequence.noteAdvance();
    }
  }
}
