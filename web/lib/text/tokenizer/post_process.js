// post_process.js - the post-processors of a tokenizer.json: special tokens around texts, and token types
import { show } from '../../base/errors.js';
import { component } from './component.js';

/** @import { Component, Json } from './component.js' */
/** Ids with a type for each. @typedef {{ids: number[], types: number[]}} Encoding */
/**
 * @typedef {(parts: Encoding[], addSpecialTokens: boolean) => Encoding[]} PostProcessor
 */

/** @type {Record<string, (options: Component) => PostProcessor>} */
const PROCESSORS = {
  BertProcessing: (options) => around(special(options, 'cls'), special(options, 'sep'), false),
  ByteLevel: () => (parts) => parts, // it changes offsets alone
  RobertaProcessing: (options) => around(special(options, 'cls'), special(options, 'sep'), true),
  Sequence(options) {
    const steps = options.list('processors').map((each) => component(each, 'post_processor', PROCESSORS));
    return (parts, adds) => steps.reduce((all, step) => step?.(all, adds) ?? all, parts);
  },
  TemplateProcessing: template,
};

/**
 * The id of an option `[text, id]`.
 * @param {Component} options
 * @param {string} name
 * @returns {number}
 */
function special(options, name) {
  const [text, id] = options.list(name);
  return typeof text === 'string' && Number.isInteger(id) && id >= 0
    ? id
    : options.refuse(`${name} is ${show(options.json[name])}, expected a text and an id`);
}

/**
 * @param {number} cls
 * @param {number} sep
 * @param {boolean} isRoberta  all types are 0, and a second text begins with `sep`
 * @returns {PostProcessor}
 */
const around = (cls, sep, isRoberta) => (parts, adds) =>
  parts.map(({ ids, types: own }, i) => {
    const types = isRoberta ? ids.map(() => 0) : own;
    if (!adds) return { ids, types };
    const before = i === 0 ? [cls] : isRoberta ? [sep] : [];
    const type = i === 0 || isRoberta ? 0 : 1;
    return { ids: [...before, ...ids, sep], types: [...before.map(() => type), ...types, type] };
  });

/** @param {Component} options @returns {PostProcessor} */
function template(options) {
  const known = options.json.special_tokens ?? {};
  const [single, pair] = ['single', 'pair'].map((name) =>
    options.list(name).map((/** @type {Json} */ piece) => pieceOf(options, piece, known)),
  );
  for (const piece of single) if (piece.text === 1) options.refuse('the template of one text has a second one');
  return (parts, adds) => {
    // after another template the parts are its pieces
    if (parts.length > 2) return options.refuse(`there are ${parts.length} parts before it, expected one text or two`);
    return (parts.length === 2 ? pair : single).flatMap(({ text, ids, type }) => {
      const own = text === null ? ids : parts[text].ids;
      return text !== null || adds ? [{ ids: own, types: own.map(() => type) }] : [];
    });
  };
}

/**
 * A piece of a template: `{Sequence: {id, type_id}}`, or `{SpecialToken: {id, type_id}}`.
 * @param {Component} options
 * @param {Json} json
 * @param {Json} known  special tokens by name
 * @returns {{text: number | null, ids: number[], type: number}}  text: its place; null: special tokens
 */
function pieceOf(options, json, known) {
  const { id, type_id: type } = json?.Sequence ?? json?.SpecialToken ?? {};
  const isType = Number.isInteger(type) && type >= 0;
  if (json?.Sequence && isType && (id === 'A' || id === 'B')) return { text: id === 'A' ? 0 : 1, ids: [], type };
  if (!json?.SpecialToken || !isType || typeof id !== 'string')
    options.refuse(`the template has ${show(json)}, expected a Sequence or a SpecialToken with a type_id`);
  const ids = Object.hasOwn(known, id) ? known[id]?.ids : undefined;
  if (!Array.isArray(ids) || !ids.every((each) => Number.isInteger(each) && each >= 0))
    options.refuse(`the token ${show(id)} of the template has no list of ids in special_tokens`);
  return { text: null, ids, type };
}

/**
 * A post-processor for one text or two, which a tokenizer with impossible templates is refused for.
 * @param {any} json  `post_processor` of a tokenizer.json
 * @returns {PostProcessor}
 */
export function postProcessorOf(json) {
  const process = component(json, 'post_processor', PROCESSORS);
  if (!process) return (parts) => parts;
  for (const adds of [false, true]) process([{ ids: [], types: [] }], adds);
  return process;
}
