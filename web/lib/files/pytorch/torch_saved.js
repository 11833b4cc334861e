// torch_saved.js - the state dict and the configuration in what people save with torch.save
import { fail, show } from '../../base/errors.js';
import { Tensor } from './torch_values.js';

/** Keys under which training scripts save the state dict: nanoGPT, Lightning and others. */
const STATE_DICT_KEYS = 'state_dict model_state_dict model_state model module net weights params'.split(' ');

/** Keys under which training scripts save the sizes of the model. */
const CONFIG_KEYS = ['config', 'model_config', 'hyper_parameters', 'hparams', 'args', 'model_args'];

/**
 * The state dict in what was saved.
 * @param {unknown} root
 * @param {string} where  file name, for messages
 * @returns {{dict: Map<unknown, unknown>, saved: Map<unknown, unknown>}} saved: what is beside it
 */
export function stateDictOf(root, where) {
  if (!(root instanceof Map))
    return fail('unsupported', `${where}: holds ${describe(root)}, expected a state dict (a dict of tensors)`);
  for (let saved = root, depth = 0; depth < 4; depth++) {
    const values = [...saved.values()];
    if (values.some((v) => v instanceof Tensor) && !STATE_DICT_KEYS.some((key) => saved.get(key) instanceof Map))
      return { dict: saved, saved: root };
    const inner = STATE_DICT_KEYS.map((key) => saved.get(key)).find((v) => v instanceof Map);
    const only = values.filter((v) => v instanceof Map && [...v.values()].some((x) => x instanceof Tensor));
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
  value instanceof Tensor ? `one tensor of shape ${show(value.shape)}` : Array.isArray(value) ? 'a list' : show(value);

/**
 * A dict of the checkpoint as the JSON of a configuration: its texts, numbers and booleans.
 * @param {unknown} value
 * @returns {Record<string, any> | null} null where it is not a dict
 */
function plainFields(value) {
  if (!(value instanceof Map)) return null;
  const scalar = (/** @type {unknown} */ v) => v === null || ['string', 'number', 'boolean'].includes(typeof v);
  return Object.fromEntries([...value].filter(([key, v]) => typeof key === 'string' && scalar(v)));
}

/** Whether a dict says how many heads there are, which no tensor tells. @param {Record<string, any> | null} fields */
const saysHeads = (fields) =>
  fields !== null && Object.keys(fields).some((key) => /^(n(um)?_.*heads?|nhead|heads)$/.test(key));

/**
 * The configuration that a checkpoint brings with it: model_args of nanoGPT and llama2.c, the first dict beside the
 * state dict that has a number of heads, or the numbers beside the state dict themselves.
 * @param {Map<unknown, unknown>} saved  what the file holds
 * @returns {Record<string, any> | null}
 */
export function savedConfig(saved) {
  const args = plainFields(saved.get('model_args'));
  if (args && 'n_embd' in args && 'block_size' in args) return { ...args, model_type: 'nanogpt' };
  const dicts = CONFIG_KEYS.flatMap((key) => {
    const value = saved.get(key);
    const inner = value instanceof Map ? [...value.values()].filter((v) => v instanceof Map) : [];
    return [value, ...inner].map(plainFields);
  });
  return [...dicts, plainFields(saved)].find(saysHeads) ?? null;
}
