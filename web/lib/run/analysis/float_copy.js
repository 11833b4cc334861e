// float_copy.js - a loaded model with its weights in f32, for what is smaller than the rounding of activations
import { Engine } from '../../engine/engine.js';
import { tensorRow } from '../../engine/engine_captures.js';
import { putRow } from '../../engine/weights_memory.js';
import { BLOCKS } from '../../base/dtype_names.js';
import { LoadedModel } from '../loaded_model.js';

/**
 * Calls a function with the model, or with a copy whose weights have the same values in f32 if some are in blocks of
 * integers: with such weights the engine rounds activations to 8 bits too. The copy is closed afterwards.
 * @template T
 * @param {LoadedModel} model
 * @param {(model: LoadedModel) => Promise<T>} call
 * @returns {Promise<T>}
 */
export async function inFloats(model, call) {
  const { rows } = model.table;
  if (rows.every(({ dtype }) => BLOCKS[/** @type {import('../../base/dtype_names.js').Dtype} */ (dtype)][0] === 1))
    return call(model);
  const engine = await Engine.start(model.engine.module, 1);
  try {
    engine.open(
      model.config,
      rows.map(() => 'f32'),
    );
    engine.randomize(0, 0); // a row is replaced in a sealed model
    for (const [i, { shape, tiedTo }] of rows.entries()) {
      const cols = shape[shape.length - 1];
      for (let r = 0; tiedTo === null && r < (shape.length > 1 ? shape[0] : 1); r++)
        putRow(engine, i, r, tensorRow(model.engine, i, r, cols));
    }
    engine.seal();
    const { tokenizer, contextLength } = model;
    return await call(new LoadedModel(engine, null, tokenizer, { contextLength, kvDtype: 'f32' }, []));
  } finally {
    engine.close();
  }
}
