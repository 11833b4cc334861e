// codes.js - the codes of errors and their meanings: a separate module, because few programs import it

/**
 * Every code that a GlassformerError can have, with its meaning. Codes are stable; messages are not.
 * @example
 * console.log(CODES['truncated']);                                        // the file ends early
 */
export const CODES = /* @__PURE__ */ Object.freeze({
  'bad-argument': 'an argument has the wrong type or is out of range',
  'bad-config': 'a configuration that no model can have',
  'bad-shape': 'a tensor has the wrong shape',
  truncated: 'the file ends early',
  'missing-tensor': 'a weight that the configuration asks for is not in the file',
  'duplicate-tensor': 'two tensors hold the same weight',
  'out-of-memory': 'there is not enough memory for this model or session',
  'context-full': 'more positions than the context holds',
  'bad-token': 'a token id outside the vocabulary',
  'not-finite': 'the computation met a NaN or an infinity',
  unsupported: 'a feature that a file asks for and the engine lacks',
  'bad-state': 'a call after dispose, or calls in the wrong order',

  'bad-file': 'the file is not what it should be',
  'bad-header': 'the header of a checkpoint is malformed',
  'unknown-format': 'no reader knows this kind of file',
  'unknown-dtype': 'a tensor is stored in a number format that is not supported',
  'unknown-tensor': 'a tensor with data that the model has no place for',
  overlap: 'tensors share bytes or leave a hole between them',
  network: 'a request failed',
  'not-found': 'the URL or path does not exist',
  html: 'the URL answers with a web page instead of a model',
  'no-tokenizer': 'text was given, but the model has no tokenizer',
  'bad-tokenizer': 'a tokenizer file that cannot be used, or that does not fit the model',

  'empty-prompt': 'there is nothing to continue or to read',
  'bad-option': 'an option has a value that it cannot have, or does not exist',
  'unknown-point': 'a name to capture, edit or explain that this model has no point for',
  'capture-too-large': 'more would be captured than the budget allows',
  'no-chat-template': 'chat needs a chat template, and the model has none',
  'bad-wasm': 'the WebAssembly file is not this engine, or cannot run here',
  blocked: 'a policy of the page forbids what the engine needs; the sentence names the header to change',
  worker: 'the worker could not be started, failed or was terminated: dispose, and load again',
  storage: 'the requested cache cannot be used: the browser or the system blocks it, or it is full',
  callback: 'a function or an iterator that you passed threw an error, such as onProgress or the apply of an edit',
  internal: 'an error of the package itself, with what was thrown as its cause: please report it',
  crashed: 'the engine trapped, which is a bug of the package: dispose, and load again',
});
