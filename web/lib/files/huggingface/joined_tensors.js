// joined_tensors.js - weights of which each head has a tensor of its own, as one tensor
import { fail } from '../../base/errors.js';

/** @import { Entry, Place } from '../../engine/config/tensor_plan.js' */

/** Most tensors that are joined in one. */
const MAX_HEADS = 4096;

/**
 * The tensors in which those of the heads are joined by rows, where a name has 'H' in place of the head's number.
 * @param {Entry[]} entries
 * @param {Map<string, Place>} places  by name, with H
 * @param {string[]} files  names, for messages
 * @returns {Entry[]}
 */
export function withJoinedHeads(entries, places, files) {
  if (![...places.keys()].some((name) => /(^|\.)H(\.|$)/.test(name))) return entries;
  /** @type {Map<string, Entry[]>} */
  const joined = new Map();
  const rest = entries.filter((entry) => {
    for (const { index, 0: digits } of entry.name.matchAll(/(?<=^|\.)\d+(?=\.|$)/g)) {
      const name = `${entry.name.slice(0, index)}H${entry.name.slice(index + digits.length)}`;
      if (!places.has(name) || Number(digits) >= MAX_HEADS) continue;
      const parts = joined.get(name) ?? [];
      parts[Number(digits)] = entry;
      joined.set(name, parts);
      return false;
    }
    return true;
  });
  return [...rest, ...[...joined].map(([name, parts]) => join(name, parts, files))];
}

/**
 * @param {string} name
 * @param {Entry[]} parts  by head
 * @param {string[]} files
 * @returns {Entry}
 */
function join(name, parts, files) {
  const [first] = parts;
  const whole = Array.from(parts);
  const missing = whole.findIndex((part) => !part);
  if (missing >= 0) return fail('missing-tensor', `${files[0]}: ${name.replace('H', String(missing))} is missing`);
  for (const part of whole)
    if (part.dtype !== first.dtype || String(part.shape) !== String(first.shape))
      fail('bad-shape', `${files[part.file]}: ${part.name} has another shape or type than ${first.name}`);
  const [rows, ...width] = first.shape;
  return {
    name,
    dtype: first.dtype,
    shape: [rows * whole.length, ...width],
    file: first.file,
    offset: first.offset,
    bytes: first.bytes * whole.length,
    arrangement: { parts: whole },
  };
}
