// template_scope.js - the variables of a template while it is rendered

/** The value of a name that a scope has and has not set. */
export const UNSET = Symbol('unset');

/** The variables of a scope, and the scope around it. */
export class Scope {
  /** @type {Map<string, any>} */
  values = new Map();

  /**
   * @param {Scope | null} outer
   * @param {string[]} [unset]
   */
  constructor(outer, unset = []) {
    this.outer = outer;
    for (const name of unset) this.values.set(name, UNSET);
  }

  /** @param {string} name @returns {any} */
  get(name) {
    for (let scope = /** @type {Scope | null} */ (this); scope; scope = scope.outer) {
      const value = scope.values.get(name);
      if (value !== undefined) return value === UNSET ? undefined : value;
    }
    return undefined;
  }
}
