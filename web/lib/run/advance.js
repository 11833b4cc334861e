// runs.js - several runs, advanced together
/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */

/**
 * One more token, the last of its list, for each of several runs: in one pass over the weights where nothing is watched or edited.
 * @param {LoadedModel} model
 * @param {import('./sequence.js').Sequence[]} sequences
 * @param {number[][]} lists
 */
export function advanceAll(model, sequences, lists) {
  const most = model.config.causal && sequences.every((r) => r.unobserved) ? model.engine.schema.chunk : 1;
  for (let at = 0; at < sequences.length; at += most) {
    const group = sequences.slice(at, at + most);
    if (group.length === 1) group[0].advance(lists[at]);
    else {
      model.engine.evalAll(group.map((r) => r.session), lists.slice(at, at + most).map((ids) => ids[ids.length - 1]));
      for (const sequence of group) sequence.noteAdvance();
    }
  }
}
