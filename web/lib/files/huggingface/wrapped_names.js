// wrapped_names.js - the names of tensors without what wrappers put before and between their parts
//
// torch.compile, DataParallel, FSDP, checkpointing of activations and DeepSpeed each add a part to a name, anywhere in
// it. A class that holds the model, such as a LightningModule, adds one before all names.

/** @import { Entry } from '../../engine/config/tensor_plan.js' */

const WRAPPERS = new RegExp(
  '(^|\\.)(?:(?:_orig_mod|_forward_module|_fsdp_wrapped_module|_checkpoint_wrapped_module|_dp_wrapped_module|' +
    'module)\\.)+',
  'g',
);
/** Most parts that are taken from the front of all names. */
const MOST_HOLDERS = 8;

/**
 * A name without the parts of wrappers.
 * @param {string} name
 */
export const unwrapped = (name) => name.replace(WRAPPERS, '$1');

/**
 * The tensors without the first part of their names; null where not all names begin with the same part.
 * @param {Entry[]} entries
 * @returns {Entry[] | null}
 */
function withoutHolder(entries) {
  const length = entries.length ? entries[0].name.indexOf('.') + 1 : 0;
  const holder = length ? entries[0].name.slice(0, length) : '';
  if (!length || !entries.every(({ name }) => name.startsWith(holder) && name.length > length)) return null;
  return entries.map((e) => ({ ...e, name: e.name.slice(length) }));
}

/**
 * The tensors under the names that they can have: those of the file without the parts of wrappers, and then without
 * each part that all names begin with.
 * @param {Entry[]} entries
 * @returns {Entry[][]}
 */
export function nameVariants(entries) {
  const names = new Set(entries.map(({ name }) => unwrapped(name)));
  const plain = names.size === entries.length ? entries.map((e) => ({ ...e, name: unwrapped(e.name) })) : entries;
  const variants = [plain];
  for (let next = withoutHolder(plain); next && variants.length <= MOST_HOLDERS; next = withoutHolder(next))
    variants.push(next);
  return variants;
}
