// dense_layer.js - reads a Dense layer of sentence-transformers: a matrix and an activation behind the pooling
import { fail, show } from '../../base/errors.js';
import { floatsOf } from '../bytes/float_values.js';
import { readSafetensors } from './safetensors.js';

/** @import { Bytes } from '../bytes/open_file.js' */
/** @import { Entry } from '../../engine/config/tensor_plan.js' */
/** @import { ByteReader } from '../bytes/chunks.js' */
/** @import { Opener } from '../source.js' */
/**
 * A layer behind the pooling. residual: what is added to its output: its input, or the product with another matrix.
 * @typedef {{inputs: number, outputs: number, weight: Float32Array, bias: Float32Array | null,
 *   activation: 'identity' | 'tanh' | 'relu' | 'gelu' | 'sigmoid' | 'silu', residual: boolean | Float32Array}}
 *   DenseLayer
 */

/** Names of PyTorch's classes by those of activations. @type {Record<string, DenseLayer['activation']>} */
const ACTIVATIONS = {
  Identity: 'identity',
  Tanh: 'tanh',
  ReLU: 'relu',
  GELU: 'gelu',
  Sigmoid: 'sigmoid',
  SiLU: 'silu',
};

/**
 * @param {Opener} opener
 * @param {(file: string) => Bytes | null} get  a file of the layer's folder
 * @param {string} where  the folder, for messages
 * @returns {Promise<DenseLayer | string>} a text: what embed lacks
 */
export async function readDense(opener, get, where) {
  const config = await opener.optionalJson(get('config.json'));
  const { activation_function: given = 'Tanh', use_residual: residual = false } = config ?? {};
  const name = String(given).split('.').pop() ?? '';
  const source = [
    config?.module_input_name ?? 'sentence_embedding',
    config?.module_output_name ?? 'sentence_embedding',
  ];
  if (!Object.hasOwn(ACTIVATIONS, name)) return `a Dense layer with the activation ${show(given)}`;
  if (source.some((text) => text !== 'sentence_embedding')) return `a Dense layer of ${show(source[0])}`;
  const tensors = await tensorsOf(opener, get, where);
  const weight = tensors.get('linear.weight');
  if (weight?.shape.length !== 2) return fail('missing-tensor', `${where}: there is no matrix linear.weight`);
  const [outputs, inputs] = weight.shape;
  const bias = tensors.get('linear.bias')?.data ?? null;
  const own = tensors.get('residual.weight')?.data ?? null;
  if ((bias && bias.length !== outputs) || (own && own.length !== weight.data.length))
    fail('bad-shape', `${where}: linear.bias or residual.weight does not fit linear.weight of shape ${weight.shape}`);
  if (residual && !own && inputs !== outputs) fail('missing-tensor', `${where}: there is no residual.weight`);
  return {
    inputs,
    outputs,
    weight: weight.data,
    bias,
    activation: ACTIVATIONS[name],
    residual: residual && (own ?? true),
  };
}

/**
 * The tensors of the layer, as safetensors or a file of torch.save.
 * @param {Opener} opener
 * @param {(file: string) => Bytes | null} get
 * @param {string} where
 */
async function tensorsOf(opener, get, where) {
  /** @type {Map<string, {shape: number[], data: Float32Array}>} */
  const tensors = new Map();
  const take = async (/** @type {Entry} */ { name, dtype, shape, bytes }, /** @type {ByteReader} */ r) => {
    const data = floatsOf((await r.take(bytes, name)).slice(), dtype, `${where}: ${name}`);
    tensors.set(name, { shape, data });
  };
  const r = await opener.optionalReader(get('model.safetensors'));
  if (r) {
    const entries = (await readSafetensors(r, 0)).sort((a, b) => a.offset - b.offset);
    for (const entry of entries) {
      await r.skip(entry.offset - r.pos);
      await take(entry, r);
    }
    opener.release(r);
    return tensors;
  }
  const torch = await opener.optionalReader(get('pytorch_model.bin'));
  if (!torch) return fail('not-found', `${where}: there is neither model.safetensors nor pytorch_model.bin`);
  const { readTorch, torchEntries, deliverTorch } = await import('../pytorch/pytorch.js');
  const file = await readTorch(torch);
  const entries = torchEntries(file.dict, 0, torch.name).map((entry) => ({ ...entry, covers: [entry.name] }));
  await deliverTorch(file, /** @type {any} */ (entries), take);
  opener.release(torch);
  return tensors;
}
