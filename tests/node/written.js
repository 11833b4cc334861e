// written.js - a loaded model as the bytes of a GGUF
import { snake } from '../../web/lib/engine/config/config.js';
import { writeModel } from '../../web/lib/files/gguf/write_model.js';

/** Weights that were read: each row is a call, and a model may be written several times. @type {WeakMap<object, any>} */
const read = new WeakMap();

/** A weight as f32. */
export function weightOf(model, name) {
  const weights = read.get(model) ?? {};
  read.set(model, weights);
  return (weights[name] ??= rowsOf(model, name));
}
async function rowsOf(model, name) {
  const { shape } = model.parameters.rows.find((row) => row.name === name);
  if (shape.length === 1) return model.weight(name);
  const out = new Float32Array(shape[0] * shape[1]);
  for (let i = 0; i < shape[0]; i++) out.set(await model.weight(name, i), i * shape[1]);
  return out;
}

/** The configuration of a model in snake_case. */
export const snaked = ({ config }) =>
  Object.fromEntries(Object.entries(config).map(([key, value]) => [snake(key), value]));

/** A model as the bytes of a GGUF. */
export async function ggufOf(model, options = {}) {
  const chunks = [];
  for await (const chunk of writeModel(snaked(model), (name) => weightOf(model, name), options)) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}
