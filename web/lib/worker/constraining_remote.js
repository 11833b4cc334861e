// constraining_remote.js - compiles the options json, grammar and tools of a generation before it is posted
import { guardedAsync } from '../base/errors.js';

/** @import { Remote } from './model_caller.js' */

/**
 * Generations of a model with the options json, grammar and tools.
 * @param {Remote} remote
 * @param {any} info  of the model
 * @returns {Remote['generate']}
 */
export function constraining(remote, info) {
  /** @type {Remote['generate']} */
  async function* constrained([input, options, ...rest], hooks) {
    const prepared = await guardedAsync(async () =>
      (await import('../text/constrain/compile.js')).prepare(options, info),
    );
    const summary = yield* remote.generate([input, prepared.options, ...rest], hooks);
    return prepared.ignored.length ? { ...summary, ignoredKeywords: prepared.ignored } : summary;
  }
  return (args, hooks) => {
    const { json, grammar, tools } = args[1];
    return (json ?? grammar ?? tools) === undefined ? remote.generate(args, hooks) : constrained(args, hooks);
  };
}
