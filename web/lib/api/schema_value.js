// schema_value.js - the value of a text that follows a JSON schema

/** @import { Summary } from './index.js' */

/**
 * The value of a JSON text; undefined where maxTokens, the context or a stop text cut it off.
 * @param {Summary} summary
 * @param {any} schema  the option `json`
 * @returns {Promise<{value: any, issues?: readonly {message: string}[]}>}
 */
export async function valueOf({ text, stopReason }, schema) {
  const value = /eos|grammar/.test(stopReason) ? JSON.parse(text) : undefined;
  const validate = schema['~standard']?.validate;
  return value === undefined || !validate ? { value } : { value: undefined, ...(await validate(value)) };
}
