// complete_in_js.js - a configuration as JavaScript completes it, with the numbers of the engine
import assert from 'node:assert/strict';
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { FIELDS } from '../../web/lib/engine/config/config_fields.js';

/** Real numbers as the engine keeps them. */
export const asFloats = (config) =>
  Object.fromEntries(
    Object.entries(config).map(([name, value]) => {
      const { type } = FIELDS[name];
      return [name, type === 'real' ? Math.fround(value) : type === 'reals' ? value.map(Math.fround) : value];
    }),
  );

/** The completed configuration, or the sentence of the refusal. */
export function inJavaScript(fields) {
  try {
    return asFloats(completeConfig(fields, 'x'));
  } catch (error) {
    assert.equal(error.code, 'bad-config', error.stack);
    return error.message.replace('x: ', '');
  }
}
