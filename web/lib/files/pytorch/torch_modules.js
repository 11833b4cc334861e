// torch_modules.js - modules of torch.nn that were saved whole, torch.save(model, file): their tensors and fields
import { fail, show } from '../../base/errors.js';
import { PythonObject } from './python_objects.js';
import { Tensor } from './torch_values.js';

/**
 * Whether a value is a module of torch.nn that was saved whole.
 * @param {unknown} value
 * @returns {value is PythonObject}
 */
export const isModule = (value) =>
  value instanceof PythonObject && value.get('_parameters') instanceof Map && value.get('_modules') instanceof Map;

/** Most modules of a model, and the depth of one within others. */
const MAX_MODULES = 1 << 16;
const MAX_DEPTH = 64;

/**
 * The modules within a module and itself, the outermost first, with the prefix of their tensors' names.
 * @param {PythonObject} module
 * @returns {[prefix: string, module: PythonObject][]}
 */
function modulesIn(module) {
  /** @type {[string, PythonObject, number][]} */
  const all = [['', module, 0]];
  for (const [prefix, outer, depth] of all)
    for (const [name, inner] of /** @type {Map<unknown, unknown>} */ (outer.get('_modules'))) {
      if (!isModule(inner)) continue;
      if (all.length === MAX_MODULES || depth === MAX_DEPTH)
        fail(
          'bad-header',
          `the module ${show(module.className)} has more than ${MAX_MODULES} modules, or contains itself`,
        );
      all.push([`${prefix}${name}.`, inner, depth + 1]);
    }
  return all.map(([prefix, inner]) => [prefix, inner]);
}

/**
 * The state dict of a module: its parameters and those buffers that a state dict has.
 * @param {PythonObject} module
 * @returns {Map<unknown, unknown>}
 */
export function stateDictOfModule(module) {
  const state = new Map();
  for (const [prefix, inner] of modulesIn(module)) {
    const left = inner.get('_non_persistent_buffers_set');
    const isLeft = (/** @type {unknown} */ name) => Array.isArray(left) && left.includes(name);
    for (const key of ['_parameters', '_buffers'])
      for (const [name, value] of /** @type {Map<unknown, unknown>} */ (inner.get(key) ?? new Map()))
        if (value instanceof Tensor && !isLeft(name)) state.set(prefix + name, value);
  }
  return state;
}

/**
 * The modules whose fields may say what no tensor says, such as the number of heads; the outermost first.
 * @param {PythonObject} module
 */
export const fieldsInModule = (module) => modulesIn(module).map(([, inner]) => inner);
