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
 * The tensors without the first part that most of their names have; null where there is none. Others, such as the state
 * of a metric beside the model, keep their names.
 * @param {Entry[]} entries
 * @returns {Entry[] | null}
 */
function withoutHolder(entries) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { name } of entries) {
    const part = name.slice(0, name.indexOf('.') + 1);
    counts.set(part, (counts.get(part) ?? 0) + 1);
  }
  const holder = [...counts].find(([part, count]) => part && count > entries.length / 2)?.[0];
  if (!holder) return null;
  const shorter = entries.map((e) => (e.name.startsWith(holder) ? { ...e, name: e.name.slice(holder.length) } : e));
  return new Set(shorter.map(({ name }) => name)).size === entries.length ? shorter : null;
}

/**
 * The tensors under the names that they can have: those of the file without the parts of wrappers, and then without
 * each part that most names begin with.
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
