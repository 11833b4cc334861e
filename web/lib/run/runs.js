// runs.js - several runs, advanced together
/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */

/**
 * One more token, the last of its list, for each of several runs: in one pass over the weights where nothing is watched or edited.
 * @param {LoadedModel} f
 * @param {import('./run.js').Run[]} runs
 * @param {number[][]} lists
 */
export function nextAll(f, runs, lists) {
  const most = f.config.causal && runs.every((r) => r.plain) ? f.engine.schema.chunk : 1;
  for (let at = 0; at < runs.length; at += most) {
    const some = runs.slice(at, at + most);
    if (some.length === 1) some[0].next(lists[at]);
    else {
      f.engine.evalAll(some.map((r) => r.session), lists.slice(at, at + most).map((ids) => ids[ids.length - 1]));
      for (const run of some) run.advanced();
    }
  }
}
