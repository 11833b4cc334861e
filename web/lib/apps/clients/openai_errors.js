// openai_errors.js - errors as OpenAI writes them: a status, and the names of the request

/** An answer of a status that its error does not tell. */
export class Refusal extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Codes of errors that the request did not cause. */
const OURS = new Set(
  'bad-state blocked callback internal network not-finite not-found out-of-memory worker'.split(' '),
);

/** OpenAI's names of options that stand at the beginning of an error's message. @type {Record<string, string>} */
const NAMES = {
  ...{ maxTokens: 'max_tokens', temperature: 'temperature', topP: 'top_p', seed: 'seed', stop: 'stop' },
  ...{ presencePenalty: 'presence_penalty', frequencyPenalty: 'frequency_penalty', logitBias: 'logit_bias' },
  ...{ logprobs: 'top_logprobs', json: 'response_format', tools: 'tools', toolChoice: 'tool_choice' },
};

/** The names in the path `responses`. @type {Record<string, string>} */
const RESPONSES = { ...NAMES, maxTokens: 'max_output_tokens', json: 'text.format' };

/**
 * An error as OpenAI writes it, with the names of the request.
 * @param {any} error
 * @param {string} pathname  of the request
 */
export function errorOf(error, pathname) {
  const { message = String(error), code = null } = error ?? {};
  const [word] = /^\w*/.exec(message) ?? [''];
  const names = pathname.endsWith('/responses') ? RESPONSES : NAMES;
  const param = (code === 'bad-option' && names[word]) || null;
  return {
    error: {
      message: param ? param + message.slice(word.length) : message,
      type: OURS.has(code) ? 'server_error' : 'invalid_request_error',
      param,
      code: code === 'context-full' ? 'context_length_exceeded' : code,
    },
  };
}

/**
 * The answer to a request that failed.
 * @param {any} error
 * @param {string} pathname  of the request
 */
export function refused(error, pathname) {
  const status = error instanceof Refusal ? error.status : OURS.has(error?.code) ? 500 : 400;
  return Response.json(errorOf(error, pathname), { status, headers: { 'x-should-retry': 'false' } });
}
