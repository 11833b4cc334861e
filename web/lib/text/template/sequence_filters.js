// sequence_filters.js - the filters of lists, dictionaries and whatever can be iterated
import { pathOf } from './attributes.js';
import { COMPARISONS, compare, isEqual, isTrue, iterated, listOf, operated, sizeOf } from './operators.js';
import { joined, repr, str } from './python_text.js';
import { escape } from './html_text.js';
import { points } from './code_points.js';
import {
  Dict,
  Generator,
  Markup,
  Range,
  Undefined,
  View,
  identityOf,
  indexOf,
  isText,
  textOf,
  typeName,
  tupleOf,
} from './python_values.js';
import { checkSize, step } from './template_limits.js';
import { lower } from './text_methods.js';

/** @import { Rendering } from './rendering.js' */

/** A key for sorting without case. @param {any} isCaseSensitive */
const caseOf = (isCaseSensitive) => (/** @type {any} */ value) =>
  isText(value) && !isTrue(isCaseSensitive) ? lower(textOf(value)) : value;

/**
 * A list in the order of keys; stable.
 * @param {any[]} list
 * @param {(value: any) => any} keyOf
 * @param {any} [reverse]
 */
function sorted(list, keyOf, reverse = false) {
  const keys = list.map((value) => ({ value, key: keyOf(value) }));
  const sign = isTrue(reverse) ? -1 : 1;
  keys.sort(({ key: a }, { key: b }) => sign * (compare(a, b) || 0));
  return keys.map(({ value }) => value);
}

/** @param {any} value @param {any} reverse @param {any} isCaseSensitive @param {any} attribute */
function sortedBy(value, reverse, isCaseSensitive, attribute) {
  const paths = (isText(attribute) ? textOf(attribute).split(',') : [attribute]).map((path) => pathOf(path));
  const own = caseOf(isCaseSensitive);
  return sorted(listOf(value), (one) => paths.map((path) => own(path(one))), reverse);
}

/** @param {any} value @param {any} isCaseSensitive @param {any} by @param {any} reverse */
function dictSorted(value, isCaseSensitive, by, reverse) {
  if (by !== 'key' && by !== 'value') throw new Error('You can only sort by either "key" or "value"');
  if (value instanceof Undefined) value.refuse();
  if (!(value instanceof Dict)) throw new Error(`'${typeName(value)}' object has no attribute 'items'`);
  const own = caseOf(isCaseSensitive);
  return sorted(value.entries, (entry) => own(entry[by === 'key' ? 0 : 1]), reverse).map((entry) => tupleOf(entry));
}

/** @param {any} value @param {any} isCaseSensitive @param {any} attribute */
function* unique(value, isCaseSensitive, attribute) {
  const [path, own] = [pathOf(attribute), caseOf(isCaseSensitive)];
  const seen = new Set();
  for (const one of iterated(value)) {
    const key = identityOf(own(path(one)));
    if (seen.has(key)) continue;
    seen.add(key);
    yield one;
  }
}

/**
 * The least or the greatest.
 * @param {string} operator
 * @param {any} value
 * @param {any} isCaseSensitive
 * @param {any} attribute
 */
function extreme(operator, value, isCaseSensitive, attribute) {
  const [path, own] = [pathOf(attribute), caseOf(isCaseSensitive)];
  const all = listOf(value).map((one) => ({ one, key: own(path(one)) }));
  if (!all.length) return new Undefined('No aggregated item, sequence was empty.');
  return all.reduce((best, next) => (COMPARISONS[operator](next.key, best.key) ? next : best)).one;
}

/** @param {Rendering} r @param {any} value @param {any} between @param {any} attribute */
function joinedBy(r, value, between, attribute) {
  const path = pathOf(attribute);
  const all = listOf(value).map(path);
  if (!r.autoescape) return joined(all.map(str), str(between));
  if (!(between instanceof Markup) && !all.some((one) => one instanceof Markup))
    return joined(all.map(str), str(between));
  return new Markup(
    joined(
      all.map((one) => escape(one).text),
      escape(between).text,
    ),
  );
}

/** @param {any} value @param {number} count @param {any} fill */
function* slices(value, count, fill) {
  const list = listOf(value);
  if (!count) throw new Error('integer division or modulo by zero');
  const [each, extra] = [Math.floor(list.length / count), list.length - count * Math.floor(list.length / count)];
  let offset = 0;
  for (let n = 0; n < count; n++) {
    step();
    const start = offset + n * each;
    if (n < extra) offset++;
    const part = list.slice(start, offset + (n + 1) * each);
    if (fill !== null && n >= extra) part.push(fill);
    yield part;
  }
}

/** @param {any} value @param {any} count @param {any} fill */
function* batches(value, count, fill) {
  let part = [];
  for (const one of iterated(value)) {
    if (isEqual(part.length, count)) {
      yield part;
      part = [];
    }
    part.push(one);
  }
  if (!part.length) return;
  if (fill !== null) {
    checkSize(indexOf(count));
    while (part.length < indexOf(count)) part.push(fill);
  }
  yield part;
}

/** @param {any} value @param {any} attribute @param {any} other @param {any} isCaseSensitive */
function grouped(value, attribute, other, isCaseSensitive) {
  const [path, own] = [pathOf(attribute, other), caseOf(isCaseSensitive)];
  /** @type {{key: any, first: any, list: any[]}[]} */
  const groups = [];
  for (const one of sorted(listOf(value), (item) => own(path(item)))) {
    const key = own(path(one));
    const last = groups[groups.length - 1];
    if (last && isEqual(last.key, key)) last.list.push(one);
    else groups.push({ key, first: path(one), list: [one] });
  }
  return groups.map(({ first, list }) => tupleOf([first, list], ['grouper', 'list']));
}

/** @param {Rendering} r @param {any} value @param {any[]} args @param {Map<string, any>} kwargs */
function* mapped(r, value, args, kwargs) {
  if (!isTrue(value)) return;
  const own = new Map(kwargs);
  let run;
  if (!args.length && own.has('attribute')) {
    const path = pathOf(own.get('attribute'), own.get('default') ?? null);
    for (const name of own.keys())
      if (name !== 'attribute' && name !== 'default') throw new Error(`Unexpected keyword argument ${repr(name)}`);
    run = path;
  } else {
    if (!args.length) throw new Error('map requires a filter argument');
    const [name, ...rest] = args;
    run = (/** @type {any} */ one) => r.filter(textOf(name), one, rest, own);
  }
  for (const one of iterated(value)) {
    step();
    yield run(one);
  }
}

/**
 * @param {Rendering} r
 * @param {any} value
 * @param {any[]} args
 * @param {Map<string, any>} kwargs
 * @param {{wanted: boolean, ofAttribute: boolean}} how
 */
function* chosen(r, value, args, kwargs, { wanted, ofAttribute }) {
  if (!isTrue(value)) return;
  if (ofAttribute && !args.length) throw new Error('Missing parameter for attribute name');
  const path = ofAttribute ? pathOf(args[0]) : pathOf(null);
  const [name, ...rest] = ofAttribute ? args.slice(1) : args;
  for (const one of iterated(value)) {
    step();
    const own = path(one);
    if ((name === undefined ? isTrue(own) : r.test(textOf(name), own, rest, kwargs)) === wanted) yield one;
  }
}

/**
 * @param {boolean} wanted
 * @param {boolean} ofAttribute
 * @returns {[string, (r: Rendering, value: any, ...args: any[]) => any]}
 */
const choice = (wanted, ofAttribute) => [
  '*args **kwargs',
  (r, value, args, kwargs) => new Generator(chosen(r, value, args, kwargs, { wanted, ofAttribute })),
];

/** @param {any} value */
function reversed(value) {
  if (isText(value)) {
    const text = [...points(textOf(value))].reverse().join('');
    return value instanceof Markup ? new Markup(text) : text;
  }
  const list = listOf(value).reverse();
  const isIterator = [Array, Dict, View, Range, Undefined].some((kind) => value instanceof kind);
  return isIterator ? new Generator(list) : list;
}

/** @param {any} value */
function last(value) {
  if (value instanceof Generator) throw new Error("'generator' object is not reversible");
  const list = listOf(value);
  return list.length ? list[list.length - 1] : new Undefined('No last item, sequence was empty.');
}

/** @param {any} value */
function first(value) {
  for (const one of iterated(value)) return one;
  return new Undefined('No first item, sequence was empty.');
}

/** @param {any} value @param {any} attribute @param {any} start */
function sum(value, attribute, start) {
  if (isText(start)) throw new Error("sum() can't sum strings");
  const path = pathOf(attribute);
  return listOf(value).reduce((all, one) => operated('+', all, path(one)), start);
}

/** @param {any} value */
function random(value) {
  const list = listOf(value);
  if (!list.length) return new Undefined('No random item, sequence was empty.');
  return list[Math.floor(Math.random() * list.length)];
}

/** @param {any} value */
function* items(value) {
  if (value instanceof Undefined) return;
  if (!(value instanceof Dict)) throw new Error('Can only get item pairs from a mapping.');
  for (const entry of value.entries) yield tupleOf(entry);
}

/**
 * The filters: parameters beside the value (call_arguments.js), and a function.
 * @type {Record<string, [string, (rendering: Rendering, value: any, ...args: any[]) => any]>}
 */
export const SEQUENCE_FILTERS = {
  batch: ['linecount fill_with?', (_, value, count, fill = null) => new Generator(batches(value, count, fill))],
  count: ['', (_, value) => sizeOf(value)],
  dictsort: [
    'case_sensitive? by? reverse?',
    (_, value, sensitive = false, by = 'key', reverse = false) => dictSorted(value, sensitive, by, reverse),
  ],
  first: ['', (_, value) => first(value)],
  groupby: [
    'attribute default? case_sensitive?',
    (_, value, attribute, other = null, sensitive = false) => grouped(value, attribute, other, sensitive),
  ],
  items: ['', (_, value) => new Generator(items(value))],
  join: ['d? attribute?', (r, value, between = '', attribute = null) => joinedBy(r, value, between, attribute)],
  last: ['', (_, value) => last(value)],
  length: ['', (_, value) => sizeOf(value)],
  list: ['', (_, value) => [...listOf(value)]],
  map: ['*args **kwargs', (r, value, args, kwargs) => new Generator(mapped(r, value, args, kwargs))],
  max: ['case_sensitive? attribute?', (_, value, sensitive = false, by = null) => extreme('>', value, sensitive, by)],
  min: ['case_sensitive? attribute?', (_, value, sensitive = false, by = null) => extreme('<', value, sensitive, by)],
  random: ['', (_, value) => random(value)],
  reject: choice(false, false),
  rejectattr: choice(false, true),
  reverse: ['', (_, value) => reversed(value)],
  select: choice(true, false),
  selectattr: choice(true, true),
  slice: ['slices fill_with?', (_, value, count, fill = null) => new Generator(slices(value, indexOf(count), fill))],
  sort: [
    'reverse? case_sensitive? attribute?',
    (_, value, reverse = false, sensitive = false, by = null) => sortedBy(value, reverse, sensitive, by),
  ],
  sum: ['attribute? start?', (_, value, attribute = null, start = 0) => sum(value, attribute, start)],
  unique: [
    'case_sensitive? attribute?',
    (_, value, sensitive = false, by = null) => new Generator(unique(value, sensitive, by)),
  ],
};
