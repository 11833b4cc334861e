// pickle_globals.js - names of Python in a pickle, and what a call of one returns

/**
 * What takes the place of a callable: it gets the arguments of the call and returns a value.
 * @typedef {(args: unknown[]) => unknown} Callable
 */
/**
 * Marks a value as callable, so that data cannot be called.
 */
export class Global {
  /**
   * @param {string} name  as "module.name"
   * @param {Callable} [call]
   */
  constructor(name, call) {
    this.name = name;
    this.call = call;
  }
}
