// compile.js - the caller's side of constrained output: compiles the options json, grammar and tools
//
// The worker gets the network of the grammar, so that it needs no reader of grammars.
import { fail } from '../../base/errors.js';
import { rememberedNewest } from '../../base/lazy_value.js';
import { networkOf } from './network.js';
import { readGbnf } from './gbnf.js';
import { schemaGrammar } from './schema_grammar.js';
import { toolGrammar } from './tool_grammar.js';

/**
 * The options of a generation, with `constraint` in place of json, grammar or tools.
 * @param {Record<string, any>} given
 * @param {{hasTokenizer: boolean}} info  of the model
 * @returns {{options: Record<string, any>, ignored: string[]}}  ignored: unknown keywords and formats of the schema
 */
export function prepare({ json, grammar, tools, whitespace, strictSchema, ...options }, { hasTokenizer }) {
  const [what, other] = Object.entries({ json, grammar, tools }).flatMap(([name, value]) =>
    value === undefined ? [] : name,
  );
  if (other && grammar !== undefined) fail('bad-option', `${what} and ${other} cannot be combined: give one of them`);
  if (options.beams > 1) fail('bad-option', `${what} cannot be combined with beams: a beam search draws no tokens`);
  if (!hasTokenizer) fail('no-tokenizer', `${what}: this model came without a tokenizer: its tokens have no texts`);
  const { ignored, ...constraint } = compiled({ json, grammar, tools, whitespace, strictSchema });
  return { options: { ...options, constraint }, ignored: [...ignored] }; // what was compiled is kept
}

let unequal = 0;
/** What JSON lacks is written so that no later text is equal. @type {(key: string, value: any) => any} */
const unlike = (_, value) =>
  value === undefined || typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))
    ? `\0${unequal++}`
    : value;

/** @typedef {import('./constraint.js').Posted & {ignored: string[]}} Compiled */
/** The newest grammars, by what was given. @type {Map<string, Compiled>} */
const newest = new Map();

/**
 * A grammar or JSON schema, compiled. One that was compiled before is found again by its text.
 * @param {{json?: any, grammar?: string, tools?: import('../tool_calls.js').Tools,
 *   whitespace?: 'compact' | 'any', strictSchema?: boolean}} given  one of them, or tools with the schema of an answer
 *   without calls; and the options of a schema
 * @returns {Compiled}
 */
export function compiled(given) {
  const { json, grammar, tools, ...how } = given;
  const make = () => {
    if (grammar !== undefined) return { network: networkOf(readGbnf(grammar), 'grammar'), ignored: [] };
    const { ignored, ...read } = tools ? toolGrammar(tools, how, json) : schemaGrammar(json, how);
    return { network: networkOf(read, tools ? 'tools' : 'json'), ignored };
  };
  let text = '';
  try {
    const options = Object.entries(given).filter(([, value]) => value !== undefined);
    text = JSON.stringify(options, unlike);
  } catch (error) {
    make(); // refuses by name what is nested too deep
    throw error;
  }
  return rememberedNewest(newest, text, () => ({ text, ...make() }));
}
