// call_arguments.js - the arguments of functions that Jinja2 and Python have built in
//
// A function is written with its parameters, as in 'width? /first? *more **named': one with ? may be missing, one with
// / is by position only, * takes the rest by position, ** the rest by name. It gets undefined for what is missing.

/** @typedef {{name: string, kind: string, byPosition: boolean}} Parameter */

/** @type {Map<string, Parameter[]>} */
const read = new Map();

/** @param {string} signature @returns {Parameter[]} */
function parametersOf(signature) {
  let parameters = read.get(signature);
  if (!parameters) {
    parameters = (signature.match(/\S+/g) ?? []).map((text) => {
      const [, kind, name, may] = /** @type {RegExpExecArray} */ (/^(\**|\/?)(\w+)(\??)$/.exec(text));
      return { name, kind: kind.startsWith('*') ? kind : may, byPosition: kind === '/' };
    });
    read.set(signature, parameters);
  }
  return parameters;
}

/**
 * Arguments in the order of the parameters.
 * @param {string} what  is called, for messages
 * @param {string} signature
 * @param {any[]} args
 * @param {Map<string, any>} kwargs
 * @returns {any[]}
 */
export function bound(what, signature, args, kwargs) {
  const rest = new Map(kwargs);
  let used = 0;
  const out = parametersOf(signature).map(({ name, kind, byPosition }) => {
    if (kind === '*') return args.slice(used, (used = args.length));
    if (kind === '**') return rest;
    if (used < args.length) {
      if (rest.has(name) && !byPosition) throw new Error(`${what}() got two values for ${name}`);
      return args[used++];
    }
    if (rest.has(name) && !byPosition) {
      const value = rest.get(name);
      rest.delete(name);
      return value;
    }
    if (kind !== '?') throw new Error(`${what}() needs the argument ${name}`);
    return undefined;
  });
  if (used < args.length) throw new Error(`${what}() takes ${used} arguments, ${args.length} were given`);
  if (rest.size && !signature.includes('**')) throw new Error(`${what}() has no argument ${[...rest.keys()][0]}`);
  return out;
}
