// python_objects.js - objects of Python classes in a pickle, as data: no code of theirs is known or run
//
// A class, a function or a module of Python is a name. An object of a class is the fields that were saved of it, which
// is enough for a configuration (a dataclass, an argparse.Namespace) and for a module of torch.nn that was saved whole.
import { Global } from './pickle_globals.js';

/** An object of a Python class: its fields, and its entries where it is a dict. @extends {Map<unknown, unknown>} */
export class PythonObject extends Map {
  /** @param {string} className  as "module.name" */
  constructor(className) {
    super();
    this.className = className;
  }

  /**
   * Keeps the fields of a saved state: a dict, or a tuple with dicts in it.
   * @param {unknown} state
   */
  setState(state) {
    for (const part of Array.isArray(state) ? state : [state])
      if (part instanceof Map) for (const [key, value] of part) this.set(key, value);
  }
}

/**
 * Gives an object in a pickle its state; that of a dict, such as _metadata of an OrderedDict, is dropped.
 * @param {unknown} target
 * @param {unknown} state
 * @returns {boolean} false: it can have none
 */
export function setState(target, state) {
  if (target instanceof PythonObject) target.setState(state);
  return target instanceof Map;
}

/** Modules of Python that no model needs: a file that names them is refused, although nothing would be run. */
const REFUSED = new RegExp(
  '^(os|posix|nt|sys|subprocess|pty|shutil|socket|importlib|runpy|webbrowser|ctypes|code|pickle|_pickle|marshal|' +
    'builtins|__builtin__|types|operator|pip|setuptools)\\.',
);
const PLAIN = new RegExp(
  '^((builtins|__builtin__)\\.(object|dict|list|tuple|int|long|float|str|unicode|bool|bytes|complex|slice|range)|' +
    'types\\.SimpleNamespace)$',
);

/**
 * What takes the place of a name in Python.
 * @param {string} name  "module.name"
 * @returns {Global | null} null: refused
 */
export function namedInPython(name) {
  if (/^(builtins|__builtin__)\.(set|frozenset)$/.test(name)) return new Global(name, ([items = []]) => items);
  if (/^(copyreg|copy_reg)\._reconstructor$/.test(name))
    return new Global(name, ([kind]) => new PythonObject(kind instanceof Global ? kind.name : name));
  return REFUSED.test(name) && !PLAIN.test(name) ? null : new Global(name, () => new PythonObject(name));
}
