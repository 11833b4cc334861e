// compile.js - the caller's side of constrained output: compiles the options json and grammar
//
// The worker gets the network of the grammar and the bytes of the vocabulary, so that it needs no reader of grammars.
import { fail } from '../base/errors.js';
import { networkOf } from './network.js';
import { readGbnf } from './gbnf.js';
import { schemaGrammar } from './json_schema.js';
import { vocabularyOf } from './vocabulary.js';

/**
 * The options of a generation, with `constraint` in place of json or grammar.
 * @param {Record<string, any>} options
 * @param {{hasTokenizer: boolean}} info  of the model
 * @returns {Record<string, any>}
 */
export function prepare({ json, grammar, ...options }, { hasTokenizer }) {
  const what = json === undefined ? 'grammar' : 'json';
  if (json !== undefined && grammar !== undefined)
    fail('bad-option', 'json and grammar cannot be combined: give one of them');
  if (options.beams > 1) fail('bad-option', `${what} cannot be combined with beams: a beam search draws no tokens`);
  if (!hasTokenizer) fail('no-tokenizer', `${what}: this model came without a tokenizer: its tokens have no texts`);
  return { ...options, constraint: compiled({ json, grammar }) };
}

/**
 * A grammar or JSON schema, compiled.
 * @param {{json?: any, grammar?: string}} options  one of them
 * @returns {import('./constraint.js').Posted}
 */
export function compiled({ json, grammar }) {
  const what = grammar === undefined ? 'json' : 'grammar';
  const network = networkOf(grammar === undefined ? schemaGrammar(json) : readGbnf(grammar), what);
  return { text: `${what} ${grammar ?? JSON.stringify(json)}`, network };
}

/**
 * Give the model the bytes of its tokens.
 * @param {{call: (method: string, args: any[]) => Promise<any>}} remote
 * @param {any} info  of the model
 */
export async function sendVocabulary(remote, { config, special }) {
  const json = JSON.parse(await remote.call('tokenizerText', []));
  await remote.call('setVocabulary', [vocabularyOf(json, config.vocabSize, special.eos)]);
}
