// feature_edits.js - checks an edit of a feature of a sparse dictionary
import { fail, show } from '../../base/errors.js';
import { isWord } from '../../base/checks.js';
import { numberInRange as inRange } from '../../run/generation_options.js';

/** @import { Limits } from './arguments.js' */

const FIELDS = ['at', 'dictionary', 'feature', 'scale', 'add', 'position'];

/**
 * What the run gets of the edit: the number that the model knows the dictionary by, and the feature's direction.
 * @param {any} edit
 * @param {string} where
 * @param {Limits} limits
 * @param {(value: any, where: string, limits: Limits) => any} positions
 */
export function featureEdit(edit, where, limits, positions) {
  const { dictionary, feature, scale = 1, add = 0, position } = edit;
  const unknown = Object.keys(edit).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined)
    fail('bad-option', `${where}: an edit of a feature has no field ${show(unknown)}, it has ${FIELDS.join(', ')}`);
  if (typeof dictionary?.edited !== 'function')
    fail('bad-option', `${where}.dictionary is ${show(dictionary)}, expected a Dictionary`);
  inRange(`${where}.feature`, feature, 0, dictionary.size - 1, true);
  if ((edit.scale ?? edit.add ?? null) === null) fail('bad-option', `${where} changes nothing: give scale or add`);
  inRange(`${where}.scale`, scale, -1e6, 1e6);
  inRange(`${where}.add`, add, -1e6, 1e6);
  const { at, direction } = dictionary.edited(feature, where);
  if (edit.at !== undefined && !isWord(edit.at))
    fail('bad-option', `${where}.at is ${show(edit.at)}, expected the name of a point`);
  const id = limits.attach(dictionary);
  return {
    at: edit.at ?? at,
    dictionary: id,
    feature,
    scale,
    add,
    direction,
    position: positions(position, `${where}.position`, limits),
  };
}
