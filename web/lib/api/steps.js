/// <reference lib="esnext.disposable" preserve="true" />
// steps.js - the steps of a generation on the caller's side: an async iterator that also gives text and summary
import { fail } from '../base/errors.js';
import { withJson } from './tensor_json.js';

/** @import { Step, Summary } from './index.js' */

/**
 * The steps of a generation, from `Model.generate`, `Model.chat` and `Session.generate`: an async iterator of them that
 * returns the summary. Each step is computed when it is read. `break` stops the engine.
 * @implements {AsyncGenerator<Step, Summary, void>}
 * @example
 * const steps = model.generate('Once upon a time', { maxTokens: 5, temperature: 0 });
 * for await (const { id, text } of steps) console.log(id, text);
 * const { stopReason, ids } = await steps.result;
 * console.log(stopReason, ids.length);                                    // maxTokens 5
 */
export class Steps {
  #steps;
  #originOf;
  /** @type {import('./origins.js').Origin | undefined} */
  #origin;
  /** What `result` has read before the reader. @type {Promise<IteratorResult<Step, Summary>>[]} */
  #ahead = [];
  /** @type {Summary | undefined} */
  #summary;
  /** @type {Promise<Summary> | undefined} */
  #result;

  /**
   * Called by generate and chat.
   * @ignore
   * @param {AsyncGenerator<Step, Summary, void>} steps
   * @param {() => import('./origins.js').Origin} [origin]  of what the steps capture
   */
  constructor(steps, origin) {
    this.#steps = steps;
    this.#originOf = origin;
  }

  async #read() {
    const answer = await this.#steps.next();
    if (answer.done) {
      this.#summary ??= answer.value;
      if (this.#origin && answer.value) this.#origin.known.seed = answer.value.seed;
    } else if (answer.value.captured && this.#originOf)
      withJson(answer.value.captured, (this.#origin ??= this.#originOf()));
    return answer;
  }

  async #toEnd() {
    for (;;) {
      const answer = this.#read();
      this.#ahead.push(answer);
      if ((await answer).done)
        return this.#summary ?? fail('bad-state', 'the generation did not reach its end: there is no summary');
    }
  }

  /**
   * The summary. Without a reader this runs the generation to its end; a reader gets every step as well. Rejects with
   * the error of the generation, and with `bad-state` when a reader has left it or has got its error.
   * @returns {Promise<Summary>}
   */
  get result() {
    return (this.#result ??= this.#toEnd());
  }

  /**
   * The whole new text: that of `result`.
   * @returns {Promise<string>}
   */
  async text() {
    return (await this.result).text;
  }

  /**
   * The new text as a stream of UTF-8, a chunk for each step with text: `new Response(steps.toReadableStream())`.
   * Cancelling the stream stops the engine. It reads the steps, so that there is no other reader.
   * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
   */
  toReadableStream() {
    const encoder = new TextEncoder();
    return new ReadableStream({
      pull: async (controller) => {
        for (;;) {
          const { done, value } = await this.next();
          if (done) return controller.close();
          if (value.text) return controller.enqueue(encoder.encode(value.text));
        }
      },
      cancel: async () => {
        await this.return();
      },
    });
  }

  /**
   * Compute the next step.
   * @returns {Promise<IteratorResult<Step, Summary>>}
   */
  next() {
    return this.#ahead.shift() ?? this.#read();
  }

  /**
   * Stop the engine. `break` in a loop calls it.
   * @param {any} [value]  of the answer
   * @returns {Promise<IteratorResult<Step, any>>}
   */
  return(value) {
    return this.#steps.return(value);
  }

  /**
   * Stop the engine with an error.
   * @param {unknown} error
   * @returns {Promise<IteratorResult<Step, Summary>>}
   */
  throw(error) {
    return this.#steps.throw(error);
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async [Symbol.asyncDispose]() {
    await this.return();
  }
}
