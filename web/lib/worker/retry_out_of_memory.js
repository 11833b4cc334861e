// retry_out_of_memory.js - repeats a call that ran out of memory, after what the caller does not know about was freed

/** @import { Remote } from './model_caller.js' */

/**
 * A model whose calls are repeated once when they run out of memory and something can be freed.
 * @param {{remote: Remote, generate: Remote['generate']}} model  generate: instead of the remote's
 * @param {() => Promise<boolean>} free  frees memory; false: there was nothing to free
 * @returns {Remote}
 */
export function freeing({ remote, generate }, free) {
  /**
   * @template T
   * @param {() => Promise<T>} run  called again after memory was freed
   */
  const twice = (run) =>
    run().catch(async (error) => {
      if (error?.code !== 'out-of-memory' || !(await free())) throw error;
      return run();
    });
  return {
    call: (...args) => twice(() => remote.call(...args)),
    async *generate(...args) {
      // repeated only where not even the first step was reached
      const { steps, first } = await twice(async () => {
        const begun = generate(...args);
        return { steps: begun, first: await begun.next() };
      });
      if (first.done) return first.value;
      try {
        yield first.value;
        return yield* steps;
      } finally {
        await steps.return(undefined);
      }
    },
    memory: () => remote.memory(),
    close: () => remote.close(),
  };
}
