// freeing.js - repeats a call that ran out of memory, after what the caller does not know about was freed

/** @import { Remote } from './remote.js' */

/** @param {any} error */
const isOutOfMemory = (error) => error?.code === 'out-of-memory';

/**
 * A model whose calls are repeated once when they run out of memory and something can be freed.
 * @implements {Remote}
 */
export class FreeingRemote {
  #remote;
  #free;

  /**
   * @param {Remote} remote
   * @param {() => Promise<boolean>} free  frees memory; false: there was nothing to free
   */
  constructor(remote, free) {
    this.#remote = remote;
    this.#free = free;
  }

  /** @type {Remote['call']} */
  async call(...args) {
    try {
      return await this.#remote.call(...args);
    } catch (error) {
      if (!isOutOfMemory(error) || !(await this.#free())) throw error;
    }
    return this.#remote.call(...args);
  }

  /**
   * The steps of a generation. It is repeated where not even its first step was reached.
   * @param {Parameters<Remote['generate']>} args
   * @returns {ReturnType<Remote['generate']>}
   */
  async *generate(...args) {
    let steps = this.#remote.generate(...args);
    let first;
    try {
      first = await steps.next();
    } catch (error) {
      if (!isOutOfMemory(error) || !(await this.#free())) throw error;
      steps = this.#remote.generate(...args);
      first = await steps.next();
    }
    if (first.done) return first.value;
    try {
      yield first.value;
      return yield* steps;
    } finally {
      await steps.return(undefined);
    }
  }

  memory() {
    return this.#remote.memory();
  }

  close() {
    this.#remote.close();
  }
}
