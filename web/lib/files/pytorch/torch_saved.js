// torch_saved.js - the state dict and the configuration in what people save with torch.save
import { fail, show } from '../../base/errors.js';
import { PythonObject } from './python_objects.js';
import { fieldsInModule, isModule, stateDictOfModule } from './torch_modules.js';
import { Tensor } from './torch_values.js';

/** Keys under which training scripts save the state dict: nanoGPT, Lightning and others. */
const STATE_DICT_KEYS = 'state_dict model_state_dict model_state model module net weights params'.split(' ');

/** Keys under which training scripts save the sizes of the model. */
const CONFIG_KEYS = ['config', 'model_config', 'cfg', 'hyper_parameters', 'hparams', 'args', 'model_args'];

/** Whether a value is a dict of tensors. @param {unknown} value */
const holdsTensors = (value) => value instanceof Map && [...value.values()].some((v) => v instanceof Tensor);

/**
 * The state dict in what was saved.
 * @param {unknown} root
 * @param {string} where  file name, for messages
 * @returns {{dict: Map<unknown, unknown>, saved: Map<unknown, unknown>}} saved: what is beside it
 */
export function stateDictOf(root, where) {
  if (isModule(root)) return { dict: stateDictOfModule(root), saved: root };
  if (!(root instanceof Map) || (root instanceof PythonObject && !holdsTensors(root)))
    return fail('unsupported', `${where}: holds ${describe(root)}, expected a state dict (a dict of tensors)`);
  for (let saved = root, depth = 0; depth < 4; depth++) {
    const values = [...saved.values()];
    const module = values.find(isModule);
    if (module) return { dict: stateDictOfModule(module), saved: root };
    if (values.some((v) => v instanceof Tensor) && !STATE_DICT_KEYS.some((key) => saved.get(key) instanceof Map))
      return { dict: saved, saved: root };
    const inner = STATE_DICT_KEYS.map((key) => saved.get(key)).find((v) => v instanceof Map);
    const only = values.filter(holdsTensors);
    const next = inner ?? (only.length === 1 ? only[0] : null);
    if (!(next instanceof Map)) break;
    saved = next;
  }
  return fail(
    'unsupported',
    `${where}: a dict with ${show([...root.keys()])} without tensors, expected a state dict under one of ` +
      STATE_DICT_KEYS.join(', '),
  );
}

/**
 * What a value of a pickle is, for messages.
 * @param {unknown} value
 */
const describe = (value) =>
  value instanceof Tensor
    ? `one tensor of shape ${show(value.shape)}`
    : value instanceof PythonObject
      ? `an object of ${show(value.className)}`
      : Array.isArray(value)
        ? 'a list'
        : show(value);

/**
 * A dict of the checkpoint as the JSON of a configuration: its texts, numbers and booleans.
 * @param {unknown} value
 * @returns {Record<string, any> | null} null where it is not a dict
 */
function plainFields(value) {
  if (!(value instanceof Map)) return null;
  const scalar = (/** @type {unknown} */ v) => v === null || ['string', 'number', 'boolean'].includes(typeof v);
  const isOwn = (/** @type {unknown} */ key) => typeof key === 'string' && !(isModule(value) && OF_MODULES.test(key));
  return Object.fromEntries([...value].filter(([key, v]) => isOwn(key) && scalar(v)));
}
/** Fields that every module of torch.nn has. */
const OF_MODULES = /^(_.*|training|call_super_init|dump_patches)$/;

/** Keys of the number of heads, which no tensor tells. */
const HEADS = /^(n(um)?_.*heads?|nhead|heads)$/;
/** Whether a dict says how many heads there are. @param {Record<string, any> | null} fields */
const saysHeads = (fields) => fields !== null && Object.keys(fields).some((key) => HEADS.test(key));

/**
 * What the modules of a model say that no tensor tells: the number of heads, of an attention, and the kind of GELU.
 * @param {PythonObject} module
 * @returns {Record<string, any>}
 */
function toldByModules(module) {
  const modules = fieldsInModule(module);
  const attention = modules.map(plainFields).find(saysHeads) ?? {};
  const gelu = modules.find(({ className }) => className === 'torch.nn.modules.activation.GELU');
  return {
    ...Object.fromEntries(Object.entries(attention).filter(([key]) => HEADS.test(key))),
    ...(gelu && { activation: gelu.get('approximate') === 'tanh' ? 'gelu_new' : 'gelu' }),
  };
}

/**
 * Whether an object is a GPTConfig without the two keys that nanoGPT's has. That of build-nanogpt is one, whose GELU is
 * the tanh form, but so are copies of nanoGPT with the exact one.
 * @param {unknown} value
 */
const isBareGptConfig = (value) =>
  value instanceof PythonObject &&
  /\bGPTConfig$/.test(value.className) &&
  ['block_size', 'n_head', 'n_embd'].every((key) => value.has(key)) &&
  !['bias', 'dropout', 'activation'].some((key) => value.has(key));

/**
 * The configuration that a checkpoint brings with it: model_args of nanoGPT and llama2.c, the first dict or object
 * beside the state dict that has a number of heads, the numbers beside the state dict themselves, or the number of
 * heads in a module.
 * @param {Map<unknown, unknown>} saved  what the file holds
 * @returns {{config: Record<string, any> | null, asksActivation: boolean}} asksActivation: nothing tells its GELU
 */
export function savedConfig(saved) {
  const args = plainFields(saved.get('model_args'));
  if (args && 'n_embd' in args && 'block_size' in args)
    return { config: { ...args, model_type: 'nanogpt' }, asksActivation: false };
  const found = CONFIG_KEYS.flatMap((key) => {
    const value = saved.get(key);
    const inner = value instanceof Map ? [...value.values()].filter((v) => v instanceof Map) : [];
    return [value, ...inner];
  });
  const module = [saved, ...saved.values()].find(isModule);
  const told = module ? toldByModules(module) : {};
  const origin = found.find((each) => saysHeads(plainFields(each)));
  const isBare = isBareGptConfig(origin);
  const own = [
    origin && { ...plainFields(origin), ...(isBare && { model_type: 'nanogpt' }) },
    plainFields(saved),
    told,
  ].find((each) => each && saysHeads(each));
  const config = own ? { ...own, ...('activation' in told && { activation: told.activation }) } : null;
  return { config, asksActivation: isBare && !told.activation };
}
