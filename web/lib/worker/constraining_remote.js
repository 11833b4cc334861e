// constraining_remote.js - compiles the options json and grammar of a generation before it is posted
import { guardedAsync } from '../base/errors.js';
import { lacking } from '../base/extras.js';

/** @import { Remote } from './remote.js' */

/**
 * A model whose generations take the options json and grammar.
 * @implements {Remote}
 */
export class ConstrainingRemote {
  #remote;
  #info;
  /** Resolves when the model has the bytes of its tokens; null before it needs them. @type {Promise<any> | null} */
  #vocabulary = null;

  /**
   * @param {Remote} remote
   * @param {any} info  of the model
   */
  constructor(remote, info) {
    this.#remote = remote;
    this.#info = info;
  }

  /** @type {Remote['call']} */
  call(...args) {
    return this.#remote.call(...args);
  }

  /** @type {Remote['generate']} */
  generate(args, hooks) {
    const { json, grammar } = args[1];
    return (json ?? grammar) === undefined ? this.#remote.generate(args, hooks) : this.#constrained(args, hooks);
  }

  /** @type {Remote['generate']} */
  async *#constrained([input, options, ...rest], hooks) {
    const prepared = await guardedAsync(async () => {
      const { prepare, sendVocabulary } = await import('../constrain/compile.js').catch(lacking('constrain'));
      const posted = prepare(options, this.#info);
      this.#vocabulary ??= sendVocabulary(this.#remote, this.#info);
      this.#vocabulary.catch(() => {
        this.#vocabulary = null; // the next call tries again
      });
      await this.#vocabulary;
      return posted;
    });
    return yield* this.#remote.generate([input, prepared, ...rest], hooks);
  }

  memory() {
    return this.#remote.memory();
  }

  close() {
    this.#remote.close();
  }
}
